"""Canonicalise: readings in, attributes out. Fast, pure, and run again at will."""

from contextbias.canonicalise.attributes import ATTRIBUTE_SCHEMA, to_attributes
from contextbias.canonicalise.compare import Change, changes
from contextbias.canonicalise.grouping import (
    CLUSTER,
    TABLE,
    Grouping,
    group_labels,
    read_overrides,
    vocabulary_of,
)
from contextbias.canonicalise.mapping import LabelMapping, canonical_planted, pass_through
from contextbias.canonicalise.text import NORMALISATION, normalise

__all__ = [
    "ATTRIBUTE_SCHEMA",
    "CLUSTER",
    "NORMALISATION",
    "TABLE",
    "Change",
    "Grouping",
    "LabelMapping",
    "canonical_planted",
    "changes",
    "group_labels",
    "normalise",
    "pass_through",
    "read_overrides",
    "to_attributes",
    "vocabulary_of",
]
