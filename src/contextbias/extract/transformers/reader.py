"""TransformersReader: a local vision-language model, batches of pictures in, readings out.

Example in study.toml::

    [[readers]]
    name = "local-vlm"
    backend = "transformers"
    options = { model = "owner/name", revision = "a commit" }
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from contextbias.extract.protocol import Picture, RawReading
from contextbias.extract.transformers import needs
from contextbias.extract.transformers.options import TransformersReaderOptions
from contextbias.extract.transformers.weights import ModelSource
from contextbias.extract.vision.instructions import TEMPLATE_VERSION
from contextbias.extract.vision.pictures import sized_picture
from contextbias.forecast import Forecast, Requirement
from contextbias.pictures import UnreadablePicture
from contextbias.schema import DIMENSIONS

if TYPE_CHECKING:
    from contextbias.extract.transformers.answering import Answering, Asked

CORRUPT = "corrupt"
"""Status of a picture that cannot be decoded: the model is not asked."""


class TransformersReader:
    """A reader (see extract/protocol.py) that runs a model of transformers, on a GPU or without.

    Every answer is held to the schema while it is made. The model is loaded at the first picture.

    Args:
        options: The options of study.toml; see `TransformersReaderOptions`.

    Raises:
        ConfigError: An option is unknown or has a wrong value.
    """

    parallel = "devices"

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = chosen = TransformersReaderOptions.parse(options, backend="transformers")
        self._source = ModelSource(chosen.model, chosen.revision or "main")
        self._answering: Answering | None = None
        self._facts: dict[str, Any] = {}

    @property
    def batch_size(self) -> int:
        """Pictures that a worker is given at a time."""
        return self._options.batch

    @property
    def answering(self) -> Answering:
        """The model, loaded when it is first asked for.

        Raises:
            ConfigError: The device is not here, or `max_tokens` leaves no room.
            MissingPart: Packages or weights are not here, or the model is none of the kind.
            Incomplete: It does not fit into the memory.
        """
        if self._answering is None:
            needs.installed()
            from contextbias.extract.transformers.answering import Answering
            from contextbias.extract.transformers.loading import load

            loaded = load(self._options, self._source)
            self._answering = Answering(loaded, self._options)
            instructions = self._options.instructions()
            self._facts = {
                **loaded.facts,
                "request": self._options.request(),
                "template": {"version": TEMPLATE_VERSION, "hash": instructions.hash},
            }
        return self._answering

    def settings(self) -> dict[str, Any]:
        """Everything that decides the answers; see `TransformersReaderOptions.settings`."""
        return self._options.settings()

    def readable(self) -> dict[str, tuple[str, ...] | None]:
        """Every dimension with all its labels; how well is another question."""
        return dict.fromkeys(DIMENSIONS)

    def read(self, picture: Picture) -> RawReading:
        """Read one picture."""
        ((_, reading),) = self.read_many([picture])
        return reading

    def read_many(self, pictures: Iterable[Picture]) -> Iterator[tuple[str, RawReading]]:
        """Read every picture, a batch at a time; raises what `answering` does."""
        answering = self.answering
        from contextbias.extract.transformers.readings import reading

        waiting = iter(pictures)
        while batch := list(islice(waiting, answering.most)):
            asked: list[Asked] = []
            for picture in batch:
                prepared = self._prepared(picture)
                if isinstance(prepared, RawReading):
                    yield picture.image_id, prepared
                else:
                    asked.append(prepared)
            answering.ask(asked)
            for each in asked:
                yield each.picture.image_id, reading(each, self._facts)

    def plan(self, pictures: int, pixels: tuple[int, int] | None) -> Forecast:  # noqa: ARG002 - of the protocol
        """What is known before any reading; fetches and loads nothing."""
        return needs.forecast(self._options, self._source, pictures)

    def plan_after(
        self, pictures: int, finished: Sequence[tuple[dict[str, Any], float]]
    ) -> Forecast:
        """Seconds and tokens from what finished readings took; see extract/protocol.py."""
        return needs.measured(self._options, self._source, pictures, finished)

    def requirements(self) -> list[Requirement]:
        """What has to be there, for the doctor: (what, ok, found, what to do)."""
        return [*needs.requirements(self._options, self._source)]

    def _prepared(self, picture: Picture) -> Asked | RawReading:
        """The picture in the common size, or why it cannot be read."""
        from contextbias.extract.transformers.answering import Asked

        try:
            return Asked(picture, sized_picture(picture.path, size=self._options.size))
        except UnreadablePicture as error:
            return RawReading(status=CORRUPT, reason=str(error))
        except OSError as error:
            reason = f"the file cannot be opened ({error.strerror or error})"
            return RawReading(status="error", reason=reason)
