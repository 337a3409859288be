"""Canonicalise: readings in, attributes out. Fast, pure, and run again at will."""

from contextbias.canonicalise.attributes import ATTRIBUTE_SCHEMA, to_attributes
from contextbias.canonicalise.mapping import LabelMapping, canonical_planted, pass_through
from contextbias.canonicalise.text import NORMALISATION, normalise

__all__ = [
    "ATTRIBUTE_SCHEMA",
    "NORMALISATION",
    "LabelMapping",
    "canonical_planted",
    "normalise",
    "pass_through",
    "to_attributes",
]
