"""Existing images as a generator's output: which file shows what, and which file is broken.

What a file shows is told by a path pattern, by a manifest, or not at all::

    {generator}/{condition}/{role}/{prompt}/{seed}.png     a pattern; `*` stands for anything
    path,role,condition,generator,prompt,seed              a manifest's columns; path is required

Without either, every image below the folder has role ``all``, condition ``CF`` and generator
``images``. A file that cannot be decoded, or shows nothing, is a row with a reason, never an
exception.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from PIL import Image, UnidentifiedImageError

from contextbias.engines.devices import cores
from contextbias.errors import InputError, nearest
from contextbias.generate.manifest import read_manifest
from contextbias.ids import file_sha256
from contextbias.tables import BLANK, CONDITIONS, OK

SUFFIXES = (
    ".png", ".jpg", ".jpeg", ".jfif", ".webp", ".avif", ".bmp", ".gif", ".tif", ".tiff",
)  # fmt: skip
"""Extensions that are taken for images, in lower or upper case. Of an animation, the first frame
counts."""

NO_IMAGE = "no image by its extension"
"""Why a file is left out that has none of SUFFIXES."""

STUDY_FILE = "study.toml"
"""A folder with this file in it is a study, whose own pictures are not looked at."""

PLACEHOLDERS = ("generator", "condition", "role", "prompt", "seed")
"""What a pattern may name."""

CONDITION_NAMES: Mapping[str, str] = {
    **{condition.lower(): condition for condition in CONDITIONS},
    "context-free_cf": "CF",
    "context-aware_related_ca-r": "CA-R",
    "context-aware_unrelated_ca-u": "CA-U",
}
"""How a condition may be called in a path or a manifest, in lower case."""

_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".7z", ".rar")
_TOKEN = re.compile(r"\{(\w*)\}|(\*)|([^{*]+|\{)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One image file and what it is said to show."""

    path: Path
    """The file, below the scanned folder as the caller named it."""
    generator: str = "images"
    """Which generator made it."""
    condition: str = "CF"
    """``CF``, ``CA-R`` or ``CA-U``."""
    role: str = "all"
    """Which role it was asked for; ``all`` when nobody said."""
    prompt: str | None = None
    """The prompt, or its short name, as the path or the manifest has it."""
    seed: int | None = None
    """The seed, if it is known."""
    status: str = OK
    """``ok``, ``blank`` (nothing to see in it) or ``corrupt``."""
    reason: str | None = None
    """Why it is not ``ok``, in words."""
    sha256: str | None = None
    """Hash of the file; None when there is no file."""
    width: int | None = None
    """Pixels."""
    height: int | None = None
    """Pixels."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was not taken for one of the images."""

    path: Path
    """The file."""
    why: str
    """In words."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Everything that was seen in a folder."""

    found: tuple[Found, ...]
    """Images, sorted by path (with a manifest: in its order)."""
    skipped: tuple[Skipped, ...]
    """Other files, studies and links to folders, sorted by path; what is hidden is not looked
    at."""


def scan(root: Path, *, pattern: str | None = None, manifest: Path | None = None) -> list[Found]:
    """The images of a folder; see `survey`, which also tells what was left out."""
    return list(survey(root, pattern=pattern, manifest=manifest).found)


