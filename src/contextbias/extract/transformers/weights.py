"""Where a model's files are: a folder of this machine, or a repository and its local cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from contextbias.errors import MissingPart
from contextbias.ids import bytes_sha256, content_hash

_COMMIT_LENGTH = 40  # hex digits of a commit's hash
_LOOKED_AT = 1 << 16  # bytes of each end of a file that its fingerprint covers
_WANTED = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
# The same weights once more, in other forms.
_UNWANTED = ["original/*", "consolidated*", "onnx/*", "gguf/*"]


@dataclass(frozen=True, slots=True)
class Source:
    """One model's files."""

    location: str
    """A path, or ``owner/name``."""
    revision: str = "main"
    """Branch, tag or commit of a repository."""

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of this machine."""
        return self.location.startswith(("/", ".", "~")) or Path(self.location).is_dir()

    @property
    def is_pinned(self) -> bool:
        """Whether the revision can mean only one state of the files."""
        return self.is_folder or _is_commit(self.revision)

    def folder(self, *, offline: bool = False) -> Path:
        """The whole model, fetched if it is not there yet.

        Args:
            offline: Take what is on this machine, and fetch nothing.

        Raises:
            MissingPart: It is not there and cannot be fetched; says why, and what to do.
        """
        if self.is_folder:
            return self._own_folder()
        from huggingface_hub import snapshot_download

        try:
            found = snapshot_download(
                self.location,
                revision=self.revision,
                allow_patterns=_WANTED,
                ignore_patterns=_UNWANTED,
                local_files_only=offline,
            )
        except Exception as error:  # of the hub, of HTTP, of the disk
            raise self._missing(error) from None
        return Path(found)

    def here(self) -> Path | None:
        """The model's folder where its weights are on this machine; fetches nothing."""
        try:
            folder = self.folder(offline=True)
        except MissingPart:
            return None
        return folder if weight_bytes(folder) else None

    def identity(self, folder: Path) -> dict[str, str]:
        """What was really loaded: the commit, or a fingerprint of a folder's files.

        The fingerprint covers names, sizes and both ends of every file: enough to tell two
        versions of weights apart without reading all of them.
        """
        if not self.is_folder:
            commit = folder.name if _is_commit(folder.name) else self.revision
            return {"model": self.location, "revision": commit}
        parts = [
            [path.relative_to(folder).as_posix(), path.stat().st_size, _ends(path)]
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.startswith(".")
        ]
        return {"model": str(folder.resolve()), "revision": f"files {content_hash(parts)}"}

    def _own_folder(self) -> Path:
        folder = Path(self.location).expanduser()
        if not (folder / "config.json").is_file():
            seen = "it has no config.json" if folder.is_dir() else "there is no such folder"
            raise MissingPart(
                f"{self.location} holds no saved model: {seen}", "correct the path in `model`"
            )
        return folder

    def _missing(self, error: Exception) -> MissingPart:
        names = {type(each).__name__ for each in _chain(error)}
        where = f"{self.location} (revision {self.revision})"
        page = f"https://huggingface.co/{self.location}"
        if "GatedRepoError" in names:
            return MissingPart(
                f"the weights of {self.location} are given out only to those who accepted their"
                " licence",
                f"accept it at {page}, and put an access token of that account into HF_TOKEN",
            )
        if names & {"RepositoryNotFoundError", "RevisionNotFoundError", "HFValidationError"}:
            return MissingPart(f"{where} is not on huggingface.co", "correct model and revision")
        return MissingPart(
            f"the weights of {where} are not on this machine and cannot be fetched ({error})",
            "connect it once, or copy a snapshot here and name its folder as `model`",
        )


def weight_bytes(folder: Path) -> int:
    """Bytes of a folder's weight files."""
    return sum(path.stat().st_size for path in folder.glob("*.safetensors"))


def has_token() -> bool:
    """Whether there is an access token, from HF_TOKEN or the file that a login writes."""
    from huggingface_hub import get_token

    return get_token() is not None


def _ends(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
        file.seek(max(0, path.stat().st_size - _LOOKED_AT))
        return bytes_sha256(head + file.read())


def _is_commit(text: str) -> bool:
    return len(text) == _COMMIT_LENGTH and set(text) <= set("0123456789abcdef")


def _chain(error: BaseException | None) -> list[Any]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
