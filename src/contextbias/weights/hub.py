"""Models of huggingface.co: their copies on this machine, and folders that somebody saved.

What the backends of open models share, whether they draw or read. The hub's library is loaded only
where something is looked up.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from contextbias.errors import MissingPart
from contextbias.ids import bytes_sha256, content_hash

_COMMIT_LENGTH = 40  # hex digits of a commit's hash
_LOOKED_AT = 1 << 16  # bytes of each end of a file that its fingerprint covers
_NOT_THERE = {"RepositoryNotFoundError", "RevisionNotFoundError", "HFValidationError"}
_NOT_KEPT = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model's files are."""

    location: str
    """The path of a folder, or a repository (``owner/name``)."""
    revision: str = "main"
    """Branch, tag or commit of a repository."""

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of this machine."""
        return is_folder(self.location)

    @property
    def is_pinned(self) -> bool:
        """Whether the revision can mean only one state of the files."""
        return self.is_folder or is_commit(self.revision)

    @property
    def path(self) -> Path:
        """Of a folder of this machine."""
        return Path(self.location).expanduser()

    @property
    def page(self) -> str:
        """Where a repository is described, and its licence accepted."""
        return f"https://huggingface.co/{self.location}"

    def snapshot(
        self, wanted: Sequence[str], unwanted: Sequence[str] = (), *, offline: bool = False
    ) -> Path:
        """A repository's files on this machine, fetched if they are not there yet.

        Args:
            wanted: Patterns of their names.
            unwanted: Patterns of those among them that are left out.
            offline: Take what is here, and fetch nothing.

        Raises:
            MissingPart: They are not here and cannot be fetched; says why, and what to do.
        """
        from huggingface_hub import snapshot_download

        try:
            found = snapshot_download(
                self.location,
                revision=self.revision,
                allow_patterns=list(wanted),
                ignore_patterns=list(unwanted),
                local_files_only=offline,
            )
        except Exception as error:  # of the hub, of HTTP, of the disk
            raise self.missing(error) from None
        return Path(found)

    def identity(self, folder: Path, files: Iterable[Path]) -> dict[str, str]:
        """What was really loaded: the commit of a repository, or a fingerprint of a folder's files.

        The fingerprint covers names, sizes and both ends of every file: enough to tell two versions
        of weights apart without reading all of them.

        Args:
            folder: Where the files are.
            files: Those that count; hidden ones do not.
        """
        if not self.is_folder:
            commit = folder.name if is_commit(folder.name) else self.revision
            return {"model": self.location, "revision": commit}
        parts = [
            [path.relative_to(folder).as_posix(), path.stat().st_size, _ends(path)]
            for path in sorted(files)
            if path.is_file() and not path.name.startswith(".")
        ]
        return {"model": str(folder.resolve()), "revision": f"files {content_hash(parts)}"}

    def missing(self, error: Exception) -> MissingPart:
        """What to tell where its files could not be had."""
        chain = _chain(error)
        names = {type(each).__name__ for each in chain}
        where = f"{self.location} (revision {self.revision})"
        if "GatedRepoError" in names:
            return MissingPart(
                f"the weights of {self.location} are given out only to those who accepted their"
                " licence",
                f"accept it at {self.page}, and put an access token of that account into HF_TOKEN",
            )
        if names & _NOT_THERE:
            return MissingPart(f"{where} is not on huggingface.co", "correct model and revision")
        if "EntryNotFoundError" in names:
            return MissingPart(
                f"{where} lacks a file of a saved model ({error})", "correct model and revision"
            )
        if any(isinstance(each, OSError) and each.errno in _NOT_KEPT for each in chain):
            return MissingPart(
                f"the weights of {where} cannot be kept on this machine ({error})",
                "make room, or let HF_HOME name a folder that can be written",
            )
        return MissingPart(
            f"the weights of {where} are not on this machine and cannot be fetched ({error})",
            "connect it once, or copy a snapshot here and name its folder as `model`",
        )

    def warnings(self, items: str) -> Iterator[str]:
        """What may change while a study runs, for the plan.

        Args:
            items: What names the commit that was loaded, as in "images".
        """
        if not self.is_pinned:
            yield (
                f"revision {self.revision!r} of {self.location} is not pinned: it may change while"
                f" the study runs; write the commit that the first {items} name"
            )


def is_folder(model: str) -> bool:
    """Whether `model` means a folder of this machine rather than a repository."""
    looks_so = model.startswith(("/", ".", "~")) or model.count("/") > 1
    return looks_so or Path(model).is_dir()


def is_commit(text: str) -> bool:
    """Whether a revision is a commit's whole hash."""
    return len(text) == _COMMIT_LENGTH and set(text) <= set("0123456789abcdef")


def has_token() -> bool:
    """Whether there is an access token, from HF_TOKEN or the file that a login writes."""
    from huggingface_hub import get_token

    return get_token() is not None


def quiet() -> None:
    """No progress bars and hints of transformers and the hub: errors and notes say what matters."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)


def _ends(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(_LOOKED_AT)
        file.seek(max(0, path.stat().st_size - _LOOKED_AT))
        return bytes_sha256(head + file.read())


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found
