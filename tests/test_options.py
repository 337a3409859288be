from __future__ import annotations

from typing import Literal

import pytest
from pydantic import Field, ValidationError

from contextbias.errors import ConfigError
from contextbias.options import Options


class Knobs(Options):
    """Options of a backend."""

    steps: int = Field(default=20, ge=1)
    """How many."""
    mode: Literal["fast", "exact"] = "fast"
    """Which."""


def test_what_is_left_out_has_its_default() -> None:
    assert Knobs.parse({}, backend="knobby") == Knobs(steps=20, mode="fast")
    assert Knobs.parse({"steps": 3}, backend="knobby").steps == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stpes": 3}, ("unknown option 'stpes'", "did you mean 'steps'")),
        ({"zzz": 3}, ("unknown option 'zzz'", "options: steps, mode")),
        ({"steps": 0}, ("steps = 0", "greater than or equal to 1")),
        ({"mode": "slow"}, ("mode = 'slow'", "'fast' or 'exact'")),
        ({"steps": 0, "mode": "slow"}, ("steps = 0", "mode = 'slow'")),
    ],
)
def test_what_is_wrong_is_named_in_one_line(
    options: dict[str, object], words: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError) as caught:
        Knobs.parse(options, backend="knobby")
    message = str(caught.value)
    assert "the knobby backend" in message
    assert "\n" not in message
    assert all(word in message for word in words)


def test_options_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Knobs().steps = 3  # type: ignore[misc]
