"""Geometry of pictures of graphs: where nodes stand, and the mark of each class.

The explorer and the figures of reports draw from the same numbers. Nothing here loads matplotlib.

>>> import numpy as np
>>> from agnn.drawing import class_mark, node_layout
>>> class_mark(0).colour
'#e69f00'
>>> path = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
>>> node_layout(path, parents=np.array([-1, 0, 1]), radii=np.full(3, 0.1)).shape
(3, 2)
"""

from agnn.drawing._layout import QUICK, joint_layout, node_layout
from agnn.drawing._marks import Mark, class_mark, ink_on, mark_areas

__all__ = ["QUICK", "Mark", "class_mark", "ink_on", "joint_layout", "mark_areas", "node_layout"]
