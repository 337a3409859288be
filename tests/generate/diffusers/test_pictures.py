"""What is drawn, in miniature: seeds, batches, prompts, negative prompts, of every family."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from diffusers import DiffusionPipeline
from tests.generate.diffusers.conftest import FAMILIES, PROFILES

from contextbias.errors import ConfigError, MissingPart
from contextbias.generate.diffusers.loading import quiet

_GREY = 1 / 255
_NEGATIVE = "watermark, logo"


def drawn(generator: Any, jobs: Any) -> dict[str, Any]:
    """Image id -> what came of it, all of it good."""
    made = list(generator.generate(jobs))
    assert [m.reason for m in made if m.status != "ok"] == []
    return {m.image_id: m for m in made}


def pixels(made: Any) -> Any:
    return np.asarray(made.image, np.float64)


def levels(made: Any) -> Any:
    return (pixels(made) * 255).round()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_seed_is_the_same_picture_and_another_is_another(name, generator, job) -> None:
    first = drawn(generator(name), [job(7), job(8)])
    again = drawn(generator(name), [job(7), job(8)])
    for key in first:
        assert (pixels(first[key]) == pixels(again[key])).all()
    seven, eight = first.values()
    assert np.abs(pixels(seven) - pixels(eight)).max() > _GREY


@pytest.mark.parametrize("name", FAMILIES)
def test_an_image_of_a_batch_is_the_image_made_alone(name, generator, job) -> None:
    jobs = [job(seed) for seed in range(4)]
    together = generator(name, batch=4)
    batch = drawn(together, jobs)
    assert {m.provenance["batch"]["size"] for m in batch.values()} == {4}
    assert [m.provenance["batch"]["index"] for m in batch.values()] == [0, 1, 2, 3]
    for each in jobs:
        alone = drawn(together, [each])[each.image_id]
        assert np.abs(levels(alone) - levels(batch[each.image_id])).max() <= 1


@pytest.mark.parametrize("name", FAMILIES)
def test_strict_is_bitwise_whatever_else_is_made(name, generator, job) -> None:
    strict = generator(name, batching="strict")
    jobs = [job(0), job(1, "a photo of a welder"), job(2), job(3)]
    many = drawn(strict, jobs)
    assert {m.provenance["batch"]["size"] for m in many.values()} == {1}
    for each in reversed(jobs):
        alone = drawn(generator(name, batching="strict"), [each])[each.image_id]
        assert (pixels(alone) == pixels(many[each.image_id])).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_the_prompt_decides_the_picture_and_mixed_batches_do_not_mix_it(
    name, generator, job
) -> None:
    jobs = [job(5), job(5, "a photo of a judge in a very large and crowded courtroom")]
    mixed = drawn(generator(name, batching="mixed", batch=2), jobs)
    assert {m.provenance["batch"]["size"] for m in mixed.values()} == {2}
    plain = drawn(generator(name), jobs)
    for key in mixed:
        assert np.abs(levels(mixed[key]) - levels(plain[key])).max() <= 1
    first, second = (pixels(m) for m in plain.values())
    assert np.abs(first - second).max() > 1e-4


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("sdxl", {}),
        ("sd3", {}),
        ("flux", {"true_cfg_scale": 3.0}),
        ("schnell", {"true_cfg_scale": 3.0}),
        ("qwen", {}),
        ("sd1", {}),
    ],
)
def test_the_negative_prompt_changes_the_picture_where_the_profile_says_so(
    name, options, generator, job
) -> None:
    with_it = generator(name, negative_prompt=_NEGATIVE, **options)
    other = generator(name, negative_prompt="people", **options)
    one, two = drawn(with_it, [job(3)]), drawn(other, [job(3)])
    (first,), (second,) = one.values(), two.values()
    assert first.provenance["guidance"]["classifier_free"]
    assert first.provenance["guidance"]["negative_prompt"] == _NEGATIVE
    assert np.abs(pixels(first) - pixels(second)).max() > 1e-5


@pytest.mark.parametrize(
    ("name", "options", "call"),
    [
        ("sdxl", {"guidance": 1.0}, {"guidance_scale": 1.0}),
        ("sd3", {"guidance": 1.0}, {"guidance_scale": 1.0}),
        ("flux", {}, {"true_cfg_scale": 1.0}),
        ("schnell", {}, {"true_cfg_scale": 1.0}),
        ("qwen", {"guidance": 1.0}, {"true_cfg_scale": 1.0}),
    ],
)
def test_elsewhere_it_has_none_and_asking_for_it_is_an_error(
    name, options, call, generator, folder, job
) -> None:
    """The pipeline itself shows that the profile is right: with a negative prompt, the same."""
    with pytest.raises(ConfigError, match="no effect"):
        generator(name, negative_prompt=_NEGATIVE, **options)
    made = drawn(generator(name, **options), [job(3)])["a photo of a nurse/3"]
    assert made.provenance["guidance"]["negative_prompt"] is None
    assert not made.provenance["guidance"]["classifier_free"]
    pipeline = plain(folder(name))
    theirs = pipeline(
        "a photo of a nurse",
        negative_prompt=_NEGATIVE,
        generator=torch.Generator().manual_seed(3),
        **{**generator(name, **options).settings()["call"], **call},
        output_type="np",
    ).images[0]
    assert (theirs == made.image).all()


def plain(folder: Any) -> Any:
    """The pipeline as anybody would load it."""
    quiet()
    pipeline = DiffusionPipeline.from_pretrained(folder, dtype=torch.float32)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


@pytest.mark.parametrize("name", FAMILIES)
def test_encoded_prompts_give_the_pictures_of_the_text_itself(name, generator, folder, job) -> None:
    options = {"true_cfg_scale": 2.0} if name in ("flux", "schnell") else {}
    ours = generator(name, negative_prompt=_NEGATIVE, batching="strict", **options)
    made = drawn(ours, [job(1), job(2)])
    pipeline = plain(folder(name))
    call = {**ours.settings()["call"], "height": 64, "width": 64}
    for seed in (1, 2):
        theirs = pipeline(
            "a photo of a nurse",
            negative_prompt=_NEGATIVE,
            generator=torch.Generator().manual_seed(seed),
            **call,
            output_type="np",
        ).images[0]
        assert (theirs == made[f"a photo of a nurse/{seed}"].image).all()


@pytest.mark.parametrize("name", [n for n in FAMILIES if n != "sd1"])
def test_a_prompt_is_encoded_once_for_all_its_seeds(name, generator, job) -> None:
    ours = generator(name, batch=2)
    jobs = [job(seed, text) for seed in range(5) for text in ("a nurse", "a welder")]
    drawn(ours, jobs)
    drawn(ours, jobs)
    assert ours.drawing.prompts_encoded == 2


def test_no_negative_prompt_of_sdxl_is_not_an_empty_one(generator, folder, job) -> None:
    """Zeros, as the model was trained; a text of nothing is another picture."""
    made = drawn(generator("sdxl", negative_prompt=""), [job(3)])["a photo of a nurse/3"]
    pipeline = plain(folder("sdxl"))
    pictures = [
        pipeline(
            "a photo of a nurse",
            negative_prompt=negative,
            generator=torch.Generator().manual_seed(3),
            height=64,
            width=64,
            num_inference_steps=2,
            guidance_scale=5.0,
            output_type="np",
        ).images[0]
        for negative in (None, "")
    ]
    assert (pictures[0] == made.image).all()
    assert (pictures[1] != made.image).any()


@pytest.mark.parametrize("name", FAMILIES)
def test_every_image_says_how_it_was_made(name, generator, job) -> None:
    (made,) = drawn(generator(name), [job(0)]).values()
    told = made.provenance
    assert told["versions"].keys() >= {"diffusers", "torch", "transformers"}
    assert told["dtype"] == "float32"
    assert told["device"] == "cpu"
    assert told["steps"] == 2
    assert told["scheduler"]["class"]
    assert told["attention"]
    assert told["revision"].startswith("files ")
    assert all(count > 10 for count in told["tokens"].values())
    assert told["watermark"] is False
    assert made.seconds > 0
    assert made.image.shape == (64, 64, 3)


@pytest.mark.parametrize("name", ["sdxl", "flux"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_draws_the_same_motif(name, dtype, generator, job) -> None:
    half = drawn(generator(name, dtype=dtype), [job(0)])["a photo of a nurse/0"]
    full = drawn(generator(name), [job(0)])["a photo of a nurse/0"]
    assert half.provenance["dtype"] == dtype
    assert 0 < np.abs(pixels(half) - pixels(full)).max() < 0.2


@pytest.mark.parametrize("name", ["sdxl", "flux", "qwen"])
def test_fewer_bits_are_another_generator_and_another_picture(name, generator, job) -> None:
    fewer = generator(name, quantization="fp8")
    made = drawn(fewer, [job(0)])["a photo of a nurse/0"]
    whole = drawn(generator(name), [job(0)])["a photo of a nurse/0"]
    assert made.provenance["quantization"] == "fp8"
    assert fewer.settings() != generator(name).settings()
    assert (pixels(made) != pixels(whole)).any()
    weights = {p.dtype for p in fewer.drawing._loaded.denoiser.parameters()}
    assert torch.float8_e4m3fn in weights


def test_quantising_without_its_package_says_what_to_install(generator, job, monkeypatch) -> None:
    _without(monkeypatch, "bitsandbytes")
    ours = generator("flux", quantization="bnb-4bit")
    with pytest.raises(MissingPart, match=r"or run `.*pip install bitsandbytes`"):
        list(ours.generate([job(0)]))
    assert "bitsandbytes, which is not installed" in ours.plan([job(0)]).notes[0]


def test_a_watermark_without_its_package_says_what_to_install(generator, job, monkeypatch) -> None:
    _without(monkeypatch, "imwatermark")
    ours = generator("sdxl", watermark=True)
    with pytest.raises(MissingPart, match=r"Run `.*pip install invisible-watermark`, or"):
        list(ours.generate([job(0)]))
    assert "imwatermark, which is not installed" in ours.plan([job(0)]).notes[0]


def _without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setattr(
        "contextbias.engines.machine.find_spec", lambda name: name != package or None
    )


def test_compiling_is_asked_of_the_denoiser_and_stored(generator, job, monkeypatch) -> None:
    compiled = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, **_: compiled.append(self))
    ours = generator("flux", compile=True)
    (made,) = drawn(ours, [job(0)]).values()
    assert compiled == [ours.drawing._loaded.denoiser]
    assert made.provenance["compiled"] is True


def test_a_watermark_is_added_only_when_asked_for(generator, folder, job, monkeypatch) -> None:
    """The library adds one wherever the package is installed; ours says no."""
    given = []
    load = DiffusionPipeline.from_pretrained.__func__

    def spied(cls: Any, path: Any, **kwargs: Any) -> Any:
        given.append(kwargs.get("add_watermarker"))
        return load(cls, path, **{**kwargs, "add_watermarker": False})

    monkeypatch.setattr(DiffusionPipeline, "from_pretrained", classmethod(spied))
    monkeypatch.setattr("contextbias.engines.machine.find_spec", lambda name: True)
    drawn(generator("sdxl"), [job(0)])
    drawn(generator("sdxl", watermark=True), [job(0)])
    assert given == [False, True]


def test_an_offload_without_a_gpu_is_an_error(generator, job) -> None:
    with pytest.raises(ConfigError, match="offload = 'model' has no effect without a GPU"):
        list(generator("sdxl", offload="model").generate([job(0)]))


@pytest.mark.parametrize("mode", ["model", "sequential"])
def test_an_offload_with_a_gpu_is_what_the_library_does(mode, generator, monkeypatch) -> None:
    calls = []
    monkeypatch.setattr("contextbias.generate.diffusers.loading.device_of", lambda _: "cuda")
    for name in ("model", "sequential"):
        monkeypatch.setattr(
            DiffusionPipeline,
            f"enable_{name}_cpu_offload",
            lambda self, device, name=name: calls.append((name, device)),
        )
    for fact in ("get_device_name", "mem_get_info"):
        answer = {"get_device_name": "a GPU", "mem_get_info": (80e9, 80e9)}[fact]
        monkeypatch.setattr(torch.cuda, fact, lambda answer=answer: answer)
    ours = generator("flux", offload=mode)
    assert ours.drawing._loaded.facts["device"] == "a GPU"
    assert calls == [(mode, "cuda")]
    assert ours.drawing._threads == 1
    assert ours.drawing.room.most == 4


def test_a_device_that_is_not_there_is_an_error(generator, job) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one here")
    with pytest.raises(ConfigError, match="device = 'cuda' is not here"):
        list(generator("sdxl", device="cuda").generate([job(0)]))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"arguments": {"clip_skipp": 1}}, "did you mean 'clip_skip'"),
        ({"true_cfg_scale": 2.0}, "is FLUX's"),
        ({"max_sequence_length": 128}, "no effect"),
        ({"negative_prompt": "x", "guidance": 1.0}, "no effect while guidance_scale is 1"),
    ],
)
def test_a_pipeline_without_a_profile_is_asked_what_it_takes(options, told, generator, job) -> None:
    assert PROFILES["sd1"] == "generic"
    ours = generator("sd1", **options)
    with pytest.raises(ConfigError, match=f"(?i){told}"):
        ours.check([job(0)])
    with pytest.raises(ConfigError, match=f"(?i){told}"):
        list(ours.generate([job(0)]))


def test_further_arguments_reach_the_call(generator, job) -> None:
    skipped = drawn(generator("sdxl", arguments={"clip_skip": 1}), [job(0)])
    plain = drawn(generator("sdxl"), [job(0)])
    assert (pixels(*skipped.values()) != pixels(*plain.values())).any()
