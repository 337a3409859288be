"""What pending work is expected to take, before any of it is done.

A backend may say so itself, by a method `plan` (see generate/protocol.py and extract/protocol.py);
`contextbias plan` adds up what the backends of a study say. Once items are finished, the seconds
and bytes that they took replace the backend's own.
"""

from __future__ import annotations

from dataclasses import dataclass

Requirement = tuple[str, bool, str, str]
"""What a backend needs, for `contextbias doctor`: what was looked at, whether it will do, what was
found, and what to do where it will not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a backend expects its pending items to take; None where it cannot tell."""

    seconds: float | None = None
    """Work of one worker (a core, a connection, an accelerator), in seconds."""
    accelerator_seconds: float | None = None
    """Of these, on a GPU."""
    size: int | None = None
    """Bytes on disk."""
    pixels: tuple[int, int] | None = None
    """Width and height of the pictures that will be made: what reading them takes rests on it."""
    calls: int | None = None
    """Requests to a service; None for a backend that uses none."""
    tokens_in: int | None = None
    """Tokens sent, pictures included."""
    tokens_out: int | None = None
    """Tokens received, hidden reasoning included."""
    money: float | None = None
    """In `currency`; None: nothing is charged, or the price is not known (see `notes`)."""
    currency: str = "USD"
    """Of `money`."""
    budget: float | None = None
    """What the backend may spend in this study, over all its runs; None: as much as it takes."""
    spent: float = 0.0
    """Of this, what earlier runs spent."""
    basis: str = "expected by the backend"
    """Where the numbers come from, in words."""
    notes: tuple[str, ...] = ()
    """What else should be known before any spend: a licence, a limit, a date."""

    def affordable(self, items: int) -> int | None:
        """How many of so many pending items the budget is enough for, if all cost the same.

        Args:
            items: Number of items that `money` is for.

        Returns:
            None where there is no budget, or what the items cost is not known.
        """
        if self.budget is None or self.money is None:
            return None
        left = max(0.0, self.budget - self.spent)
        return items if self.money <= left else int(items * left / self.money)

    def budget_words(self, items: int) -> str | None:
        """``budget 0.02 USD: enough for about 2 of 144``; None where there is no budget.

        Args:
            items: As above.
        """
        if self.budget is None:
            return None
        said = f"budget {self.budget:g} {self.currency}"
        said += f", {self.spent:.4g} of it spent" if self.spent else ""
        enough = self.affordable(items)
        if enough is None:
            return said
        if enough == items:
            return f"{said}: enough"
        return f"{said}: enough for about {enough:,} of {items:,}"
