"""Choosing methods and settings: candidates, scores on held-out labels, one winner.

Every strategy compares candidates by `candidate_scores`, and none reads a test label:

- `best_candidate` tries each of a few once; `Tuned` does so over a method's grid, `settle` over the
  alternatives that a method leaves open;
- `search_settings` lets Optuna propose them and keeps every trial in a file;
- `choose_method` starts with many methods and halves them, within a time limit;
- `challenge` compares the default method with the few `rivals` that may be better where labels are
  few or edges join unlike nodes.

>>> import agnn
>>> from agnn.choosing import Tuned
>>> cora = agnn.load_dataset("cora")
>>> run = agnn.evaluate(Tuned(agnn.get_method("single_layer_perceptron")()), cora)
>>> sorted(run.chosen[0])
['has_unit_rows', 'penalty_inverse']
"""

from agnn.choosing._choice import Choice, Tried
from agnn.choosing._class_weights import (
    ClassWeight,
    class_weights,
    fitting_metric,
    rare_class_warning,
)
from agnn.choosing._default import challenge, rivals, small_form
from agnn.choosing._grid import Tuned, settle
from agnn.choosing._halving import SECONDS, OnTried, choose_method
from agnn.choosing._search import (
    SEARCH_SEEDS,
    OnTrial,
    Search,
    Workers,
    optimism,
    search_settings,
)
from agnn.choosing._space import can_search

__all__ = [
    "SEARCH_SEEDS",
    "SECONDS",
    "Choice",
    "ClassWeight",
    "OnTrial",
    "OnTried",
    "Search",
    "Tried",
    "Tuned",
    "Workers",
    "can_search",
    "challenge",
    "choose_method",
    "class_weights",
    "fitting_metric",
    "optimism",
    "rare_class_warning",
    "rivals",
    "search_settings",
    "settle",
    "small_form",
]
