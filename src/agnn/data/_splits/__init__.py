"""Which nodes are trained on, which choose the epoch, and which are scored.

A `Split` is three disjoint lists of node indices. A `SplitSpec` is what a user writes to get
some, such as "fixed", "uniform" or "10-fold", and draws them for any number of seeds:

>>> from agnn.data import SplitSpec, load_dataset
>>> splits = SplitSpec.parse("uniform").draw(load_dataset("cora"), seeds=[0, 1])
>>> [split.name for split in splits]
['uniform-0', 'uniform-1']
>>> {part: nodes.size for part, nodes in splits[0].parts.items()}
{'train': 140, 'validation': 500, 'test': 1000}

What is drawn depends on nothing but data and seed.
"""
