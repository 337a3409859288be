from __future__ import annotations

import datetime
import re
from fractions import Fraction
from math import ceil

import pytest
from tests.conftest import CHECKOUT

from contextbias.errors import ConfigError
from contextbias.providers import ImageTokens, price, profile
from contextbias.providers.model_tables import matches, user_file
from contextbias.providers.profiles import _own_entries


def own_table(text: str) -> None:
    path = user_file("profiles.toml")
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_a_model_that_reasons_and_an_ordinary_one() -> None:
    mini, ordinary = profile("gpt-5-mini"), profile("llava-1.5-7b")
    assert (mini.token_limit, mini.temperature, mini.effort) == (
        "max_completion_tokens",
        False,
        "low",
    )
    assert mini.shutdown == datetime.date(2026, 12, 11)
    assert (ordinary.token_limit, ordinary.temperature, ordinary.effort) == (
        "max_tokens",
        True,
        None,
    )
    assert (ordinary.structured, ordinary.images, ordinary.shutdown) == ("json_schema", None, None)


def test_the_name_that_was_asked_for_stays() -> None:
    assert profile("gpt-5-mini-2025-08-07").model == "gpt-5-mini-2025-08-07"
    assert profile("Qwen/Qwen2.5-VL-7B-Instruct").images is not None


def test_patterns_are_several_and_without_case() -> None:
    assert matches("GPT-4o", "gpt-4.1 gpt-4o gpt-4o-[0-9]*")
    assert matches("gpt-4o-2024-08-06", "gpt-4.1 gpt-4o gpt-4o-[0-9]*")
    assert not matches("gpt-4o-mini", "gpt-4.1 gpt-4o gpt-4o-[0-9]*")


# 32-pixel patches, at most 1,536. 1024^2: 32 x 32 = 1,024. 1328^2 (1,764 patches) is made smaller
# by sqrt(1536 x 1024 / 1328^2) = .9444, to 39.19 patches a side, then to 39 whole ones: 1,521.
# 1800 x 2400 (57 x 75): 33 x 44 = 1,452, the provider's own example.
@pytest.mark.parametrize(
    ("width", "height", "patches"),
    [(1024, 1024, 1024), (1328, 1328, 1521), (1800, 2400, 1452), (33, 31, 2), (1, 1, 1)],
)
def test_patches(width: int, height: int, patches: int) -> None:
    assert ImageTokens(rule="patches").count(width, height) == patches
    factor = Fraction("1.62")  # a part of a token is charged as a whole one
    assert ImageTokens(rule="patches", factor=1.62).count(width, height) == ceil(patches * factor)


# As counted by a user for GPT-6: 1.2 for each patch of 32 pixels, rounded up.
@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [(256, 256, 77), (512, 512, 308), (768, 768, 692), (1024, 1024, 1229), (1280, 720, 1104)],
)
def test_pictures_for_gpt_6(width: int, height: int, tokens: int) -> None:
    counted = profile("gpt-6-luna").images
    assert counted is not None
    assert counted.count(width, height) == tokens


# Tiles of 512 after fitting into 2048 and the shorter side into 768. 1024^2 -> 768^2: 4 tiles.
# 2048 x 4096 -> 1024 x 2048 -> 768 x 1536: 2 x 3 = 6 tiles.
@pytest.mark.parametrize(("width", "height", "tokens"), [(1024, 1024, 765), (2048, 4096, 1105)])
def test_tiles(width: int, height: int, tokens: int) -> None:
    assert ImageTokens(rule="tiles", base=85, factor=170).count(width, height) == tokens


def test_a_small_picture_is_not_made_larger_for_tiles() -> None:
    assert ImageTokens(rule="tiles", base=85, factor=170).count(100, 100) == 255


def test_a_users_entry_comes_first() -> None:
    own_table('[[model]]\npattern = "gpt-5-mini*"\ntemperature = true\nshutdown = 2030-01-01\n')
    found = profile("gpt-5-mini")
    assert found.temperature
    assert found.shutdown == datetime.date(2030, 1, 1)
    assert found.token_limit == "max_tokens"


def test_when_a_model_ends() -> None:
    mini, today = profile("gpt-5-mini"), datetime.date(2026, 11, 30)
    assert mini.ending(today) == (
        "is to be shut down on 2026-12-11; its provider names gpt-6.1-terra"
    )
    assert str(mini.ending(mini.shutdown)).startswith("was shut down on 2026-12-11")
    assert mini.ends_soon(today)
    nano = profile("gpt-5.4-nano")  # 122 days are left
    assert not nano.ends_soon(today)
    assert nano.ends_soon(datetime.date(2026, 12, 3))
    other = profile("llava")
    assert (other.ending(today), other.ends_soon(today)) == (None, False)


def test_every_successor_has_a_profile_and_a_price_and_stays() -> None:
    named = {entry.successor for entry in _own_entries()} - {None}
    assert named == {"gpt-6-luna", "gpt-6.1-sol", "gpt-6.1-terra"}
    for model in map(str, named):
        assert profile(model).shutdown is None
        assert profile(model).images is not None
        assert price(model) is not None


def test_no_model_that_the_pages_name_is_announced_to_end() -> None:
    """Whoever copies an example is not to begin a study that cannot be finished."""
    pages = [CHECKOUT / "README.md", *(CHECKOUT / "docs").rglob("*.md")]
    sources = [*(CHECKOUT / "src").rglob("*.py")]
    found = {
        (str(path.relative_to(CHECKOUT)), model)
        for path in (*pages, *sources)
        for groups in _NAMED.findall(path.read_text("utf-8"))
        for model in filter(None, groups)
    }
    assert {model for _, model in found}
    assert [each for each in sorted(found) if profile(each[1]).shutdown is not None] == []


_NAMED = re.compile(r"""model = \\?["']([a-zA-Z0-9./:-]+)|--model ([a-z0-9.-]+)""")


def test_another_structured_mode() -> None:
    assert profile("llava", structured="json_object").structured == "json_object"
    with pytest.raises(ConfigError, match="Did you mean 'json_schema'"):
        profile("llava", structured="json_shema")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[model]]\ntemperature = true\n", "without a pattern"),
        ('[[model]]\npattern = "x"\ntemprature = true\n', "Did you mean 'temperature'"),
        ('[[model]]\npattern = "x"\nstructured = "xml"\n', "structured = 'xml'"),
        ('[[model]]\npattern = "x"\nimages = { rule = "tiles", bse = 1 }\n', "images of 'x'"),
        ('[[model]]\npattern = "x"\nimages = { rule = "patches", side = 0 }\n', "side = 0"),
        ('[[model]]\npattern = "x"\nimages = 5\n', "images = 5 is no table"),
        ('[[model]]\npattern = "x"\nshutdown = "2027-01-01"\n', "without quotes"),
        ('[[model]]\npattern = "x"\nefforts = "low"\n', "no list of texts"),
        ('[[model]]\npattern = "x"\neffort = "low"\n', "none of efforts"),
        ('[[model]]\npattern = "x"\ntemperature = "no"\n', "Write true or false"),
        ("[[model]]\npattern = 5\n", "pattern = 5 is no text"),
        ('[model]\npattern = "x"\n', "Write [[model]]"),
        ('[[models]]\npattern = "x"\n', "unknown table 'models'"),
        ('[[model]]\npattern = "x"\nimages = { rule = "pixels" }\n', "rule = 'pixels'"),
    ],
)
def test_a_users_table_that_cannot_be_understood_is_named(text: str, said: str) -> None:
    own_table(text)
    with pytest.raises(ConfigError) as caught:
        profile("gpt-5-mini")
    assert said in str(caught.value)
