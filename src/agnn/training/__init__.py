"""Training: recipes, the loop and the rules that choose an epoch."""

from agnn.training.loop import ExtraLoss, History, Progress, probabilities, train
from agnn.training.recipe import Recipe
from agnn.training.selection import HighestAccuracy, LastEpoch, Selection, WindowStop

__all__ = [
    "ExtraLoss",
    "HighestAccuracy",
    "History",
    "LastEpoch",
    "Progress",
    "Recipe",
    "Selection",
    "WindowStop",
    "probabilities",
    "train",
]
