"""Reasons for predictions: attention over all layers, contributions to the logits, removals.

`explain` answers for one node of a run. Attention (`Neighbourhood`, `Relevance`) says where a
model looks; contributions (`Explanation.for_answer`, `HeldLogits`) say what its logits are made
of; `changed_run` and removals (`without_edges`, `Counterfactual`) compute what it would predict
otherwise. Contributions come from one forward pass with attention and gates held
(`agnn.kernels.holding`) and one backward pass, for every network alike.

>>> import agnn
>>> cora = agnn.load_dataset("cora")
>>> run = agnn.evaluate("agnn", cora, split="fixed", replicas=1, changes={"epochs": 5})
>>> why = agnn.explain(run, run.node("1131150"))
>>> reached = [why.itself, *why.neighbours, why.rest]
>>> round(sum(node.weight for node in reached), 6)  # attention is shared among all nodes reached
1.0
"""

from agnn.explanation._changes import (
    Changes as Changes,
    changed_run as changed_run,
    explained_run as explained_run,
)
from agnn.explanation._contributions import HeldLogits as HeldLogits
from agnn.explanation._explain import explain as explain
from agnn.explanation._explanation import Explanation as Explanation, ReachingNode as ReachingNode
from agnn.explanation._margin import (
    Margin as Margin,
    feature_name as feature_name,
    own_features as own_features,
)
from agnn.explanation._neighbourhood import Neighbourhood as Neighbourhood
from agnn.explanation._reach import (
    WholeGraph as WholeGraph,
    model_paths as model_paths,
    reach_of as reach_of,
)
from agnn.explanation._relevance import LayerRanking as LayerRanking, Relevance as Relevance
from agnn.explanation._removed_edges import (
    Counterfactual as Counterfactual,
    Removal as Removal,
    without_edges as without_edges,
)
from agnn.explanation._steps import Step as Step
