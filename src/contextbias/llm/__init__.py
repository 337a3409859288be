"""Questions to a language model in text: asked once, checked, kept.

`Asker` is the seam: it sends questions and gives answers. `settle` asks what is not in the journal,
checks every answer in code, and gives a faulty one a single chance of repair.
"""

from contextbias.llm.journal import Journal
from contextbias.llm.question import Answer, Asker, Question
from contextbias.llm.settle import Settled, Settler, estimated_tokens

__all__ = [
    "Answer",
    "Asker",
    "Journal",
    "Question",
    "Settled",
    "Settler",
    "estimated_tokens",
]
