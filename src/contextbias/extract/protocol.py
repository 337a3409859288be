"""The seam between the pipeline and a reader: an image in, a raw reading out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from contextbias.forecast import Forecast
from contextbias.tables import OK

if TYPE_CHECKING:
    from contextbias.providers.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What a reader may know about an image: its file. Prompt, role and condition stay away."""

    image_id: str
    """For seeding a reader that draws random numbers."""
    path: Path
    """The file, absolute, under a name that says nothing about what was asked for; gone once its
    reading is given. Look at its pixels alone (`contextbias.pictures.decode_picture`): a file that
    was not made here may have its prompt in it."""
    key: str = ""
    """Tells this reading from every other, for good: a hash of the reader, its settings and the
    file's content. Empty where readings are not kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawReading:
    """What a reader said about one picture."""

    status: str = OK
    """``ok``, ``refused``, ``filtered``, ``truncated``, ``invalid``, ``corrupt`` or ``error``."""
    reason: str | None = None
    """Why not ``ok``, in words."""
    record: dict[str, Any] | None = None
    """A record of schema version 1 (see schema/records.py); None unless ``ok``."""
    raw: dict[str, Any] = field(default_factory=dict)
    """Boxes, confidences, the untouched answer: JSON, kept for ever."""
    seconds: float | None = None
    """What this reading took, where the reader works on several at a time; None: measured."""


class Reader(Protocol):
    """One method: a picture in, a raw reading out."""

    parallel: str
    """``processes`` (heavy on the CPU), ``devices`` (heavy on a GPU), ``threads`` (waits or
    releases the lock) or ``none``."""

    def settings(self) -> dict[str, Any]:
        """Everything that decides the answers, as JSON; its hash is part of every reading's id."""
        ...

    def readable(self) -> dict[str, tuple[str, ...] | None]:
        """Dimension -> the labels that it can tell apart (None: all of them).

        A dimension left out cannot be read: its answers must be ``unknown``.
        """
        ...

    def read(self, picture: Picture) -> RawReading:
        """Read one picture; a failure is a row, not an exception."""
        ...


class BatchReader(Protocol):
    """A reader that reads several pictures at a time. Optional; it has `settings`, `readable` and
    `read` as well."""

    parallel: str
    """As above, or ``stream``: one instance in the driver is given all pictures at once, and looks
    after its own concurrency; where it has an attribute ``concurrency``, `contextbias plan` takes
    so many at a time."""
    batch_size: int
    """How many pictures it likes to be given at a time, unless it is a ``stream``."""

    def read_many(self, pictures: Iterable[Picture]) -> Iterator[tuple[str, RawReading]]:
        """Read every picture, in any order; a failure is a row, not an exception.

        A ``stream`` yields as answers come. On KeyboardInterrupt it yields what is under way and
        paid for, and raises again.

        Yields:
            (image id, reading).

        Raises:
            Incomplete: Nothing more can be read now (a budget, a key, a quota). What was yielded
                is kept, and pictures without an answer stay pending.
        """
        ...


FINISHED = 20
"""So many finished readings replace what a reader expects by what was measured."""


class MeasuringReader(Protocol):
    """A reader that can say it better once readings are finished. Optional."""

    def plan_after(
        self, pictures: int, finished: Sequence[tuple[dict[str, Any], float]]
    ) -> Forecast:
        """What reading so many pictures will take, from what others took.

        Args:
            pictures: How many are still to be read.
            finished: ``raw`` and seconds of its readings in this study, whatever their status but
                ``error``; at least FINISHED.
        """
        ...


class DeterministicReader(Protocol):
    """A reader that can say the same of a picture every time. Optional; without it, it is taken to
    vary."""

    deterministic: bool
    """It does: reading a picture again (`--repeat`) could only agree, and is left out."""


class ForecastingReader(Protocol):
    """A reader that can say what its readings will take. Optional; `contextbias plan` asks it."""

    def plan(self, pictures: int, pixels: tuple[int, int] | None) -> Forecast:
        """What reading so many pictures is expected to take: quick, and nothing is spent.

        Args:
            pictures: How many are still to be read, those that are not made yet included.
            pixels: Their usual width and height; None where it is not known.
        """
        ...


class InformedReader(Protocol):
    """A ``stream`` that costs money, and is told what was spent. Optional."""

    def begin(self, session: Session) -> None:
        """Be told about the study, once, before the first item and before a plan is asked for; see
        providers/session.py."""
        ...
