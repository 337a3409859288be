"""Options of backends: what is wrong is named, with its nearest known name."""

import pytest
from pydantic import Field

from contextbias.errors import ConfigError
from contextbias.options import Options


class Brush(Options):
    width: int = Field(default=3, ge=1)
    color: str = "red"


def test_defaults_and_values() -> None:
    assert Brush.parse({}, backend="brush") == Brush(width=3, color="red")
    assert Brush.parse({"width": 5}, backend="brush").width == 5


def test_an_unknown_option_names_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        Brush.parse({"colour": "blue"}, backend="brush")
    assert str(caught.value) == (
        "options of the brush backend: unknown option 'colour' (did you mean 'color'). "
        "Correct study.toml (options: width, color)."
    )
    with pytest.raises(ConfigError, match=r"width = 0: Input should .+; unknown option 'xyz'"):
        Brush.parse({"width": 0, "xyz": 1}, backend="brush")


def test_options_do_not_change() -> None:
    with pytest.raises(ValueError):
        Brush().width = 4  # type: ignore[misc]
