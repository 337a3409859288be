"""One proposed text of a bank, what was found wrong with it, and how it was judged."""

from __future__ import annotations

from dataclasses import dataclass, field

from contextbias.ids import content_hash

PLACE, ACTIVITY, FORM, WORK, SOC = "place", "activity", "form", "work", "soc"
"""Kinds of what belongs to a role."""
EVERYDAY_PLACE, EVERYDAY_ACTIVITY = "everyday place", "everyday activity"
"""Kinds of the everyday pool."""
AXIS = "axis"
"""A value of a further axis; the column `at` has the axis's name."""

ALLOW = "allow"
"""A word or phrase that a person lets the checks pass; never proposed."""

CONTEXTS = (PLACE, ACTIVITY, EVERYDAY_PLACE, EVERYDAY_ACTIVITY, AXIS)
"""Kinds that are judged, and stand in sentences."""
KINDS = (FORM, SOC, WORK, *CONTEXTS, ALLOW)
"""All kinds."""

FORMULA = "=+-@"
"""What a text may not begin with: a table editor would compute it."""

RELEVANCE_FROM = NEUTRALITY_FROM = 4
"""Scores, 1 to 5, from which a candidate is proposed to be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One line of a review."""

    kind: str
    """One of `KINDS`."""
    text: str
    """As a sentence has it; of ``work`` a tag, of ``soc`` a code."""
    role: str = ""
    """Name of the role; empty for pool and axes."""
    at: tuple[str, ...] = ()
    """Of activities: names of the places where it is plausible, without preposition and article.
    Of forms: ``m``, ``f`` or ``n``, or nothing. Of an axis: its name."""
    tags: tuple[str, ...] = ()
    """Of the pool: kinds of work that it could belong to."""
    names: tuple[str, ...] = ()
    """Dimensions that the words spell out beside ``activities``."""
    keep: bool = False
    """Whether it goes into the bank; a person decides."""
    relevance: int | None = None
    """1 to 5: does it belong to the role's work (of the pool: is it everyday for anyone)?"""
    neutrality: int | None = None
    """1 to 5: is it free of what would decide how the person looks?"""
    confounds: tuple[str, ...] = ()
    """What it gives away, as judged."""
    faults: tuple[str, ...] = ()
    """What the code found: rules of `check_bank`."""
    reason: str = ""
    """The judge's reason."""
    model: str = ""
    """Dated snapshot of the model that proposed it."""
    judge: str = ""
    """Dated snapshot of the model that judged it."""
    date: str = field(default="")
    """When it was proposed: UTC."""

    @property
    def id(self) -> str:
        """Hash of what it says: a text that is edited by hand has another one.

        It begins with a letter that no number has, so that no table editor takes it for one.
        """
        axis = self.at[:1] if self.kind == AXIS else ()
        said = ["candidate", self.role, self.kind, *axis, self.text]
        return "c" + content_hash(said, length=10)

    @property
    def is_recommended(self) -> bool:
        """Whether rules, scores and confounds speak for it."""
        if self.faults or self.kind not in CONTEXTS:
            return not self.faults
        if self.relevance is None or self.neutrality is None or self.confounds:
            return False
        return self.relevance >= RELEVANCE_FROM and self.neutrality >= NEUTRALITY_FROM
