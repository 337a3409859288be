"""The loop on the device: batches in, pictures out, fewer at a time where memory runs out."""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from contextbias.engines.accelerator import free_memory, give_back, is_out_of_memory
from contextbias.errors import ConfigError, ContextBiasError, Incomplete
from contextbias.generate.diffusers.batching import Room, batches, first_guess, halves
from contextbias.generate.diffusers.embeddings import Embeddings
from contextbias.generate.diffusers.loading import Loaded
from contextbias.generate.diffusers.options import DiffusersOptions
from contextbias.generate.diffusers.tokens import Encoder, counts, cut, encoders, refuse_cut, texts
from contextbias.generate.protocol import Job, Made
from contextbias.interrupts import hurry

_BY_CHECKER = "the pipeline's safety checker took the picture away"
# Before the first picture, these come from the options or the model's files.
_MISTAKES = (TypeError, ValueError, LookupError, AttributeError, NameError, ImportError)


class Drawing:
    """One loaded pipeline at work.

    Args:
        loaded: The pipeline.
        options: How many images at a time, and of how many prompts.

    Raises:
        ConfigError: The pipeline takes no seeds.
    """

    def __init__(self, loaded: Loaded, options: DiffusersOptions) -> None:
        import torch

        self._loaded = loaded
        self._options = options
        self._fixed = self._fixed_arguments()
        self._embeddings = Embeddings(loaded.pipeline, loaded.recipe)
        self._encoders: tuple[Encoder, ...] = encoders(loaded.folder, loaded.recipe)
        self._counted: dict[str, dict[str, Any]] = {}
        self._has_drawn = False
        self._vae_dtype = getattr(getattr(loaded.pipeline, "vae", None), "dtype", None)
        self._is_cut_short = False  # the last call ended in the middle
        self._device = threading.RLock()  # one call at a time, whichever thread it comes from
        # Beside a GPU the processor only feeds it: more threads would wait busily, and take the
        # cores of the thread that encodes and keeps.
        self._threads = torch.get_num_threads() if loaded.device == "cpu" else 1
        self.room = Room(self._first_guess())
        """How many images fit at a time, as far as it is known."""

    @property
    def prompts_encoded(self) -> int:
        """How often the text encoders have worked so far."""
        return self._embeddings.encoded

    def refuse(self, jobs: Sequence[Job]) -> None:
        """Raise ConfigError where a prompt would be cut, unless that was accepted."""
        if self._options.overlong == "refuse":
            refuse_cut(self._encoders, texts(self._loaded.recipe, jobs))

    def made(self, jobs: Sequence[Job]) -> Iterator[Made]:
        """Draw the jobs, batch after batch, in the thread that asks."""
        import torch

        # Each thread has a number of its own, and it decides the last bit of a sum.
        torch.set_num_threads(self._threads)
        mixed = self._options.batching == "mixed"
        waiting = deque(batches(jobs, self.room.most, mixed=mixed))
        while waiting and not hurry.is_set():
            batch = waiting.popleft()
            if len(batch) > self.room.most:
                waiting.extendleft(reversed(halves(batch)))
                continue
            try:
                yield from self._batch(batch)
            except _TooMany:
                pass
            else:
                continue
            # Out of the handler, which would keep the failed call's tensors alive.
            give_back(self._loaded.device)
            if self.room.too_many(len(batch)):
                waiting.extendleft(reversed(halves(batch)))
            else:
                yield from _failed(batch, "one image does not fit into the memory of the device")

    def again(self, job: Job) -> Made | None:
        """The job's picture, decoded in float32; None where it was so before, or would not help.

        SDXL's VAE overflows in float16. The pipeline knows a way round, and takes it where the
        VAE's own file says so; fine-tuned models often do not say so.
        """
        vae = getattr(self._loaded.pipeline, "vae", None)
        config = getattr(vae, "config", None)
        half = self._loaded.recipe.dtype == "float16"
        if not half or config is None or "force_upcast" not in config or config.force_upcast:
            return None
        assert vae is not None
        with self._device:  # what the other thread is drawing is drawn as it began
            vae.register_to_config(force_upcast=True)
            try:
                (made,) = self._batch([job])
            finally:
                vae.register_to_config(force_upcast=False)
        return replace(made, provenance={**made.provenance, "vae_dtype": "float32"})

    def _batch(self, jobs: Sequence[Job]) -> Iterator[Made]:
        """Draw one batch in one call.

        Raises:
            _TooMany: It does not fit into the memory.
        """
        began = time.perf_counter()
        try:
            with self._device:
                output = self._called(jobs)
        except ContextBiasError:
            raise
        except Exception as error:  # a failing batch is rows
            if is_out_of_memory(error):
                raise _TooMany from None
            if not self._has_drawn and isinstance(error, _MISTAKES):
                raise _mistake(self._loaded, error) from None
            yield from _failed(jobs, f"{type(error).__name__}: {error}")
            return
        self._has_drawn = True
        seconds = (time.perf_counter() - began) / len(jobs)
        refused = getattr(output, "nsfw_content_detected", None) or [False] * len(jobs)
        for index, (job, picture) in enumerate(zip(jobs, output.images, strict=True)):
            batch = {"size": len(jobs), "index": index}
            provenance = {**self._loaded.facts, **self._tokens(job), "batch": batch}
            made = Made(
                image_id=job.image_id, image=picture, provenance=provenance, seconds=seconds
            )
            # The pipeline's own checker paints it black.
            yield replace(made, status="blocked", reason=_BY_CHECKER) if refused[index] else made

    def _called(self, jobs: Sequence[Job]) -> Any:
        import torch

        if self._is_cut_short:
            self._put_right()
        self._is_cut_short = True
        recipe = self._loaded.recipe
        # One generator an image, on the CPU: the same noise on every device and in every batch.
        seeds = [torch.Generator("cpu").manual_seed(job.seed) for job in jobs]
        prompts = self._embeddings.arguments([recipe.prompt(job.text) for job in jobs])
        given = {**recipe.call, **self._fixed, **prompts}
        output = self._loaded.pipeline(**given, generator=seeds)
        self._is_cut_short = False
        if not hasattr(output, "images"):
            kind = type(self._loaded.pipeline).__name__
            raise ConfigError(f"{kind} makes no pictures", "name a text-to-image model")
        return output

    def _put_right(self) -> None:
        """Bring the pipeline back to where it was before a call that ended in the middle."""
        pipeline = self._loaded.pipeline
        if self._vae_dtype is not None and pipeline.vae.dtype != self._vae_dtype:
            # SDXL's is float32 while it decodes, and most calls run out of memory there.
            pipeline.vae.to(dtype=self._vae_dtype)
        pipeline.maybe_free_model_hooks()  # of an offload: what was left on the device goes back

    def _fixed_arguments(self) -> dict[str, Any]:
        kind = type(self._loaded.pipeline)
        takes = inspect.signature(kind.__call__).parameters
        if "generator" not in takes:
            raise ConfigError(f"{kind.__name__} takes no seeds", "name another model")
        # Floats, so that values that are no numbers can be told from black.
        return {"output_type": "np"} if "output_type" in takes else {}

    def _first_guess(self) -> int:
        options, recipe = self._options, self._loaded.recipe
        if options.batching == "strict":
            return 1
        if isinstance(options.batch, int):
            return options.batch
        free = free_memory(self._loaded.device)
        return first_guess(recipe.profile.batch, free, recipe.activations)

    def _tokens(self, job: Job) -> dict[str, Any]:
        text = self._loaded.recipe.prompt(job.text)
        if text not in self._counted:
            over = sorted(cut(self._encoders, text))
            told = {"tokens": counts(self._encoders, text)}
            self._counted[text] = {**told, "truncated": over} if over else told
        return self._counted[text]


class _TooMany(Exception):
    """A batch did not fit into the memory."""


def _mistake(loaded: Loaded, error: Exception) -> Incomplete:
    """Not even the first picture can be asked for: the cause is not in the prompts."""
    given = ", ".join(sorted(loaded.recipe.call))
    return Incomplete(
        f"{type(loaded.pipeline).__name__} does not take what it is given: {type(error).__name__}:"
        f" {error} (arguments: {given})",
        "correct the options of the generator and run again",
    )


def _failed(jobs: Sequence[Job], reason: str) -> Iterator[Made]:
    for job in jobs:
        yield Made(image_id=job.image_id, status="error", reason=reason)
