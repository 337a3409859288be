"""Where a model's files are: a folder of this machine, or a repository and its local cache."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from contextbias.errors import MissingPart
from contextbias.weights.hub import Source

_WANTED = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
# The same weights once more, in other forms.
_UNWANTED = ["original/*", "consolidated*", "onnx/*", "gguf/*"]


@dataclass(frozen=True, slots=True)
class ModelSource(Source):
    """One model's files."""

    def folder(self, *, offline: bool = False) -> Path:
        """The whole model, fetched if it is not there yet.

        Args:
            offline: Take what is on this machine, and fetch nothing.

        Raises:
            MissingPart: It is not there and cannot be fetched; says why, and what to do.
        """
        if not self.is_folder:
            return self.snapshot(_WANTED, _UNWANTED, offline=offline)
        if not (self.path / "config.json").is_file():
            seen = "it has no config.json" if self.path.is_dir() else "there is no such folder"
            raise MissingPart(
                f"{self.location} holds no saved model: {seen}", "correct the path in `model`"
            )
        return self.path

    def here(self) -> Path | None:
        """The model's folder where its weights are on this machine; fetches nothing."""
        try:
            folder = self.folder(offline=True)
        except MissingPart:
            return None
        return folder if weight_bytes(folder) else None

    def loaded(self, folder: Path) -> dict[str, str]:
        """What was really loaded from `folder`; see `Source.identity`."""
        return self.identity(folder, folder.rglob("*") if self.is_folder else ())


def weight_bytes(folder: Path) -> int:
    """Bytes of a folder's weight files; of those in the older form where there are no others."""
    for pattern in ("*.safetensors", "pytorch_model*.bin"):
        if found := sum(path.stat().st_size for path in folder.glob(pattern)):
            return found
    return 0
