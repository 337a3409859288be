"""A model that cannot be loaded, or asked, stops the run once: no image is used up by it."""

from __future__ import annotations

import importlib
import inspect
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from contextbias.errors import ConfigError, Incomplete, MissingPart
from contextbias.generate.diffusers.hub import PipelineSource
from contextbias.interrupts import hurry


@pytest.fixture
def copy(folder: Callable[[str], Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder("sdxl"), tmp_path / "copy"))


def truncate(copy: Path) -> None:
    path = copy / "text_encoder" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:3000])


def index(name: str, value: Any) -> Callable[[Path], None]:
    def spoil(copy: Path) -> None:
        path = copy / "model_index.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))

    return spoil


def no_weights(copy: Path) -> None:
    for path in (copy / "unet").glob("*.safetensors"):
        path.unlink()


def no_configuration(copy: Path) -> None:
    (copy / "unet" / "config.json").write_text("[1, 2]")


@pytest.mark.parametrize(
    "spoil",
    [
        truncate,
        no_configuration,
        index("unet", 5),
        index("vae", ["diffusers", "NoSuch"]),
        no_weights,
    ],
)
def test_files_that_make_no_model_are_told_once(spoil, copy, generator, job) -> None:
    spoil(copy)
    with pytest.raises(MissingPart, match="cannot be loaded") as told:
        list(generator("sdxl", model=str(copy)).generate([job(0), job(1)]))
    assert "huggingface.co" not in str(told.value)


def test_weights_that_are_there_in_half_precision_alone_are_found(
    generator, tmp_path: Path, job
) -> None:
    pipeline = importlib.import_module("tests.generate.diffusers.tiny").sdxl()
    pipeline.to(torch.float16)
    pipeline.save_pretrained(tmp_path / "half", variant="fp16")
    (made,) = generator("sdxl", model=str(tmp_path / "half")).generate([job(0)])
    assert made.status == "ok"


def test_a_pipeline_that_makes_something_else_is_told(generator, job, monkeypatch) -> None:
    ours = generator("sd1")
    kind = type(ours.drawing._loaded.pipeline)
    call = inspect.signature(kind.__call__)

    def film(*_: Any, **__: Any) -> Any:
        return SimpleNamespace(frames=[])

    film.__signature__ = call
    monkeypatch.setattr(kind, "__call__", film)
    with pytest.raises(ConfigError, match="makes no pictures"):
        list(ours.generate([job(0)]))


def test_a_profile_of_another_pipeline_is_refused_before_any_weights(
    generator, folder, job
) -> None:
    ours = generator("sdxl", profile="flux-dev")
    told = "is a StableDiffusionXLPipeline, and the profile 'flux-dev' is about FluxPipeline"
    with pytest.raises(ConfigError, match=told):
        ours.check([job(0)])
    with pytest.raises(ConfigError, match=told):
        list(ours.generate([job(0)]))
    assert told in ours.plan([job(0)]).notes[0]


@pytest.mark.parametrize(
    "arguments", [{"clip_skip": 50}, {"clip_skip": "x"}, {"original_size": "x"}]
)
def test_arguments_that_the_pipeline_fails_on_stop_at_the_first_batch(
    arguments, generator, job
) -> None:
    with pytest.raises(Incomplete, match="StableDiffusionXLPipeline does not take what it is"):
        list(generator("sdxl", arguments=arguments).generate([job(0), job(1)]))


def test_after_a_first_picture_a_failure_is_the_batch_s_own(generator, job, monkeypatch) -> None:
    ours = generator("sdxl", batch=1)
    (first,) = ours.generate([job(0)])
    assert first.status == "ok"

    def fail(*_: Any, **__: Any) -> Any:
        raise ValueError("a strange prompt")

    monkeypatch.setattr(type(ours.drawing._loaded.pipeline), "__call__", fail)
    (second,) = ours.generate([job(1)])
    assert (second.status, second.reason) == ("error", "ValueError: a strange prompt")


def test_a_folder_is_told_by_its_weights_and_not_by_what_lies_beside_them(copy: Path) -> None:
    source = PipelineSource(str(copy))
    before = source.loaded(copy)["revision"]
    (copy / "README.md").write_text("About the model.")
    assert source.loaded(copy)["revision"] == before
    weights = next((copy / "unet").glob("*.safetensors"))
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(bytes(data))
    assert source.loaded(copy)["revision"] != before


def test_a_worker_in_a_hurry_ends_after_the_batch_it_is_at(generator, job) -> None:
    ours = generator("sdxl", batch=2)
    pictures = ours.drawing.made([job(seed) for seed in range(6)])
    first = next(pictures)
    hurry.set()
    try:
        rest = list(pictures)
    finally:
        hurry.clear()
    assert [each.provenance["batch"] for each in (first, *rest)] == [
        {"size": 2, "index": 0},
        {"size": 2, "index": 1},
    ]
