"""From prompts to jobs, and what a worker does with a batch of them."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from contextbias import __version__
from contextbias.errors import ContextBiasError
from contextbias.files import StudyFiles
from contextbias.generate import masters, quality
from contextbias.generate.protocol import Generator, Job, Made
from contextbias.ids import bytes_sha256, canonical_json, content_hash, image_seed
from contextbias.registry import load_generator
from contextbias.tables import BLANK, OK, ImageRow, Prompt
from contextbias.worklist import Kept, kept_before, utc_now

TRUTH_SUFFIX = ".truth.json"
"""The planted record of ``images/x.png`` lies beside it as ``images/x.truth.json``."""


@dataclass(frozen=True, slots=True)
class Order:
    """A job with what the row needs and the backend does not."""

    job: Job
    """What the backend is given."""
    prompt: Prompt
    """Where it comes from."""
    replicate: int
    """0 for the first image of the prompt."""
    attempt: int = 1
    """Number of this attempt."""


def orders_for(
    prompts: Iterable[Prompt],
    *,
    generator: str,
    fingerprint: str,
    images_per_prompt: int,
    study_seed: int,
    paired: bool,
    seeds: Mapping[str, Sequence[int]] = MappingProxyType({}),
) -> Iterator[Order]:
    """Every image that a study wants from one generator, in the order of its prompts.

    The first image of every prompt comes before the second of any: a run that is cut short has
    covered all cells.

    Args:
        prompts: What is asked for.
        generator: Name in study.toml.
        fingerprint: Hash of its settings.
        images_per_prompt: How many.
        study_seed: What seeds are derived from.
        paired: The same seeds for all prompts of a role; see `ids.image_seed`.
        seeds: Prompt id -> seeds that came with the prompt. They are used first, in their order;
            images beyond them get derived ones.
    """
    prompts = list(prompts)
    for replicate in range(images_per_prompt):
        for prompt in prompts:
            given = seeds.get(prompt.prompt_id, ())
            seed = (
                given[replicate]
                if replicate < len(given)
                else image_seed(
                    study_seed, prompt.role, replicate, None if paired else prompt.prompt_id
                )
            )
            image_id = content_hash(["image", generator, fingerprint, prompt.prompt_id, seed])
            job = Job(
                image_id=image_id,
                role=prompt.role,
                condition=prompt.condition,
                text=prompt.text,
                location=prompt.location,
                activity=prompt.activity,
                prompt_id=prompt.prompt_id,
                seed=seed,
            )
            yield Order(job, prompt, replicate)


@dataclass(frozen=True, slots=True)
class Finished:
    """What a backend made, looked at and encoded."""

    made: Made
    """As the backend gave it, with what was found out about it."""
    data: bytes | None = None
    """The master's bytes; None where there is no picture."""
    size: tuple[int, int] | None = None
    """Width and height in pixels."""

    @property
    def suffix(self) -> str:
        """Extension of the file."""
        return masters.suffix_of(self.data or b"")


