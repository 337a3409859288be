"""Idle threads sleep while a pipeline draws, whatever the number of threads."""

from __future__ import annotations

import os

import pytest

from contextbias.generate.diffusers.threads import wait_asleep


def test_a_generator_asks_for_it_before_it_loads_the_model(generator, monkeypatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    found = []
    monkeypatch.setattr(
        "contextbias.generate.diffusers.loading.load",
        lambda *_: found.append(os.environ.get("OMP_WAIT_POLICY")) or 1 / 0,
    )
    with pytest.raises(ZeroDivisionError):
        _ = generator("flux").drawing
    assert found == ["PASSIVE"]


def test_what_the_environment_says_stays(monkeypatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "ACTIVE")
    wait_asleep()
    assert os.environ["OMP_WAIT_POLICY"] == "ACTIVE"