def survey(root: Path, *, pattern: str | None = None, manifest: Path | None = None) -> Survey:
    """Look through a folder of images; each one is decoded once, to be sure that it can be.

    Args:
        root: The folder.
        pattern: Path of an image below `root`, with ``/`` between folders. ``{generator}``,
            ``{condition}``, ``{role}``, ``{prompt}`` and ``{seed}`` (digits) are read from it,
            ``*`` is any text within a name, and a final ``.*`` any extension in SUFFIXES.
        manifest: A CSV, TSV or JSONL file; its paths are relative to `root` or absolute.

    Raises:
        InputError: No such folder, an unusable pattern or manifest, nothing that matches, or no
            image in which there is something to see.
    """
    if not root.is_dir():
        seen = "it is a file" if root.exists() else "no such folder"
        is_packed = root.is_file() and root.suffix.lower() in _ARCHIVES
        fix = "unpack it, and give the folder" if is_packed else "give a folder"
        raise InputError(f"{root} is not a folder of images: {seen}", fix)
    if pattern is not None and manifest is not None:
        raise InputError("both a pattern and a manifest were given", "give one of them")
    if not _is_text(str(root)):
        raise InputError(f"the name of {str(root)!r} is not UTF-8", "rename the folder")
    skipped: list[Skipped] = []
    if manifest is not None:
        candidates = _from_manifest(root, manifest)
    else:
        candidates, skipped = _from_paths(root, pattern)
    if not candidates:
        raise InputError(*_nothing(root, pattern, skipped))
    found = _inspect_all(candidates)
    if all(each.status != OK for each in found):
        first = f"{found[0].path.name}: {found[0].reason}"
        raise InputError(
            f"{root} has no readable image ({len(found)} looked at; {first})",
            "check the files, or give another folder",
        )
    return Survey(tuple(found), tuple(skipped))


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Turn a path pattern into a regular expression for relative POSIX paths.

    Raises:
        InputError: A placeholder that is not one of PLACEHOLDERS, or none at all.
    """
    stem, any_suffix = (pattern[:-2], True) if pattern.endswith(".*") else (pattern, False)
    parts: list[str] = []
    seen: set[str] = set()
    for name, star, literal in _TOKEN.findall(_composed(stem).removeprefix("./").strip("/")):
        if star:
            parts.append("[^/]*")
        elif literal:
            parts.append(re.escape(literal))
        else:
            parts.append(_group(name, seen, pattern))
    if not seen:
        raise InputError(
            f"the pattern {pattern!r} names nothing", f"use {{{'}, {'.join(PLACEHOLDERS)}}}"
        )
    suffix = rf"(?:{'|'.join(map(re.escape, SUFFIXES))})" if any_suffix else ""
    return re.compile("".join(parts) + suffix, re.IGNORECASE)


def condition_of(text: str) -> str | None:
    """The condition that `text` names (see CONDITION_NAMES), or None."""
    return CONDITION_NAMES.get(text.strip().lower())


def place_of(path: Path) -> str:
    """Where a file is, whatever way leads there.

    A link to a file is an image of its own; links to folders on the way to it are followed.
    """
    return os.path.join(os.path.realpath(path.parent), path.name)  # noqa: PTH118


def _group(name: str, seen: set[str], pattern: str) -> str:
    if name not in PLACEHOLDERS:
        hint = nearest(name, list(PLACEHOLDERS))
        raise InputError(
            f"the pattern {pattern!r} has the unknown placeholder {{{name}}}",
            hint or f"use {{{'}, {'.join(PLACEHOLDERS)}}}",
        )
    if name in seen:
        return f"(?P={name})"
    seen.add(name)
    return f"(?P<{name}>{r'[0-9]{1,18}' if name == 'seed' else '[^/]+?'})"


def _from_paths(root: Path, pattern: str | None) -> tuple[list[Found], list[Skipped]]:
    expression = None if pattern is None else compile_pattern(pattern)
    candidates: list[Found] = []
    skipped: list[Skipped] = []
    for path in _files(root, skipped):
        taken = _identify(path, path.relative_to(root).as_posix(), expression)
        if isinstance(taken, Found):
            candidates.append(taken)
        else:
            skipped.append(Skipped(path, taken))
    return candidates, sorted(skipped, key=lambda each: each.path)


def _files(root: Path, skipped: list[Skipped]) -> Iterator[Path]:
    """All files below `root`, sorted, nothing hidden; a folder that cannot be opened is skipped."""

    def closed(error: OSError) -> None:
        skipped.append(Skipped(Path(error.filename), f"cannot be opened: {error.strerror}"))

    paths = []
    for folder, folders, names in os.walk(root, onerror=closed):
        if STUDY_FILE in names and Path(folder) != root:
            folders[:] = []
            skipped.append(Skipped(Path(folder), "a study lies there"))
            continue
        folders[:] = [name for name in folders if not name.startswith(".")]
        # A loop would have no end, and what lies there may be found on another way already.
        links = [path for name in folders if (path := Path(folder, name)).is_symlink()]
        skipped += [Skipped(path, "a link to a folder, which is not followed") for path in links]
        paths += [Path(folder, name) for name in names if not name.startswith(".")]
    yield from sorted(paths)


def _identify(path: Path, relative: str, expression: re.Pattern[str] | None) -> Found | str:
    """What a file shows, or why it is left out."""
    if path.suffix.lower() not in SUFFIXES:
        return NO_IMAGE
    if not _is_text(relative):
        return "its name is not UTF-8"
    if expression is None:
        return Found(path=path)
    match = expression.fullmatch(_composed(relative))
    if match is None:
        return "does not match the pattern"
    named = match.groupdict()
    condition = condition_of(named.get("condition", "CF"))
    if condition is None:
        return f"{match['condition']!r} is no condition (known: {', '.join(CONDITIONS)})"
    return Found(
        path=path,
        generator=named.get("generator", "images"),
        condition=condition,
        role=named.get("role", "all"),
        prompt=named.get("prompt"),
        seed=int(named["seed"]) if "seed" in named else None,
    )


def _is_text(name: str) -> bool:
    """Whether a name is UTF-8; others cannot be stored or shown."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _composed(text: str) -> str:
    """A text with each accented letter as one character: macOS takes them apart in names of files,
    and two spellings of one role would be two roles."""
    return unicodedata.normalize("NFC", text)


