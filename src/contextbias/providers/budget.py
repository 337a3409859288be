"""How much may be spent: over all runs of a study, since what was spent is read from its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pydantic import Field

from contextbias.errors import ConfigError
from contextbias.forecast import Forecast
from contextbias.options import Options
from contextbias.providers.outcomes import Reply

Cost = Callable[[Reply], float | None]
"""What a reply was charged; None where it is not known."""


class BudgetOptions(Options):
    """Options of every backend that costs money."""

    budget: float | None = Field(default=None, gt=0)
    """At most so much is spent by this backend in this study, over all runs; then it pauses. In
    the currency of the price table (USD). Left out: no limit."""
    price_input: float | None = Field(default=None, ge=0)
    """Price of a million tokens sent; left out: as in the price table."""
    price_cached: float | None = Field(default=None, ge=0)
    """Price of a million tokens sent that were in the provider's cache; left out: as in the
    table, or as `price_input` where that is given."""
    price_output: float | None = Field(default=None, ge=0)
    """Price of a million tokens received; left out: as in the price table."""


class Budget:
    """What may be spent, and what was.

    Args:
        limit: The most that may be spent; None for no limit (then it only counts).
        cost: What a reply was charged.
        spent: What earlier runs spent.
        expected: What one item is expected to cost, until some are known.
        unknown: Replies of earlier runs whose charge is not known.
    """

    def __init__(
        self,
        limit: float | None,
        cost: Cost,
        *,
        spent: float = 0.0,
        expected: float = 0.0,
        unknown: int = 0,
    ) -> None:
        self.limit = limit
        self.spent = spent + unknown * expected
        """Of all runs, in the currency of the price table."""
        self.unknown = unknown
        """Replies of which the service did not say what they used; each counts as expected."""
        self._cost = cost
        self._expected = expected
        self._known = 0
        self._sum = self._dearest = 0.0

    @property
    def knows(self) -> bool:
        """Whether anything is known about what was spent."""
        return self._known > 0 or self.spent > 0

    def allows(self, under_way: int, *, on_average: bool = False) -> bool:
        """Whether one more request fits.

        Args:
            under_way: How many others are not charged yet.
            on_average: Each of them is expected to cost what requests of this run did on average
                (for thousands at a time), and not what the dearest did.
        """
        if self.limit is None:
            return True
        mean = self._sum / self._known if self._known else self._expected
        each = mean if on_average or not self._known else self._dearest
        coming = each * (under_way + 1)
        if not coming:
            # Nothing is known yet: the first request goes alone.
            return self.spent < self.limit and not under_way
        return self.spent + coming <= self.limit

    def charge(self, reply: Reply) -> None:
        """Count what one reply (not those that it replaces) was charged.

        One whose charge the service does not tell counts as what was expected: never as nothing.
        """
        cost = None if reply.usage.unknown else self._cost(reply)
        if cost is None:
            self.unknown += 1
            self.spent += self._expected
            return
        self.spent += cost
        self._sum += cost
        self._known += 1
        self._dearest = max(self._dearest, cost)


def budgeted(forecast: Forecast, budget: Budget | None) -> Forecast:
    """A forecast with what may be spent, and what earlier runs spent."""
    if budget is None or budget.limit is None:
        return forecast
    return replace(forecast, budget=budget.limit, spent=budget.spent)


def require_price(limit: float | None, price: object | None, model: str) -> None:
    """A budget needs a price.

    Raises:
        ConfigError: There is a budget, and the price of `model` is not known.
    """
    if limit is not None and price is None:
        raise ConfigError(
            f"budget = {limit:g}, but the price of {model!r} is not known",
            "give price_input and price_output (per million tokens), or take the budget out",
        )
