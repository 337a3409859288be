"""What a model takes and needs: for `plan` and `doctor`, without fetching anything."""

from __future__ import annotations

from typing import Any

import pytest

from contextbias.engines import machine
from contextbias.engines.devices import Gpu
from contextbias.errors import MissingPart, pip_install
from contextbias.generate.diffusers import DiffusersGenerator, needs
from contextbias.generate.diffusers.hub import PipelineSource
from contextbias.generate.diffusers.options import DiffusersOptions
from contextbias.generate.diffusers.profiles import profiles
from contextbias.generate.diffusers.recipe import recipe


def gpus(monkeypatch: pytest.MonkeyPatch, *memories: str) -> None:
    found = [Gpu(str(n), "A GPU", memory, "1") for n, memory in enumerate(memories)]
    monkeypatch.setattr(machine, "gpus", lambda: found)


def plan(job: Any, **options: Any) -> Any:
    return DiffusersGenerator(options).plan([job(seed) for seed in range(10)])


def test_seconds_are_reckoned_from_the_operations(job) -> None:
    # 50 steps x 2 passes x 6.76 + 10.47 = 686.47 teraflops an image, at 150 a second, 10 images.
    found = plan(job, model="sdxl")
    assert found.accelerator_seconds == pytest.approx(10 * 686.47 / 150)
    assert found.pixels == (1024, 1024)
    assert "not measured" in found.basis
    # Without guidance half of the passes; a quarter of the pixels, a quarter of it all.
    small = plan(job, model="sdxl", guidance=1.0, size=512)
    assert small.seconds == pytest.approx(10 * (50 * 6.76 + 10.47) / 4 / 150)
    assert plan(job, model="someone/else").seconds is None


def test_a_plan_says_the_conditions_before_any_spend(job, monkeypatch) -> None:
    gpus(monkeypatch)
    told = "\n".join(plan(job, model="flux-dev").notes)
    assert "FLUX.1 [dev] Non-Commercial License (https://huggingface.co/black-forest" in told
    assert "gated: accept the licence at" in told
    assert "HF_TOKEN" in told
    assert "no negative prompt: it would have no effect" in told
    assert "no GPU is seen here" in told
    assert "not pinned" not in told
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    assert not [note for note in plan(job, model="flux-dev").notes if "gated" in note]


def test_what_may_change_is_told(job) -> None:
    for options in ({"model": "someone/else"}, {"model": "sdxl", "revision": "main"}):
        assert any("not pinned" in note for note in plan(job, **options).notes)
    commit = "0123456789" * 4
    notes = plan(job, model="someone/else", revision=commit).notes
    assert not any("not pinned" in note for note in notes)
    assert any(note == "licence: see https://huggingface.co/someone/else" for note in notes)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # Gigabytes: thousand million parameters x 2 bytes, and 2.5 for an image.
        ({}, 2 * (11.901 + 0.123 + 4.762 + 0.084) + 2.5),
        ({"dtype": "float32"}, 4 * (11.901 + 0.123 + 4.762 + 0.084) + 2.5),
        ({"size": 512}, 2 * (11.901 + 0.123 + 4.762 + 0.084) + 2.5 / 4),
        ({"offload": "model"}, 2 * 11.901 + 2.5),
        ({"offload": "sequential"}, 2.0 + 2.5),
        ({"quantization": "fp8"}, 11.901 + 2 * (0.123 + 4.762 + 0.084) + 2.5),
        (
            {"quantization": "bnb-4bit"},
            0.55 * (11.901 + 4.762) + 2 * (0.123 + 0.084) + 2.5,
        ),
    ],
)
def test_memory_by_mode(options: dict[str, Any], expected: float) -> None:
    given = DiffusersOptions.parse({"model": "flux-dev", **options}, backend="diffusers")
    found = needs.memory(recipe(given, profiles()["flux-dev"]), given)
    assert found == pytest.approx(expected)


def test_memory_is_held_against_the_gpu(job, monkeypatch) -> None:
    gpus(monkeypatch, "24576 MiB", "16384 MiB")
    told = "\n".join(plan(job, model="flux-dev").notes)
    assert '36 GB of GPU memory expected, 26 GB there: take offload = "model"' in told
    assert "8 GB of GPU memory expected, 26 GB there" in "\n".join(plan(job, model="sdxl").notes)