def _named(text: str | None) -> str | None:
    return None if text is None else _composed(text)


def _file_of(root: Path, written: str) -> Path:
    """The file that a manifest names, perhaps one of another system; as written if there is none.

    Tried are both ways to write accented letters, and Windows' slashes.
    """
    for name in (written, written.replace("\\", "/")):
        for form in (name, _composed(name), unicodedata.normalize("NFD", name)):
            if os.path.lexists(root / form):
                return root / form
    return root / written


def _from_manifest(root: Path, manifest: Path) -> list[Found]:
    found = []
    lines: dict[str, int] = {}
    for row in read_manifest(manifest):
        path = _file_of(root, row.path)
        same = lines.setdefault(place_of(path), row.line)
        if same != row.line:
            raise InputError(
                f"{manifest.name} lines {same} and {row.line} both name {row.path}",
                "keep one of them",
            )
        condition = condition_of(row.condition or "CF")
        if condition is None:
            raise InputError(
                f"{manifest.name} line {row.line}: {row.condition!r} is no condition",
                f"use {', '.join(CONDITIONS)}",
            )
        image = Found(path=path, condition=condition, prompt=_named(row.prompt), seed=row.seed)
        image = replace(image, generator=_named(row.generator) or image.generator)
        found.append(replace(image, role=_named(row.role) or image.role))
    return found


def _nothing(root: Path, pattern: str | None, skipped: list[Skipped]) -> tuple[str, str]:
    endings = Counter(each.path.suffix.lower() or "no extension" for each in skipped)
    seen = ", ".join(f"{count} {ending}" for ending, count in endings.most_common(4)) or "empty"
    if pattern is None:
        known = ", ".join(SUFFIXES)
        return f"{root} holds no image (seen: {seen})", f"give a folder with {known} files"
    problem = f"no image below {root} matches the pattern {pattern!r} (seen: {seen})"
    example = next((each for each in skipped if each.path.suffix.lower() in SUFFIXES), None)
    if example is None:
        return problem, "check the folder and the pattern"
    relative = example.path.relative_to(root).as_posix()
    return problem, f"check the pattern; {relative}, for example, {_clause(example.why)}"


def _clause(why: str) -> str:
    return why if why.startswith("does") else f"is left out because {why}"


def _inspect_all(candidates: list[Found]) -> list[Found]:
    # Pillow only warns of a picture that is somewhat too large; here that is an error like others.
    with warnings.catch_warnings():
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        with ThreadPoolExecutor(max_workers=cores()) as pool:
            return list(pool.map(_inspect, candidates))


def _inspect(image: Found) -> Found:
    try:
        # A pipe would be waited for, and a device never ends.
        if not stat.S_ISREG(image.path.stat().st_mode):
            return replace(image, status="corrupt", reason="not a file")
        digest = file_sha256(image.path)
    except FileNotFoundError:
        return replace(image, status="corrupt", reason="file not found")
    except OSError as error:
        return replace(image, status="corrupt", reason=f"cannot be opened: {error.strerror}")
    try:
        (width, height), fault = _decode(image.path)
    except Exception as error:  # decoders of broken files raise whatever they stumble over
        return replace(image, status="corrupt", reason=_reason(image.path, error), sha256=digest)
    status = OK if fault is None else BLANK
    return replace(image, status=status, reason=fault, sha256=digest, width=width, height=height)


def _decode(path: Path) -> tuple[tuple[int, int], str | None]:
    """Width and height in pixels, and what is wrong with the picture; see `blemish`."""
    from contextbias.generate.quality import blemish

    with Image.open(path) as image:
        image.verify()
    with Image.open(path) as image:
        image.load()
        return image.size, blemish(image)


def _reason(path: Path, error: Exception) -> str:
    if path.stat().st_size == 0:
        return "the file is empty"
    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return f"more than {Image.MAX_IMAGE_PIXELS:,} pixels"
    if isinstance(error, UnidentifiedImageError):
        return "not an image that can be decoded"
    return f"cannot be decoded: {error}"
