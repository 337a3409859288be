"""Where a pipeline's files are: a folder of this machine, or a repository and its local cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from contextbias.generate.diffusers.options import DiffusersOptions
from contextbias.generate.diffusers.profiles import Profile
from contextbias.weights.hub import Source

_INDEX = "model_index.json"
_WEIGHTS = (".safetensors", ".bin")


@dataclass(frozen=True, slots=True)
class PipelineSource(Source):
    """One pipeline's files."""

    variant: str | None = None
    """Suffix of the weight files in a repository."""

    def folder(self) -> Path:
        """The whole pipeline, fetched if it is not there yet.

        Raises:
            MissingPart: It is not there and cannot be fetched; says why, and what to do.
        """
        if self.is_folder:
            return self.path
        from diffusers import DiffusionPipeline

        try:
            found = DiffusionPipeline.download(
                self.location, revision=self.revision, variant=self.variant
            )
        except Exception as error:  # of the hub, of HTTP, of the disk
            raise self.missing(error) from None
        return Path(found)

    def tokenizers(self, *, offline: bool = False) -> Path:
        """A folder with model_index.json and the tokenizers, some megabytes; raises as above."""
        if self.is_folder:
            return self.path
        return self.snapshot([_INDEX, "tokenizer*/*"], offline=offline)

    def is_here(self) -> bool:
        """Whether the pipeline's table of contents and a weight file are on this machine."""
        if self.is_folder:
            folder = self.path
        else:
            from huggingface_hub import try_to_load_from_cache

            found = try_to_load_from_cache(self.location, _INDEX, revision=self.revision)
            if not isinstance(found, str):
                return False
            folder = Path(found).parent
        return (folder / _INDEX).is_file() and any(
            path.suffix in _WEIGHTS for path in folder.glob("*/*")
        )

    def loaded(self, folder: Path) -> dict[str, str]:
        """What was really loaded from `folder`; see `Source.identity`.

        Of a folder, the pipeline's table of contents and its parts count. What else lies there (a
        page about the model, samples) does not.
        """
        return self.identity(folder, _of_the_pipeline(folder) if self.is_folder else ())


def source_of(options: DiffusersOptions, profile: Profile, dtype: str) -> PipelineSource:
    """Where the model of study.toml is."""
    own = options.model == profile.name or profile.is_published_as(options.model)
    location = str(profile.repository) if own else options.model
    variant = profile.variant if own and dtype == profile.dtype else None
    revision = options.revision or (profile.revision if own else None) or "main"
    return PipelineSource(location, revision, variant)


def _of_the_pipeline(folder: Path) -> Iterator[Path]:
    index = folder / _INDEX
    yield index
    parts = json.loads(index.read_text("utf-8"))
    for name, entry in parts.items():
        if isinstance(entry, list):
            yield from (folder / name).rglob("*")
