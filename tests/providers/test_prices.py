from __future__ import annotations

from pathlib import Path

import pytest

from contextbias.errors import ConfigError
from contextbias.providers import BudgetOptions, Price, Usage, price
from contextbias.providers.model_tables import user_file


def own_table(text: str) -> Path:
    path = user_file("prices.toml")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_what_usage_costs() -> None:
    table = Price(input=0.25, cached=0.025, output=2.0, image=0.04, batch=0.5)
    # 2,000 new at 0.25 + 1,000 cached at 0.025 + 500 out at 2, per million
    usage = Usage(input=3000, cached=1000, output=500, reasoning=200)
    assert table.of(usage) == pytest.approx(0.0005 + 0.000025 + 0.001)
    assert table.of(usage, batch=True) == pytest.approx(table.of(usage) / 2)
    assert table.of(Usage(images=3)) == pytest.approx(0.12)


def test_a_dated_name_is_found_and_an_unknown_one_is_none() -> None:
    assert price("gpt-5-mini-2025-08-07") == price("GPT-5-mini")
    assert price("a-model-of-ones-own") is None
    assert price("gpt-4.1-nano") is None  # not taken for its dearer siblings


def test_every_price_says_where_it_comes_from_and_when() -> None:
    for name in ("gpt-6.1-terra", "gpt-6-luna", "gpt-5.6-luna", "gpt-5-mini", "gpt-4o-mini"):
        found = price(name)
        assert found is not None
        assert found.source
        assert found.as_of is not None
        assert found.cached < found.input < found.output
        assert found.basis() == f"prices of {found.as_of}"


def test_options_come_before_the_users_table_and_that_before_ours() -> None:
    own_table('[[price]]\npattern = "gpt-5-*"\ninput = 1\noutput = 3\n')
    found = price("gpt-5-mini")
    assert found is not None
    assert (found.input, found.cached, found.output) == (1, 1, 3)
    given = price("gpt-5-mini", BudgetOptions(price_output=7.0))
    assert given is not None
    assert (given.input, given.output) == (1, 7)
    assert given.basis() == "your prices"


def test_prices_of_an_unknown_model_may_be_given() -> None:
    found = price("llava", BudgetOptions(price_input=0.0, price_output=0.0))
    assert found is not None
    assert found.of(Usage(input=10**6, output=10**6)) == 0
    with pytest.raises(ConfigError, match="Give both price_input and price_output"):
        price("llava", BudgetOptions(price_input=1.0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[price]", "is no TOML"),
        ('[[price]]\npattern = "x"\ninput = 1\n', "without output"),
        ('[[price]]\npattern = "x"\ninput = 1\noutput = "2"\n', "output = '2' is no price"),
        ('[[price]]\npattern = "x"\ninput = -1\noutput = 2\n', "input = -1 is no price"),
        ('[[price]]\npattern = "x"\ninput = 1\noutputs = 2\n', "Did you mean 'output'"),
        ('[[price]]\npattern = "x"\ninput = inf\noutput = 2\n', "input = inf is no price"),
        ('[[price]]\npattern = "x"\nas_of = "today"\n', "as_of = 'today' is no date"),
        ("[[price]]\npattern = 5\n", "pattern = 5 is no text"),
        ('[price]\npattern = "x"\n', "Write [[price]]"),
        ('[[prices]]\npattern = "x"\n', "unknown table 'prices'"),
    ],
)
def test_a_users_table_that_cannot_be_understood_is_named(text: str, said: str) -> None:
    path = own_table(text)
    with pytest.raises(ConfigError) as caught:
        price("gpt-5-mini")
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
