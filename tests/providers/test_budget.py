from __future__ import annotations

import pytest

from contextbias.errors import ConfigError
from contextbias.providers import Budget, Reply, Usage, price, require_price


def reply(tokens: int) -> Reply:
    return Reply(status="ok", usage=Usage(output=tokens))


def budget(limit: float | None, **arguments: float) -> Budget:
    return Budget(limit, lambda r: r.usage.output / 100, **arguments)


def test_what_earlier_runs_spent_counts() -> None:
    assert budget(1.0, spent=0.5).allows(0)
    assert not budget(1.0, spent=1.0).allows(0)


def test_requests_in_flight_are_expected_to_cost_what_the_dearest_did() -> None:
    found = budget(1.0)
    found.charge(reply(10))
    found.charge(reply(30))
    assert found.spent == pytest.approx(0.4)
    # 0.4 spent, the dearest was 0.3: this one and one more fit (1.0).
    assert found.allows(1)
    assert not found.allows(2)
    # At 0.2 each on average, this one and two more.
    assert found.allows(2, on_average=True)
    assert not found.allows(3, on_average=True)


def test_before_anything_is_known_the_expectation_counts() -> None:
    found = budget(1.0, expected=0.4)
    assert found.allows(1)
    assert not found.allows(2)


def test_without_a_limit_it_only_counts() -> None:
    found = budget(None)
    assert not found.knows
    found.charge(reply(10**6))
    assert found.allows(10**6)
    assert found.spent == 10**4
    assert found.knows


def test_an_unknown_charge_is_counted_as_unknown() -> None:
    found = Budget(1.0, lambda _: None)
    found.charge(reply(5))
    assert (found.spent, found.unknown, found.knows) == (0.0, 1, False)


def test_a_budget_needs_a_price() -> None:
    require_price(None, None, "llava")
    require_price(2.0, price("gpt-5-mini"), "gpt-5-mini")
    with pytest.raises(ConfigError, match=r"budget = 2, but the price of 'llava' is not known"):
        require_price(2.0, None, "llava")
