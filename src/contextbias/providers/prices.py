"""What tokens cost: data in prices.toml, which a user's file and options come before."""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from contextbias.errors import ConfigError
from contextbias.providers.budget import BudgetOptions
from contextbias.providers.model_tables import entries_of, matches, read_table, user_file
from contextbias.providers.outcomes import Reply, Usage

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a model costs, in USD (or whatever the user's own prices are in)."""

    input: float
    """A million tokens sent."""
    cached: float
    """A million tokens sent that were in the provider's cache."""
    output: float
    """A million tokens received."""
    image: float = 0.0
    """A picture made, beside its tokens."""
    batch: float = 1.0
    """What the Batch API costs, as a factor."""
    as_of: datetime.date | None = None
    """When it was looked up."""
    source: str = ""
    """Where."""
    pattern: str = "*"
    """The entry's pattern, which the model's name matched."""

    def of(self, usage: Usage, *, batch: bool = False) -> float:
        """What `usage` costs.

        (input - cached) p_input + cached p_cached + output p_output, each per million, + images
        p_image; times the batch factor.
        """
        tokens = (
            (usage.input - usage.cached) * self.input
            + usage.cached * self.cached
            + usage.output * self.output
        ) / _MILLION
        return (tokens + usage.images * self.image) * (self.batch if batch else 1.0)

    def cost(self, reply: Reply) -> float:
        """What one reply was charged; for `Budget`."""
        return self.of(reply.usage)

    def batch_cost(self, reply: Reply) -> float:
        """The same for a reply of the Batch API."""
        return self.of(reply.usage, batch=True)

    def basis(self) -> str:
        """``prices of 2026-11-30``, for a plan."""
        return f"prices of {self.as_of}" if self.as_of else "your prices"


def price(model: str, options: BudgetOptions | None = None) -> Price | None:
    """The price of a model: the options', else the user's file, else the table; None: not known.

    Raises:
        ConfigError: One of price_input and price_output is given without the other, and neither
            table knows the model.
    """
    found = _in_tables(model)
    if options is None:
        return found
    cached = options.price_input if options.price_cached is None else options.price_cached
    asked = {"input": options.price_input, "cached": cached, "output": options.price_output}
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    if not given:
        return found
    if found is not None:
        return replace(found, **given, as_of=None, source="options")
    if not {"input", "output"} <= set(given):
        raise ConfigError(
            f"the price of {model!r} is not known, and only a part of it is given",
            "give both price_input and price_output",
        )
    return Price(**given, batch=1.0, source="options")


def _in_tables(model: str) -> Price | None:
    for entry in (*_user_entries(), *_own_entries()):
        if matches(model, entry.pattern):
            return entry
    return None


def _user_entries() -> tuple[Price, ...]:
    path = user_file("prices.toml")
    return _entries(read_table(path), str(path))


@cache
def _own_entries() -> tuple[Price, ...]:
    text = resources.files("contextbias.providers").joinpath("prices.toml").read_text("utf-8")
    return _entries(tomllib.loads(text), "prices.toml")


_KINDS = {
    "pattern": "text", "input": "price", "cached": "price", "output": "price", "image": "price",
    "batch": "factor", "as_of": "date", "source": "text",
}  # fmt: skip


def _entries(table: dict[str, Any], where: str) -> tuple[Price, ...]:
    return tuple(_entry(each, where) for each in entries_of(table, "price", _KINDS, where))


def _entry(given: dict[str, Any], where: str) -> Price:
    missing = {"input", "output"} - set(given)
    if missing:
        raise ConfigError(f"{where} has an entry without {', '.join(sorted(missing))}", "add it")
    return Price(**{"cached": given["input"], **given})
