"""Choosing methods and settings: candidates, scores on held-out labels, one winner.

Every strategy compares candidates by `candidate_scores`, and none reads a test label:

- `best_candidate` tries each of a few once; `Tuned` does so over a method's grid, `settle` over the
  alternatives that a method leaves open;
- `Search` lets Optuna propose them and keeps every trial in a file;
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

from agnn.choosing._choice import Choice as Choice, Tried as Tried
from agnn.choosing._class_weights import (
    ClassWeight as ClassWeight,
    class_weights as class_weights,
    fitting_metric as fitting_metric,
    rare_class_warning as rare_class_warning,
)
from agnn.choosing._default import (
    Rival as Rival,
    challenge as challenge,
    rivals as rivals,
    small_form as small_form,
)
from agnn.choosing._grid import Tuned as Tuned, settle as settle
from agnn.choosing._halving import OnTried as OnTried, choose_method as choose_method
from agnn.choosing._search import Search as Search
