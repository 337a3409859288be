from __future__ import annotations

import pytest

from contextbias.forecast import Forecast


@pytest.mark.parametrize(
    ("budget", "spent", "money", "enough", "words"),
    [
        # 144 items of 1.11 / 144 = 0.0077 each: 0.02 is enough for 2.6 of them.
        (0.02, 0.0, 1.11, 2, "budget 0.02 USD: enough for about 2 of 144"),
        (0.02, 0.012, 1.11, 1, "budget 0.02 USD, 0.012 of it spent: enough for about 1 of 144"),
        (0.02, 0.03, 1.11, 0, "budget 0.02 USD, 0.03 of it spent: enough for about 0 of 144"),
        (1.11, 0.0, 1.11, 144, "budget 1.11 USD: enough"),
        (5.0, 1.0, 0.0, 144, "budget 5 USD, 1 of it spent: enough"),
        (5.0, 0.0, None, None, "budget 5 USD"),
        (None, 0.0, 1.11, None, None),
    ],
)
def test_what_a_budget_is_enough_for(
    budget: float | None, spent: float, money: float | None, enough: int | None, words: str | None
) -> None:
    found = Forecast(money=money, budget=budget, spent=spent)
    assert found.affordable(144) == enough
    assert found.budget_words(144) == words
