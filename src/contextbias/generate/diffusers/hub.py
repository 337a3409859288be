"""Where a model's files are: a folder of this machine, or a repository and its local cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextbias.errors import ContextBiasError, MissingPart
from contextbias.generate.diffusers.options import DiffusersOptions
from contextbias.generate.diffusers.profiles import Profile, is_folder
from contextbias.ids import bytes_sha256, content_hash

_COMMIT_LENGTH = 40  # hex digits of a commit's hash
_LOOKED_AT = 1 << 16  # bytes of each end of a file that its fingerprint covers


@dataclass(frozen=True, slots=True)
class Source:
    """One model's files."""

    location: str
    """A path, or ``owner/name``."""
    revision: str
    """Branch, tag or commit of a repository."""
    variant: str | None = None
    """Suffix of the weight files."""
    page: str | None = None
    """Where a repository is described."""

    @property
    def local(self) -> bool:
        """Whether it is a folder of this machine."""
        return is_folder(self.location)

    @property
    def pinned(self) -> bool:
        """Whether the revision can mean only one state of the files."""
        return self.local or _is_commit(self.revision)

    def folder(self, *, offline: bool = False) -> Path:
        """The whole model, fetched if it is not there yet.

        Raises:
            MissingPart: It is not there and cannot be fetched; says why, and what to do.
        """
        if self.local:
            return Path(self.location).expanduser()
        from diffusers import DiffusionPipeline

        try:
            found = DiffusionPipeline.download(
                self.location,
                revision=self.revision,
                variant=self.variant,
                local_files_only=offline,
            )
        except Exception as error:
            raise self._missing(error) from None
        return Path(found)

    def tokenizers(self, *, offline: bool = False) -> Path:
        """A folder with model_index.json and the tokenizers, some megabytes; raises as above."""
        if self.local:
            return Path(self.location).expanduser()
        from huggingface_hub import snapshot_download

        try:
            found = snapshot_download(
                self.location,
                revision=self.revision,
                allow_patterns=["model_index.json", "tokenizer*/*"],
                local_files_only=offline,
            )
        except Exception as error:
            raise self._missing(error) from None
        return Path(found)

    def in_cache(self) -> bool:
        """Whether the model's table of contents and a weight file are on this machine."""
        if self.local:
            return (Path(self.location).expanduser() / "model_index.json").is_file()
        from huggingface_hub import try_to_load_from_cache

        found = try_to_load_from_cache(self.location, "model_index.json", revision=self.revision)
        if not isinstance(found, str):
            return False
        return any(Path(found).parent.rglob("*.safetensors"))

    def _missing(self, error: Exception) -> ContextBiasError:
        names = {type(each).__name__ for each in _chain(error)}
        where = f"{self.location} (revision {self.revision})"
        if "GatedRepoError" in names:
            return MissingPart(
                f"the weights of {self.location} are given out only to those who accepted their"
                " licence",
                f"accept it at {self.page}, and put an access token of that account into HF_TOKEN",
            )
        if names & {"RepositoryNotFoundError", "RevisionNotFoundError", "EntryNotFoundError"}:
            return MissingPart(f"{where} is not on huggingface.co", "correct model and revision")
        return MissingPart(
            f"the weights of {where} are not on this machine and cannot be fetched ({error})",
            "connect it once, or copy a snapshot here and name its folder as `model`",
        )


def source_of(options: DiffusersOptions, profile: Profile, dtype: str) -> Source:
    """Where the model of study.toml is."""
    own = options.model == profile.name or profile.is_published_as(options.model)
    location = str(profile.repository) if own else options.model
    variant = profile.variant if own and dtype == profile.dtype else None
    revision = options.revision or (profile.revision if own else None) or "main"
    page = None if is_folder(location) else f"https://huggingface.co/{location}"
    return Source(location, revision, variant, page)


def identity(source: Source, folder: Path) -> dict[str, Any]:
    """What was really loaded: the commit of a repository, or a fingerprint of a folder's files.

    The fingerprint covers the pipeline's table of contents and, of each of its parts, names, sizes
    and both ends of every file: enough to tell two versions of weights apart without reading all of
    them. What else lies in the folder (a page about the model, samples) does not count.
    """
    if not source.local:
        commit = folder.name if _is_commit(folder.name) else None
        return {"model": source.location, "revision": commit or source.revision}
    parts = [
        [path.relative_to(folder).as_posix(), path.stat().st_size, _ends(path)]
        for path in sorted(_of_the_pipeline(folder))
        if path.is_file() and not path.name.startswith(".")
    ]
    return {"model": str(folder.resolve()), "revision": f"files {content_hash(parts)}"}


def _of_the_pipeline(folder: Path) -> Iterator[Path]:
    index = folder / "model_index.json"
    yield index
    parts = json.loads(index.read_text("utf-8"))
    for name, entry in parts.items():
        if isinstance(entry, list):
            yield from (folder / name).rglob("*")


def token() -> str | None:
    """The access token of huggingface.co, from HF_TOKEN or the file that a login writes."""
    from huggingface_hub import get_token

    found: str | None = get_token()
    return found


def _ends(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
        file.seek(max(0, path.stat().st_size - _LOOKED_AT))
        return bytes_sha256(head + file.read())


def _is_commit(text: str) -> bool:
    return len(text) == _COMMIT_LENGTH and set(text) <= set("0123456789abcdef")


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
