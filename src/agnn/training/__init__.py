"""Training: recipes, the loop and the rules that choose an epoch."""

from agnn.training.loop import History, Progress, probabilities, train
from agnn.training.patience import BestThenLowest, BothBest, LowestLoss
from agnn.training.recipe import Recipe
from agnn.training.selection import HighestAccuracy, LastEpoch, Selection, WindowStop

__all__ = [
    "BestThenLowest",
    "BothBest",
    "HighestAccuracy",
    "History",
    "LastEpoch",
    "LowestLoss",
    "Progress",
    "Recipe",
    "Selection",
    "WindowStop",
    "probabilities",
    "train",
]
