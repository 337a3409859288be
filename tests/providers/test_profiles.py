from __future__ import annotations

import datetime

import pytest

from contextbias.errors import ConfigError
from contextbias.providers import ImageTokens, profile
from contextbias.providers.profiles import matches, user_file


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
    assert ImageTokens(rule="patches", factor=1.62).count(width, height) == round(patches * 1.62)


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
        ('[[model]]\npattern = "x"\nimages = { rule = "pixels" }\n', "rule = 'pixels'"),
    ],
)
def test_a_users_table_that_cannot_be_understood_is_named(text: str, said: str) -> None:
    own_table(text)
    with pytest.raises(ConfigError) as caught:
        profile("gpt-5-mini")
    assert said in str(caught.value)