@dataclass(frozen=True, slots=True)
class GenerateTask:
    """Built once in each worker: the backend, and where its images go."""

    generator: str
    """Name in study.toml."""
    backend: str
    """Registered name."""
    options: dict[str, Any]
    """The backend's options."""
    fingerprint: str
    """Hash of the backend's settings."""
    files: StudyFiles
    """Where images are kept."""
    kind: masters.Kind = "png"
    """Format of the files."""

    def backend_for_scheduling(self) -> Generator:
        """The backend, built in the driver to ask how it likes to be run; loads nothing heavy."""
        backend: Generator = load_generator(self.backend, self.options)
        return backend

    def build(self) -> Callable[[Sequence[Order]], list[Kept]]:
        """Load the backend; the result makes and keeps a batch."""
        backend = load_generator(self.backend, self.options)

        def work(orders: Sequence[Order]) -> list[Kept]:
            return list(self._kept(backend, orders))

        return work

    def stream(self, orders: Sequence[Order]) -> Iterator[list[Kept]]:
        """Load the backend, give it everything, and keep each image as it comes."""
        backend = load_generator(self.backend, self.options)
        for kept in self._kept(backend, orders):
            yield [kept]

    def kept(self, order: Order) -> Kept | None:
        """What a worker had made of an order when it died; None where nothing is finished."""
        return kept_before(self.files, "images", ImageRow, order.job.image_id, order.attempt)

    def given_up(self, order: Order, reason: str) -> Kept:
        """The row of an order that no worker survives."""
        made = Made(image_id=order.job.image_id, status="error", reason=reason)
        return self._keep(order, made, 0.0)

    def _kept(self, backend: Any, orders: Sequence[Order]) -> Iterator[Kept]:
        settings = backend.settings()
        for order, made, seconds in _made(backend, orders):
            finished = self._finished(backend, settings, order, made)
            yield self._keep(order, finished, seconds)

    def _finished(
        self, backend: Any, settings: Mapping[str, Any], order: Order, made: Made
    ) -> Finished:
        """Look at what was made, try the backend's cure if there is nothing to see, and encode."""
        found = self._encoded(backend, settings, order, made)
        cure = getattr(backend, "cure", None)
        if found.made.status != BLANK or cure is None:
            return found
        fault = found.made.reason or BLANK
        again = cure(order.job, fault)
        if again is None:
            return found
        better = self._encoded(backend, settings, order, again)
        if better.made.status != OK:
            return found
        kept = image_path(self.generator, order, f".{BLANK}{found.suffix}") if found.data else None
        if kept and found.data:
            self.files.keep(kept, found.data)
        cured = {**better.made.provenance, "cured": {"fault": fault, "first": kept}}
        return replace(better, made=replace(better.made, provenance=cured))

    def _encoded(
        self, backend: Any, settings: Mapping[str, Any], order: Order, made: Made
    ) -> Finished:
        if made.status not in (OK, BLANK) or (made.status == BLANK and not _has_picture(made)):
            return Finished(made)
        try:
            picture = masters.picture_of(made.image, made.data)
        except masters.NotAPicture as error:
            return Finished(replace(made, status="error", reason=f"no picture: {error}"))
        if made.status == OK:
            looked_at = picture.image if made.image is None else made.image
            fault = quality.blemish(looked_at)
            made = made if fault is None else replace(made, status=BLANK, reason=fault)
        origin = masters.Origin(
            image_id=order.job.image_id,
            generator=self.generator,
            seed=order.job.seed,
            model=_told("model", made, settings),
            revision=_told("revision", made, settings),
            source_type=getattr(backend, "source_type", masters.TRAINED),
        )
        data = masters.master(picture, made.data, masters.packet(origin), self.kind)
        pixels = quality.pixels_sha256(picture.image)
        came_as = {} if picture.format in (None, "PNG") else {"delivered_as": picture.format}
        provenance = {**made.provenance, **came_as, "pixels": pixels}
        return Finished(replace(made, provenance=provenance), data, picture.image.size)

    def _keep(self, order: Order, finished: Finished, seconds: float) -> Kept:
        path, made = None, finished.made
        if finished.data is not None:
            path = image_path(self.generator, order, finished.suffix)
            if made.truth is not None:
                truth = canonical_json(made.truth).encode()
                self.files.keep(path.rpartition(".")[0] + TRUTH_SUFFIX, truth)
            self.files.keep(path, finished.data)
        row = self._row(order, finished, seconds, path)
        return Kept(row, self.files.keep_receipt("images", row))

    def _row(
        self, order: Order, finished: Finished, seconds: float, path: str | None
    ) -> ImageRow:
        prompt, made = order.prompt, finished.made
        return ImageRow(
            image_id=order.job.image_id,
            attempt=order.attempt,
            prompt_id=prompt.prompt_id,
            generator=self.generator,
            generator_fingerprint=self.fingerprint,
            role=prompt.role,
            condition=prompt.condition,
            variant=f"{prompt.base}/{prompt.variant}",
            seed=order.job.seed,
            replicate=order.replicate,
            status=made.status,
            reason=made.reason,
            path=path,
            sha256=None if finished.data is None else bytes_sha256(finished.data),
            width=None if finished.size is None else finished.size[0],
            height=None if finished.size is None else finished.size[1],
            seconds=round(seconds, 4),
            created_at=utc_now(),
            provenance={
                **made.provenance,
                "contextbias": __version__,
                "python": platform.python_version(),
                "host": platform.node(),
            },
        )


def _has_picture(made: Made) -> bool:
    return made.image is not None or made.data is not None


def _told(key: str, made: Made, settings: Mapping[str, Any]) -> str | None:
    """What the backend says of one image, or of all, where that is a text."""
    value = made.provenance.get(key, settings.get(key))
    return value if isinstance(value, str) and value else None


def image_path(generator: str, order: Order, suffix: str) -> str:
    """Where an image goes, relative to the study: readable, and never shared by two images."""
    prompt = order.prompt
    folders = (generator, prompt.condition, prompt.role, f"{prompt.base}_{prompt.variant}")
    name = f"{order.job.seed}-{order.job.image_id[:8]}{suffix}"
    return "/".join(["images", *(_in_path(folder) for folder in folders), name])


def _in_path(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "_", text).strip(".") or "_"


def _made(backend: Any, orders: Sequence[Order]) -> Iterator[tuple[Order, Made, float]]:
    """Give the batch to the backend; what it does not answer for, or fails on, is an error row."""
    waiting = {order.job.image_id: order for order in orders}
    reason = "the backend returned nothing for this job"
    began = time.perf_counter()
    try:
        for made in backend.generate([order.job for order in orders]):
            seconds, began = time.perf_counter() - began, time.perf_counter()
            own = seconds if made.seconds is None else made.seconds
            yield waiting.pop(made.image_id), made, own
    except (ContextBiasError, KeyboardInterrupt):
        raise
    except Exception as error:  # a failing item is a row, whatever failed
        reason = f"{type(error).__name__}: {error}"
    for image_id, order in waiting.items():
        yield order, Made(image_id=image_id, status="error", reason=reason), 0.0