def test_the_doctor_is_told_what_has_to_be_there(monkeypatch, tmp_path) -> None:
    gpus(monkeypatch, "8192 MiB")
    found = {what: (ok, told, fix) for what, ok, told, fix in of({"model": "flux-dev"})}
    assert found["diffusers"][0]
    assert found["weights black-forest-labs/FLUX.1-dev"][:2] == (False, "not on this machine")
    assert found["access"][0] is False
    assert "https://huggingface.co/black-forest-labs/FLUX.1-dev" in found["access"][2]
    assert found["revision"][:1] == (True,)
    assert found["GPU memory"][:2] == (False, "36 GB expected, 9 GB there")
    home = tmp_path / "token"
    home.write_text("hf_from_a_login")
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    found = {what: ok for what, ok, *_ in of({"model": "flux-dev", "offload": "sequential"})}
    assert found["access"]
    assert found["GPU memory"]
    lacking = {w: fix for w, ok, _, fix in of({"model": "sdxl", "watermark": True}) if not ok}
    assert lacking["invisible-watermark"] == pip_install("invisible-watermark")


def of(options: dict[str, Any]) -> list[needs.Requirement]:
    return DiffusersGenerator(options).requirements()


def test_a_local_folder_needs_no_access(folder, monkeypatch) -> None:
    gpus(monkeypatch)
    found = {what: ok for what, ok, *_ in of({"model": str(folder("flux"))})}
    assert found[f"weights {folder('flux')}"]
    assert not {"access", "revision"} & set(found)
    assert not found["GPU"]


def test_a_plan_says_which_prompts_will_be_refused(generator, job) -> None:
    found = generator("sdxl").plan([job(0, "a" * 80)])
    assert found.notes[0].startswith("nothing will be made: the end of 1 of 2 texts")
    assert generator("sdxl").plan([job(0)]).seconds is not None


def test_what_is_not_here_cannot_be_counted_and_a_plan_fetches_nothing(job) -> None:
    """The tests' walls would stop it."""
    assert "tokens of the prompts are counted once" in " ".join(plan(job, model="sdxl").notes)


@pytest.mark.parametrize("model", ["sdxl", "someone/else"])
def test_weights_that_cannot_be_fetched_say_what_to_do(model, job, monkeypatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    ours = DiffusersGenerator({"model": model})
    with pytest.raises(MissingPart, match="not on this machine and cannot be fetched"):
        ours.check([job(0)])
    with pytest.raises(MissingPart, match=r"connect it once, or copy a snapshot|Connect it once"):
        list(ours.generate([job(0)]))


def test_packages_that_are_missing_are_named(job, monkeypatch) -> None:
    monkeypatch.setattr(machine, "find_spec", lambda name: None if name == "diffusers" else True)
    ours = DiffusersGenerator({"model": "sdxl"})
    for asked in (ours.check, lambda jobs: list(ours.generate(jobs))):
        with pytest.raises(MissingPart, match=r"needs diffusers.*contextbias\[diffusers\]"):
            asked([job(0)])
    assert "needs diffusers" in ours.plan([job(0)]).notes[0]


def test_on_a_processor_no_gpu_is_asked_for(job, monkeypatch) -> None:
    gpus(monkeypatch)
    assert not {"GPU", "GPU memory"} & {what for what, *_ in of({"model": "sdxl", "device": "cpu"})}
    assert "GPU" not in " ".join(plan(job, model="sdxl", device="cpu").notes)


@pytest.mark.parametrize("suffix", [".safetensors", ".bin"])
def test_weights_of_every_kind_are_seen(suffix: str, tmp_path) -> None:
    source = PipelineSource(str(tmp_path))
    (tmp_path / "model_index.json").write_text("{}")
    (tmp_path / "unet").mkdir()
    assert not source.is_here()
    (tmp_path / "unet" / f"diffusion_pytorch_model{suffix}").write_bytes(b"")
    assert source.is_here()
