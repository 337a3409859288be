"""The attribute schema: what is asked about every image."""

from contextbias.schema.codebook import (
    CODEBOOK_VERSION,
    COHORTS,
    DIMENSIONS,
    EMPTY,
    UNKNOWN,
    Dimension,
    dimension,
    dimensions_of,
)
from contextbias.schema.records import Record, check_record, empty_person, empty_record

__all__ = [
    "CODEBOOK_VERSION",
    "COHORTS",
    "DIMENSIONS",
    "EMPTY",
    "UNKNOWN",
    "Dimension",
    "Record",
    "check_record",
    "dimension",
    "dimensions_of",
    "empty_person",
    "empty_record",
]
