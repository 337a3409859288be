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
    basis: str = "expected by the backend"
    """Where the numbers come from, in words."""
    notes: tuple[str, ...] = ()
    """What else should be known before any spend: a licence, a limit, a date."""
