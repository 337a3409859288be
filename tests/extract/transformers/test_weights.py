"""Where models come from, and what is said when they do not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest

from contextbias.engines import machine
from contextbias.engines.devices import Gpu
from contextbias.errors import MissingPart
from contextbias.extract.transformers import TransformersReader, needs
from contextbias.extract.transformers.loading import load_processor
from contextbias.extract.transformers.weights import ModelSource, weight_bytes

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def in_cache(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Lay the miniature out as the hub's cache has a repository."""
    snapshot = tmp_path / "hub/models--owner--tiny/snapshots" / COMMIT
    shutil.copytree(folder, snapshot)
    refs = snapshot.parent.parent / "refs"
    refs.mkdir()
    (refs / "main").write_text(COMMIT)
    real = huggingface_hub.snapshot_download

    def cached(*given: Any, **named: Any) -> str:
        return str(real(*given, **{**named, "cache_dir": tmp_path / "hub"}))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", cached)


def test_weights_in_the_older_form_are_seen(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    source = ModelSource(str(tmp_path))
    assert source.here() is None
    (tmp_path / "pytorch_model-00001-of-00002.bin").write_bytes(b"123")
    assert source.here() == tmp_path
    (tmp_path / "model.safetensors").write_bytes(b"12")
    assert weight_bytes(tmp_path) == 2


@pytest.mark.parametrize(("made", "said"), [(False, "no such folder"), (True, "no config.json")])
def test_a_folder_without_a_model(tmp_path: Path, made: bool, said: str) -> None:
    path = tmp_path / "model"
    if made:
        path.mkdir()
    assert ModelSource(str(path)).here() is None
    with pytest.raises(MissingPart, match=said):
        _ = TransformersReader({"model": str(path)}).answering


def test_a_repository_in_the_cache_is_read_without_a_network(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    in_cache(folder, monkeypatch, tmp_path)
    source = ModelSource("owner/tiny")
    found = source.here()
    assert found is not None
    assert source.loaded(found) == {"model": "owner/tiny", "revision": COMMIT}
    assert not source.is_pinned
    assert ModelSource("owner/tiny", COMMIT).is_pinned
    assert ModelSource("owner/other").here() is None


def test_damaged_weights(copy: Path) -> None:
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(MissingPart, match="cannot be loaded") as told:
        _ = TransformersReader({"model": str(copy)}).answering
    assert "fetch it anew" in told.value.fix


def test_a_model_for_texts_alone(copy: Path) -> None:
    for name in ("processor_config.json", "preprocessor_config.json"):
        (copy / name).unlink(missing_ok=True)
    tokenizer = json.loads((copy / "tokenizer_config.json").read_text("utf-8"))
    tokenizer.pop("processor_class", None)
    (copy / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    (copy / "config.json").write_text(json.dumps({"model_type": "llama"}))
    with pytest.raises(MissingPart, match="does not take texts with pictures"):
        load_processor(copy)


@pytest.mark.skipif(find_spec("torchvision") is not None, reason="torchvision is installed")
def test_a_processor_that_needs_torchvision(copy: Path) -> None:
    (copy / "config.json").write_text(json.dumps({"model_type": "qwen2_5_vl"}))
    (copy / "processor_config.json").write_text(
        json.dumps({"processor_class": "Qwen2_5_VLProcessor"})
    )
    (copy / "preprocessor_config.json").write_text(
        json.dumps({"image_processor_type": "Qwen2VLImageProcessor"})
    )
    with pytest.raises(MissingPart, match="needs torchvision, which is not installed") as told:
        load_processor(copy)
    assert "docs/readers.md" in told.value.fix
    (listed,) = [
        each for each in TransformersReader({"model": str(copy)}).requirements()
        if each[0] == "processor"
    ]  # fmt: skip
    assert not listed[1]


# ---- plan and doctor


def listed(made: TransformersReader) -> dict[str, tuple[bool, str, str]]:
    return {what: (ok, found, fix) for what, ok, found, fix in made.requirements()}


def test_requirements_of_a_folder(reader: Callable[..., TransformersReader], folder: Path) -> None:
    told = listed(reader())
    for package in ("torch", "transformers", "accelerate", "llguidance"):
        assert told[package][0]
    assert told[f"weights {folder}"][:2] == (True, "on this machine")
    assert told["processor"][:2] == (True, "LlavaProcessor")
    assert "access token" not in told


def test_requirements_of_a_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    told = listed(TransformersReader({"model": "owner/tiny"}))
    assert told["weights owner/tiny"] == (
        False, "not on this machine", "fetched when the first image is read",
    )  # fmt: skip
    assert told["revision"] == (False, "'main' may change", "write a commit")
    assert "none is set" in told["access token"][1]
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    pinned = listed(TransformersReader({"model": "owner/tiny", "revision": COMMIT}))
    assert pinned["access token"][1] == "set"
    assert pinned["revision"][0]


def test_memory_of_the_gpu(
    reader: Callable[..., TransformersReader], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = Gpu("0", "NVIDIA H200", "143771 MiB", "570")
    monkeypatch.setattr(machine, "gpus", lambda: [gpu])
    told = listed(reader())
    assert told["GPU"][:2] == (True, "NVIDIA H200 (143771 MiB)")
    assert told["GPU memory"][:2] == (True, "2 GB expected, 151 GB there")
    assert "about 2 GB of GPU memory expected, 151 GB there" in reader().plan(10, None).notes
    # The miniature is saved in float32: half of it in bfloat16.
    source = ModelSource(str(folder))
    whole, half = (needs.memory(reader(dtype=d)._options, source) for d in ("float32", "bfloat16"))
    assert whole is not None
    assert half is not None
    assert whole - half == pytest.approx(weight_bytes(folder) / 2e9)
    monkeypatch.setattr(needs, "weight_bytes", lambda _: 400e9)
    ok, found, fix = listed(reader())["GPU memory"]
    assert (ok, found) == (False, "402 GB expected, 151 GB there")
    assert "smaller model" in fix


def test_a_plan_before_any_reading(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    plan = TransformersReader({"model": "owner/tiny"}).plan(100, (512, 512))
    assert plan.seconds is None
    told = " ".join(plan.notes)
    assert "the first readings tell how long it takes" in told
    assert "licence: see https://huggingface.co/owner/tiny" in told
    assert "not on this machine" in told
    assert "revision 'main' of owner/tiny is not pinned" in told


def test_a_plan_after_some_readings(reader: Callable[..., TransformersReader]) -> None:
    raws: list[dict[str, Any]] = [
        {"usage": {"input": 100, "output": 30}, "device": "NVIDIA H200"},
        {"usage": {"input": 300, "output": 50}, "device": "NVIDIA H200"},
        {},  # a picture that could not be decoded
        {"usage": {"input": 0, "output": 0}, "device": "NVIDIA H200"},
    ]
    plan = reader().plan_after(8, list(zip(raws, [1.0, 2.0, 0.0, 1.0], strict=True)))
    assert (plan.seconds, plan.tokens_in, plan.tokens_out) == (8.0, 800, 160)
    assert plan.accelerator_seconds == 8.0
    assert plan.basis == "from 4 finished readings on NVIDIA H200"
    on_cpu = reader().plan_after(8, [({"device": "cpu"}, 1.0)])
    assert on_cpu.accelerator_seconds is None


def test_without_the_packages(
    reader: Callable[..., TransformersReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "find_spec", lambda _: None)
    made = reader()
    note, *_ = made.plan(10, None).notes
    assert "ip install 'contextbias[transformers]'" in note
    with pytest.raises(MissingPart, match="needs torch"):
        _ = made.answering
