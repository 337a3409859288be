"""The seam between the pipeline and an image generator: jobs in, images out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from contextbias.forecast import Forecast
from contextbias.tables import OK

if TYPE_CHECKING:
    from contextbias.providers.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One image to be made; everything that a backend may know about it."""

    image_id: str
    """Known before the work; see ids.py."""
    role: str
    """The prompt's role."""
    condition: str
    """The prompt's condition."""
    text: str
    """The prompt."""
    location: str | None
    """The prompt's location, for backends that draw rather than understand."""
    activity: str | None
    """The prompt's activity, likewise."""
    prompt_id: str
    """The prompt's id."""
    seed: int
    """Decides the picture, together with the prompt and the settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What became of one job."""

    image_id: str
    """The job's id."""
    status: str = OK
    """``ok``, ``blank`` (nothing to see in it), ``blocked`` or ``error``."""
    reason: str | None = None
    """Why not ``ok``, in words."""
    image: Any = None
    """The picture, not encoded: a Pillow image, or an array of shape (height, width, 3), of uint8
    or of floats in [0, 1]. It is looked at, and encoded as the study's master (masters.py)."""
    data: bytes | None = None
    """The picture as a file in any format that Pillow reads. Of a PNG the pixel data are kept as
    they are, and everything else is left out. With `image` as well it is not decoded; both then
    have to show the same pixels."""
    truth: dict[str, Any] | None = None
    """The planted record, when the truth is known; stored beside the image."""
    provenance: dict[str, Any] = field(default_factory=dict)
    """Versions, effective settings."""
    seconds: float | None = None
    """What this image took, where the backend works on several at a time; None: since the one
    before it."""


class Generator(Protocol):
    """One method: jobs in, images out.

    A backend is built once a worker from the options in study.toml; unknown or useless options
    raise ConfigError there.
    """

    batch_size: int
    """How many jobs it likes to be given at a time."""
    parallel: str
    """``processes`` (heavy on the CPU), ``devices`` (heavy on a GPU: one process for each, in which
    the backend sees that one alone), ``threads`` (waits for something), ``none``, or ``stream``:
    one instance in the driver is given all jobs at once, and looks after its own concurrency; where
    it has an attribute ``concurrency``, `contextbias plan` takes so many at a time."""

    def settings(self) -> dict[str, Any]:
        """Everything that decides the pixels, as JSON; its hash is part of every image's id."""
        ...

    def generate(self, jobs: Sequence[Job]) -> Iterator[Made]:
        """Make every job's image, in any order; a job that fails is a row, not an exception.

        A ``stream`` yields as images come. On KeyboardInterrupt it yields what is under way and
        paid for, and raises again.

        Raises:
            Incomplete: Nothing more can be made now (a budget, a key, a quota). What was yielded
                is kept, and jobs without an answer stay pending.
        """
        ...


class CuringGenerator(Protocol):
    """A generator that knows what to do about a picture in which there is nothing to see.
    Optional."""

    def cure(self, job: Job, fault: str) -> Made | None:
        """Make the job's picture once more in another way; None where there is no other way.

        Args:
            job: Whose picture came out blank.
            fault: What is wrong with it, in words (see quality.py).
        """
        ...


class LabellingGenerator(Protocol):
    """A generator whose pictures do not come from a trained model. Optional."""

    source_type: str
    """IPTC digital source type that its files carry, such as ``algorithmicMedia``; the default is
    ``trainedAlgorithmicMedia``."""


class ForecastingGenerator(Protocol):
    """A generator that can say what its images will take. Optional; `contextbias plan` asks it."""

    def plan(self, jobs: Sequence[Job]) -> Forecast:
        """What making all of `jobs` is expected to take: quick, and nothing is spent or kept."""
        ...


class InformedGenerator(Protocol):
    """A ``stream`` that costs money, and is told what was spent. Optional."""

    def begin(self, session: Session) -> None:
        """Be told about the study, once, before the first item and before a plan is asked for; see
        providers/session.py."""
        ...
