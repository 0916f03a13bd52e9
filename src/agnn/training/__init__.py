"""Training: recipes, the loop and the rules that choose an epoch."""

from agnn.training.loop import ExtraLoss, History, Progress, probabilities, train
from agnn.training.memory import MemoryEstimate, check_memory, free_memory, memory_estimate
from agnn.training.patience import BestThenLowest, BothBest, LowestLoss
from agnn.training.recipe import Recipe
from agnn.training.selection import HighestAccuracy, LastEpoch, Selection, WindowStop

__all__ = [
    "BestThenLowest",
    "BothBest",
    "ExtraLoss",
    "HighestAccuracy",
    "History",
    "LastEpoch",
    "LowestLoss",
    "MemoryEstimate",
    "Progress",
    "Recipe",
    "Selection",
    "WindowStop",
    "check_memory",
    "free_memory",
    "memory_estimate",
    "probabilities",
    "train",
]
