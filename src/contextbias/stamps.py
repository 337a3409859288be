"""What each derived part of a study was made from, and whether its files are still those.

``derived/fingerprints.json`` holds, for attributes, planted, estimates and report, the fingerprint
of what went in and the SHA-256 of each file that came out. A part whose files were deleted, cut
short or edited counts as not made, so that the next run makes it again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from contextbias.files import StudyFiles, unreadable
from contextbias.ids import bytes_sha256, canonical_json, file_sha256

STAMPS = "derived/fingerprints.json"
"""Where the stamps are, below the study's root."""


class Stamps:
    """The stamps of one study.

    Args:
        files: The study's files.
    """

    def __init__(self, files: StudyFiles) -> None:
        self._files = files

    def get(self, part: str) -> str | None:
        """The fingerprint of `part`; None when it is not there whole and as it was written."""
        stamp = self._known().get(part)
        if not isinstance(stamp, dict) or not isinstance(stamp.get("files"), dict):
            return None
        if not all(self._is_unchanged(name, seen) for name, seen in stamp["files"].items()):
            return None
        made_from = stamp.get("made_from")
        return made_from if isinstance(made_from, str) else None

    def keep(self, part: str, fingerprint: str, files: Mapping[str, bytes]) -> None:
        """Write the files of `part` (paths below the root), then its stamp."""
        for name, data in files.items():
            self._files.keep(name, data)
        hashes = {name: bytes_sha256(data) for name, data in files.items()}
        stamp = {"made_from": fingerprint, "files": hashes}
        self._write({**self._known(), part: stamp})

    def drop(self, part: str) -> None:
        """Remove the files of `part` and its stamp."""
        known = self._known()
        stamp = known.pop(part, None)
        if stamp is None:
            return
        self._write(known)
        for name in stamp["files"] if isinstance(stamp, dict) else ():
            (self._files.root / name).unlink(missing_ok=True)

    def _known(self) -> dict[str, Any]:
        # What cannot be understood only costs that the derived parts are made once more.
        path = self._files.root / STAMPS
        try:
            known = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return {}
        except OSError as error:
            raise unreadable(path, error) from None
        return known if isinstance(known, dict) else {}

    def _is_unchanged(self, name: str, seen: object) -> bool:
        try:
            return file_sha256(self._files.root / name) == seen
        except OSError:
            return False

    def _write(self, known: Mapping[str, Any]) -> None:
        self._files.keep(STAMPS, canonical_json(known).encode())
