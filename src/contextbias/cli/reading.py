"""`contextbias reading`: what readers said about one image, untouched answers included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from contextbias.cli.run import StudyFolder

if TYPE_CHECKING:
    from contextbias.store import Study
    from contextbias.tables import ImageRow, ReadingRow


def reading(
    study: StudyFolder,
    image: Annotated[
        str,
        typer.Argument(
            metavar="IMAGE", help="An image's file, from here or as the report names it, or its id."
        ),
    ],
    reader: Annotated[str | None, typer.Option(help="Only this reader, by name.")] = None,
) -> None:
    """Show every reading of one image as JSON: the record, and what the model answered.

    Readings by earlier settings and further readings (--repeat) are among them.
    """
    import json

    from contextbias.store import Study

    with Study.open(study) as opened:
        found = _image(opened, image)
        rows = [row for row in opened.readings() if row.image_id == found.image_id]
    chosen = [row for row in rows if reader in (None, row.reader)]
    _check(found, reader, rows, chosen)
    shown = {"image_id": found.image_id, "path": found.path, "readings": [_as_json(row) for row in
             chosen]}  # fmt: skip
    print(json.dumps(shown, indent=2, ensure_ascii=False))


def _image(study: Study, word: str) -> ImageRow:
    """The image that a word names: its path, the end of it, or the beginning of its id."""
    from contextbias.errors import InputError

    images = study.images()
    exact = [image for image in images if word in (image.path, image.image_id)]
    exact = exact or _with_file(study, images, word)
    near = [
        image
        for image in images
        if image.image_id.startswith(word) or (image.path or "").endswith(f"/{word}")
    ]
    found = exact or near
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputError(
            f"{study.root} has no image {word!r}", "give the path of its file, or its id"
        )
    names = ", ".join(sorted(str(image.path or image.image_id) for image in found)[:3])
    raise InputError(f"{word!r} names {len(found)} images ({names} …)", "give more of the path")


def _with_file(study: Study, images: list[ImageRow], word: str) -> list[ImageRow]:
    """The image whose file a path from the working folder leads to."""
    from os.path import realpath
    from pathlib import Path

    file = Path(word)
    if not file.is_file():
        return []
    return [
        image
        for image in images
        if image.path is not None
        and image.path.endswith(file.name)
        and realpath(study.files.path(image.path)) == realpath(file)
    ]


def _check(
    image: ImageRow, reader: str | None, rows: list[ReadingRow], chosen: list[ReadingRow]
) -> None:
    from contextbias.errors import InputError, nearest

    if chosen:
        return
    names = sorted({row.reader for row in rows})
    if reader is None or not names:
        raise InputError(f"{image.path} has not been read", "run the extract stage first")
    hint = nearest(reader, names) or f"it was read by {', '.join(names)}"
    raise InputError(f"{image.path} has no reading by {reader!r}", hint)


def _as_json(row: ReadingRow) -> dict[str, Any]:
    from dataclasses import asdict

    from contextbias.extract.vision.kept import readable

    shown = asdict(row)
    try:
        shown["raw"] = readable(row.raw)
    except ValueError as error:
        shown["raw_fault"] = str(error)
    return shown
