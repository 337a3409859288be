"""DiffusersGenerator: jobs in, pictures of an open model out.

Example in study.toml::

    [[generators]]
    name = "SDXL"
    backend = "diffusers"
    options = { model = "sdxl" }
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from contextbias.errors import ConfigError, MissingPart
from contextbias.forecast import Forecast, Requirement
from contextbias.generate.diffusers import needs
from contextbias.generate.diffusers.ahead import ahead
from contextbias.generate.diffusers.hub import source_of
from contextbias.generate.diffusers.options import DiffusersOptions
from contextbias.generate.diffusers.profiles import profile_for
from contextbias.generate.diffusers.recipe import recipe, settings
from contextbias.generate.diffusers.threads import wait_asleep
from contextbias.generate.protocol import Job, Made

if TYPE_CHECKING:
    from contextbias.generate.diffusers.drawing import Drawing

_PULLED = 4  # batches a worker is given at a time: the pause between two pulls is then short
_AHEAD = 8  # pictures that may wait to be encoded: 100 MB at 1024 x 1024


class DiffusersGenerator:
    """A generator (see protocol.py) that runs a pipeline of diffusers on a GPU.

    Args:
        options: The options of study.toml; see `DiffusersOptions`.

    Raises:
        ConfigError: An option is unknown, has a wrong value, or would have no effect.
    """

    parallel = "devices"

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = DiffusersOptions.parse(options, backend="diffusers")
        self._profile = profile_for(self._options.model, self._options.profile)
        self._recipe = recipe(self._options, self._profile)
        self._source = source_of(self._options, self._profile, self._recipe.dtype)
        self._drawing: Drawing | None = None

    @property
    def together(self) -> int:
        """Images of one prompt that should follow each other, to be made in one call."""
        batch = self._options.batch
        return batch if isinstance(batch, int) else self._profile.batch

    @property
    def batch_size(self) -> int:
        """Jobs that a worker is given at a time."""
        return _PULLED * self.together

    @property
    def drawing(self) -> Drawing:
        """The pipeline, loaded when it is first asked for; raises what `loading.load` does."""
        if self._drawing is None:
            needs.installed(self._options)
            wait_asleep()
            from contextbias.generate.diffusers.drawing import Drawing
            from contextbias.generate.diffusers.loading import load

            loaded = load(self._options, self._profile, self._source)
            self._drawing = Drawing(loaded, self._options)
        return self._drawing

    def settings(self) -> dict[str, Any]:
        """Everything that decides the pixels, apart from versions and devices (see facts.py)."""
        source = self._source
        revision = self._options.revision if source.is_folder else source.revision
        return settings(self._options, self._recipe, source.location, revision)

    def check(self, jobs: Sequence[Job]) -> None:
        """Look at all jobs before the first is made, in the driver; loads tokenizers alone.

        Raises:
            ConfigError: A prompt is longer than an encoder takes, or an option does not go with
                the pipeline.
            MissingPart: The tokenizers are not here and cannot be fetched.
        """
        self._check(jobs, offline=False)

    def generate(self, jobs: Sequence[Job]) -> Iterator[Made]:
        """Make the jobs' pictures; the device works ahead while the caller keeps them."""
        drawing = self.drawing
        drawing.refuse(jobs)
        return ahead(lambda: drawing.made(jobs), depth=_AHEAD)

    def cure(self, job: Job, fault: str) -> Made | None:  # noqa: ARG002 - of the protocol
        """Decode a blank picture once more in float32, where that can help; see `Drawing.again`."""
        return self.drawing.again(job)

    def plan(self, jobs: Sequence[Job]) -> Forecast:
        """What the jobs take, and on which conditions; fetches nothing."""
        found = [*needs.notes(self._options, self._recipe, self._source)]
        try:
            needs.installed(self._options)
        except MissingPart as error:
            return needs.forecast(self._recipe, len(jobs), (str(error), *found))
        try:
            self._check(jobs, offline=True)
        except ConfigError as error:
            found.insert(0, f"nothing will be made: {error}")
        except MissingPart:
            found.append("tokens of the prompts are counted once the tokenizers are here")
        return needs.forecast(self._recipe, len(jobs), tuple(found))

    def requirements(self) -> list[Requirement]:
        """What has to be there, for the doctor: (what, ok, found, what to do)."""
        return [*needs.requirements(self._options, self._recipe, self._source)]

    def _check(self, jobs: Sequence[Job], *, offline: bool) -> None:
        needs.installed(self._options)
        from contextbias.generate.diffusers.loading import complete
        from contextbias.generate.diffusers.tokens import encoders, refuse_cut, texts

        folder = self._source.tokenizers(offline=offline)
        made = complete(self._options, self._profile, folder)
        if self._options.overlong == "refuse":
            refuse_cut(encoders(folder, made), texts(made, jobs))
