"""Batches by what fits: the first guess, the back-off, and what is remembered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contextbias.errors import Incomplete
from contextbias.generate.diffusers.batching import Room, batches, first_guess, halves
from contextbias.generate.protocol import Job


@pytest.fixture
def small_gpu(monkeypatch):
    """A pipeline class -> fail with `error` above `most` images; the sizes that were tried."""

    def patched(ours: Any, most: int, error: Exception) -> list[int]:
        tried: list[int] = []
        kind = type(ours.drawing._loaded.pipeline)
        call = kind.__call__

        def limited(self: Any, *args: Any, **kwargs: Any) -> Any:
            size = len(kwargs["generator"])
            tried.append(size)
            if size > most:
                raise error
            return call(self, *args, **kwargs)

        limited.__signature__ = __import__("inspect").signature(call)
        monkeypatch.setattr(kind, "__call__", limited)
        return tried

    return patched


@pytest.mark.parametrize("name", ["sdxl", "sd3", "flux", "qwen", "sd1"])
def test_running_out_of_memory_halves_the_batch_and_is_remembered(
    name, generator, job, small_gpu
) -> None:
    jobs = [job(seed) for seed in range(8)]
    ours = generator(name, batch=8)
    reference = {m.image_id: m.image for m in generator(name, batch=8).generate(jobs)}
    tried = small_gpu(ours, 2, torch.OutOfMemoryError("CUDA out of memory"))
    made = list(ours.generate(jobs))
    assert tried == [8, 4, 2, 2, 2, 2]
    assert [m.status for m in made] == ["ok"] * 8
    assert {m.image_id for m in made} == {j.image_id for j in jobs}
    for each in made:
        assert np.abs(each.image - reference[each.image_id]).max() <= 1 / 255
        assert each.provenance["batch"]["size"] == 2
    tried.clear()
    list(ours.generate(jobs))
    assert tried == [2, 2, 2, 2]


def test_running_out_of_memory_while_decoding_leaves_the_pipeline_as_it_was(
    generator, job, monkeypatch
) -> None:
    """SDXL's VAE is float32 for the time of decoding, which is where most memory is taken."""
    ours = generator("sdxl", dtype="float16", batch=4)
    pipeline = ours.drawing._loaded.pipeline
    decode, tidied = pipeline.vae.decode, []

    def limited(latents: Any, **given: Any) -> Any:
        if len(latents) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return decode(latents, **given)

    monkeypatch.setattr(pipeline.vae, "decode", limited)
    monkeypatch.setattr(pipeline, "maybe_free_model_hooks", lambda: tidied.append(True))
    made = list(ours.generate([job(seed) for seed in range(4)]))
    assert [(m.status, m.reason) for m in made] == [("ok", None)] * 4
    assert {m.provenance["batch"]["size"] for m in made} == {2}
    assert pipeline.vae.dtype == torch.float16
    assert len(tidied) == 3  # after the call that failed, and by the two that came to their end


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("MPS backend out of memory (MPS allocated: 17.9 GB)"),
        RuntimeError("CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
        MemoryError(),
    ],
)
def test_one_image_that_does_not_fit_is_a_row(error, generator, job, small_gpu) -> None:
    ours = generator("sdxl", batch=2)
    small_gpu(ours, 0, error)
    made = list(ours.generate([job(0), job(1)]))
    assert [m.status for m in made] == ["error", "error"]
    assert "does not fit into the memory" in str(made[0].reason)


def test_another_failure_is_a_row_for_its_batch_alone(generator, job, monkeypatch) -> None:
    ours = generator("sdxl")
    encode = ours.drawing._embeddings.arguments

    def failing(texts: list[str]) -> Any:
        if texts[0] == "a welder":
            raise ValueError("no welders")
        return encode(texts)

    monkeypatch.setattr(ours.drawing._embeddings, "arguments", failing)
    made = list(ours.generate([job(0, "a nurse"), job(0, "a welder"), job(1, "a nurse")]))
    assert {m.image_id: m.status for m in made} == {
        "a nurse/0": "ok",
        "a nurse/1": "ok",
        "a welder/0": "error",
    }
    assert "ValueError: no welders" in {m.reason for m in made}


def test_a_model_that_does_not_fit_ends_the_run(generator, job, monkeypatch) -> None:
    from diffusers import DiffusionPipeline

    def too_large(*args: Any, **kwargs: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 23 GiB")

    monkeypatch.setattr(DiffusionPipeline, "from_pretrained", too_large)
    with pytest.raises(Incomplete, match=r"does not fit.*23 GiB.*offload"):
        list(generator("flux").generate([job(0)]))


def test_the_first_guess_is_by_the_free_memory() -> None:
    assert first_guess(8, None, 1.5) == 8
    assert first_guess(8, 80.0, 1.5) == 8
    assert first_guess(8, 6.0, 1.5) == 3  # 0.9 x 6 / 1.5 = 3.6
    assert first_guess(8, 0.5, 1.5) == 1


def test_a_room_only_shrinks() -> None:
    room = Room(8)
    assert room.too_many(8)
    assert room.most == 4
    assert room.too_many(3)
    assert room.most == 1
    assert not room.too_many(1)
    assert room.most == 1


@given(
    counts=st.lists(st.integers(1, 12), min_size=1, max_size=5),
    size=st.integers(1, 8),
    mixed=st.booleans(),
)
def test_batches_hold_every_job_once_and_one_prompt(counts, size, mixed) -> None:
    jobs = [
        Job(
            image_id=f"{prompt}/{seed}",
            role="r",
            condition="CF",
            text=f"text {prompt}",
            location=None,
            activity=None,
            prompt_id=str(prompt),
            seed=seed,
        )
        for prompt, count in enumerate(counts)
        for seed in range(count)
    ]
    made = list(batches(jobs, size, mixed=mixed))
    assert sorted(j.image_id for b in made for j in b) == sorted(j.image_id for j in jobs)
    assert all(1 <= len(batch) <= size for batch in made)
    if mixed:
        assert len(made) == -(-len(jobs) // size)
    else:
        assert all(len({j.text for j in batch}) == 1 for batch in made)
        assert len(made) == sum(-(-count // size) for count in counts)
        for count in range(len(counts)):
            sizes = [len(b) for b in made if b[0].prompt_id == str(count)]
            assert max(sizes) - min(sizes) <= 1  # ten at eight a time are five and five
    for batch in made:
        if len(batch) > 1:
            first, second = halves(batch)
            assert first + second == batch
            assert second
