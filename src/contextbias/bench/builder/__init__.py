"""A bank for other roles, axes or languages, with language models and a person who decides.

`read_roles`, then `proposed` (a model proposes, code sifts, a model judges), then a review file
that a person edits (`review_csv`), then `bank_text`: a bank like the one that ships.
"""

from contextbias.bench.builder.assemble import Head, bank_text
from contextbias.bench.builder.passes import (
    Proposal,
    expected_judgements,
    first_questions,
    open_judgements,
    proposed,
)
from contextbias.bench.builder.review import merged_csv, read_review, review_csv, unknown_to
from contextbias.bench.builder.roles import WantedRole, read_roles
from contextbias.bench.builder.subject import Subject, subject_of

__all__ = [
    "Head",
    "Proposal",
    "Subject",
    "WantedRole",
    "bank_text",
    "expected_judgements",
    "first_questions",
    "merged_csv",
    "open_judgements",
    "proposed",
    "read_review",
    "read_roles",
    "review_csv",
    "subject_of",
    "unknown_to",
]
