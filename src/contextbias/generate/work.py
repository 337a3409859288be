"""From prompts to jobs, and what a worker does with a batch of them."""

from __future__ import annotations

import platform
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from contextbias import __version__
from contextbias.errors import ContextBiasError, InputError
from contextbias.files import TRUTH_SUFFIX, StudyFiles
from contextbias.generate.finishing import Finished, cured, finished
from contextbias.generate.origin import TRAINED, Kind, Origin
from contextbias.generate.protocol import Generator, Job, Made
from contextbias.ids import (
    bytes_sha256,
    canonical_json,
    content_hash,
    image_seed,
    storable,
    storable_text,
)
from contextbias.interrupts import finish_up, hurry
from contextbias.registry import load_generator
from contextbias.tables import BLANK, ImageRow, Prompt
from contextbias.worklist import Kept, kept_before, utc_now

if TYPE_CHECKING:
    from contextbias.providers.session import Session


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


_DEEPEST = 50
_TOO_DEEP = "left out: it is nested too deeply"

_Found = tuple[Order, Finished, float]
"""An order, what came of it, and the seconds that it took."""


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
    kind: Kind = "png"
    """Format of the files."""
    session: Session | None = None
    """What a generator that costs money is told; see `providers.session`."""
    revisions: tuple[str, ...] = ()
    """Revisions of the model by which images of this generator are there, as backends tell it."""

    def backend_for_scheduling(self) -> Generator:
        """The backend, built in the driver to ask how it likes to be run; loads nothing heavy."""
        backend: Generator = self._load()
        return backend

    def build(self) -> Callable[[Sequence[Order]], list[Kept]]:
        """Load the backend; the result makes and keeps a batch."""
        backend = self._load()
        settings = backend.settings()

        def work(orders: Sequence[Order]) -> list[Kept]:
            return list(self._kept(backend, settings, orders))

        return work

    def stream(self, orders: Sequence[Order]) -> Iterator[list[Kept]]:
        """Load the backend, give it everything, and keep each image as it comes."""
        backend = self._load()
        if self.session is not None:
            backend.begin(self.session)
        unkept, fault = [], None
        try:
            for found in self._found(backend, backend.settings(), orders):
                try:
                    kept = self._keep(*found)
                except Exception as error:
                    # A full disk: what is under way may be paid for, so it is waited for.
                    unkept.append(found)
                    fault = fault or error
                    if not finish_up():
                        break  # a backend that would go on to the end
                    continue
                yield [kept]
        except KeyboardInterrupt:
            if fault is None:
                raise
        if fault is not None:
            yield from self._once_more(unkept, fault)
            raise fault

    def kept(self, order: Order) -> Kept | None:
        """What a worker had made of an order when it died; None where nothing is finished."""
        return kept_before(self.files, "images", ImageRow, order.job.image_id, order.attempt)

    def given_up(self, order: Order, reason: str) -> Kept:
        """The row of an order that no worker survives."""
        made = Made(image_id=order.job.image_id, status="error", reason=reason)
        return self._keep(order, Finished(made), 0.0)

    def _load(self) -> Any:
        return load_generator(self.backend, self.options, folder=self.files.root)

    def _once_more(self, unkept: Iterable[_Found], fault: Exception) -> Iterator[list[Kept]]:
        """Keep what could not be kept at first; at least a row, for what was spent on it."""
        for order, found, seconds in unkept:
            reason = f"the picture came, and could not be kept: {fault}"
            made = replace(found.made, status="error", reason=reason)
            for each in (found, Finished(made)):
                with suppress(Exception):  # the first one is told
                    yield [self._keep(order, each, seconds)]
                    break

    def _kept(
        self, backend: Any, settings: Mapping[str, Any], orders: Sequence[Order]
    ) -> Iterator[Kept]:
        for found in self._found(backend, settings, orders):
            yield self._keep(*found)

    def _found(
        self, backend: Any, settings: Mapping[str, Any], orders: Sequence[Order]
    ) -> Iterator[_Found]:
        for order, made, seconds in _made(backend, orders):
            self._refuse_other_weights(made)
            origin = self._origin(backend, settings, order, made)
            found = finished(made, origin, self.kind)
            if found.made.status == BLANK and hasattr(backend, "cure"):
                found = cured(found, partial(backend.cure, order.job), origin, self.kind)
            yield order, found, seconds

    def _refuse_other_weights(self, made: Made) -> None:
        """Raise InputError for a picture by other weights than those of the rows there are."""
        revision = made.provenance.get("revision")
        if not self.revisions or revision is None or revision in self.revisions:
            return
        raise InputError(
            f"the model of the generator {self.generator!r} is not what it was: it is"
            f" {revision!r} now, and the images so far were made by {' and '.join(self.revisions)}",
            "bring back the earlier files to go on; or, for images by those of now, set revision in"
            " its options, which makes it another generator",
        )

    def _origin(
        self, backend: Any, settings: Mapping[str, Any], order: Order, made: Made
    ) -> Origin:
        return Origin(
            image_id=order.job.image_id,
            generator=self.generator,
            seed=order.job.seed,
            model=_told("model", made, settings),
            revision=_told("revision", made, settings),
            source_type=getattr(backend, "source_type", TRAINED),
        )

    def _keep(self, order: Order, found: Finished, seconds: float) -> Kept:
        path, made = None, found.made
        if found.first is not None and found.first.data is not None:
            beside = image_path(self.generator, order, f".{BLANK}{found.first.suffix}")
            self.files.keep(beside, found.first.data)
        if found.data is not None:
            path = image_path(self.generator, order, found.suffix)
            if made.truth is not None:
                truth = canonical_json(made.truth).encode()
                self.files.keep(path.rpartition(".")[0] + TRUTH_SUFFIX, truth)
            self.files.keep(path, found.data)
        row = self._row(order, found, seconds, path)
        return Kept(row, self.files.keep_receipt("images", row))

    def _row(self, order: Order, found: Finished, seconds: float, path: str | None) -> ImageRow:
        prompt, made = order.prompt, found.made
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
            reason=storable(made.reason),
            path=path,
            sha256=None if found.data is None else bytes_sha256(found.data),
            width=None if found.size is None else found.size[0],
            height=None if found.size is None else found.size[1],
            seconds=round(seconds, 4),
            created_at=utc_now(),
            provenance={
                **_provenance(made.provenance),
                "contextbias": __version__,
                "python": platform.python_version(),
                "host": platform.node(),
            },
        )


def _provenance(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a backend says about a picture, in a form that can be kept whatever it is."""
    kept = {n: _TOO_DEEP if _is_deep(value) else value for n, value in told.items()}
    found: dict[str, Any] = storable(kept)
    return found


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list | tuple)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


def _told(key: str, made: Made, settings: Mapping[str, Any]) -> str | None:
    """What the backend says of one image, or of all, where that is a text."""
    value = made.provenance.get(key, settings.get(key))
    if not isinstance(value, str) or not value:
        return None
    value = storable_text(value)
    # Of a model on this machine, its name says enough to whom the picture reaches.
    return PurePath(value).name if PurePath(value).is_absolute() else value


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
    if hurry.is_set():
        return  # what was not begun is made by the next run
    for image_id, order in waiting.items():
        yield order, Made(image_id=image_id, status="error", reason=reason), 0.0
