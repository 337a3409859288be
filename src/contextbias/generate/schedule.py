"""What a backend may want before it is given jobs: to look at all of them, and an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from contextbias.generate.protocol import Job
from contextbias.generate.work import Order


class CheckingGenerator(Protocol):
    """A generator that can refuse jobs before anything is spent on any. Optional."""

    def check(self, jobs: Sequence[Job]) -> None:
        """Look at everything that is pending, in the driver, before the first job is given out.

        Raises:
            ContextBiasError: The run stops here; nothing was made.
        """
        ...


class GroupingGenerator(Protocol):
    """A generator that makes images of one prompt faster together. Optional."""

    together: int
    """How many jobs of a prompt should follow each other."""


def checked(backend: Any, orders: Sequence[Order]) -> None:
    """Let the backend look at all orders, if it wants to; raises what it raises."""
    if orders and hasattr(backend, "check"):
        backend.check([order.job for order in orders])


def ordered(backend: Any, orders: Sequence[Order]) -> list[Order]:
    """The orders, up to `together` of a prompt after each other where the backend asks for it.

    All prompts come before any of them comes again: a run that is cut short has covered all cells.
    """
    together: int = getattr(backend, "together", 1)
    if together < 2:
        return list(orders)
    seen: dict[str, int] = {}
    places = []
    for order in orders:
        number = seen.setdefault(order.job.prompt_id, 0)
        seen[order.job.prompt_id] += 1
        places.append(number // together)
    first = {prompt_id: place for place, prompt_id in enumerate(seen)}
    found = zip(places, orders, strict=True)
    return [o for _, o in sorted(found, key=lambda f: (f[0], first[f[1].job.prompt_id]))]
