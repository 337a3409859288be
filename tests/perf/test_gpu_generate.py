"""perf/gpu_generate.py and its architectures: ready for a GPU, gone through without one."""

from __future__ import annotations

import importlib
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import CHECKOUT

pytest.importorskip("diffusers", reason="needs the extra `diffusers`")

import torch

from contextbias.generate.diffusers.loading import quiet
from contextbias.generate.diffusers.profiles import profiles


@pytest.fixture
def perf(monkeypatch: pytest.MonkeyPatch) -> Any:
    torch.set_num_threads(1)
    quiet()
    monkeypatch.setattr(sys, "path", [str(CHECKOUT / "perf"), *sys.path])
    return importlib.import_module


@pytest.mark.parametrize(("name", "profile"), [("sdxl", "sdxl"), ("flux", "flux-dev")])
def test_the_architectures_have_the_parameters_that_plans_reckon_with(name, profile, perf) -> None:
    known = profiles()[profile]
    with torch.device("meta"):  # counted, not made
        parts = perf("architectures").parts(name)
    found = {
        part: round(sum(p.numel() for p in network.parameters()) / 1e9, 3)
        for part, network in parts.items()
    }
    denoiser = found.get("unet", found.get("transformer"))
    assert denoiser == known.denoiser
    assert (found["text_encoder"], found["text_encoder_2"]) == known.encoders
    assert found["vae"] == known.vae


@pytest.mark.parametrize("name", ["sdxl", "flux"])
def test_a_model_goes_through_every_stage_in_miniature(name, perf, tmp_path: Path) -> None:
    script = perf("gpu_generate")
    with warnings.catch_warnings():
        until = time.time() + 1  # two batches of each way, whatever the time
        lines = list(script.run_model(name, device="cpu", tiny=True, until=until, compiled=False))
    assert [line["stage"] for line in lines] == [
        "built",
        "plain loop",
        "worker, 1 image a call",
        "worker",
    ]
    assert all(line["images"] > 0 and line["images_per_second"] > 0 for line in lines[1:])
    assert [line["batch"] for line in lines[1:]] == [1, 1, 8 if name == "sdxl" else 4]
    script.keep(tmp_path / "out", {name: lines})
    assert json.loads((tmp_path / "out/gpu_generate.json").read_text("utf-8")) == {name: lines}
    assert "| plain loop |" in (tmp_path / "out/gpu_generate.md").read_text("utf-8")


@pytest.mark.slow
def test_a_model_whose_time_is_over_is_ended_and_the_next_one_comes(
    perf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["", "--device", "cpu", "--tiny", "--minutes", "0.001", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", given)
    perf("gpu_generate").main()
    results = json.loads((tmp_path / "gpu_generate.json").read_text("utf-8"))
    assert {name: lines[-1]["reason"] for name, lines in results.items()} == dict.fromkeys(
        ("sdxl", "flux"), "out of time"
    )
    assert "out of time" in capsys.readouterr().out
