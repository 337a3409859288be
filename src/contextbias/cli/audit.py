"""`contextbias audit`: a folder of images becomes a report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from contextbias.cli.imports import Manifest, Pattern


def audit(
    images_dir: Annotated[
        Path,
        typer.Argument(metavar="IMAGES_DIR", help="Folder of images; nothing in it is changed."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the study [default: NAME-audit]."),
    ] = None,
    pattern: Pattern = None,
    manifest: Manifest = None,
) -> None:
    """Read a folder of images with the embedded reader and write a report.

    Offline, on the CPU, without a key. Without a pattern or manifest all images are one group: the
    report shows distributions and concentration, but no comparison of conditions. The embedded
    reader sees few dimensions; `contextbias doctor` lists them.

    Run again with the same --out, new images are added, changed ones are read again, and those
    that are gone no longer count. Folders inside that are studies themselves are left out.
    """
    from contextbias.cli.run import finish, make_options, run_stages
    from contextbias.pipeline import STAGES

    folder = out or Path(f"{images_dir.resolve().name or 'images'}-audit")
    _refuse_a_study(images_dir)
    _make_study(folder, images_dir, pattern, manifest)
    finish(run_stages(folder, STAGES, make_options()))


def _refuse_a_study(images_dir: Path) -> None:
    """Raise InputError for a study, or its folder of images.

    Images of earlier settings lie there too, and what its own were asked for would be lost.
    """
    import shlex

    from contextbias.errors import InputError
    from contextbias.files import IMAGES
    from contextbias.store import CONFIG_FILE

    there = images_dir.resolve()
    inside = [there, *there.parents]
    for study, below in zip(inside, [None, *inside], strict=False):
        if (study / CONFIG_FILE).is_file() and (below is None or below.name == IMAGES):
            shown = shlex.quote(os.path.relpath(study))
            what = "is a study" if below is None else f"holds the images of the study {shown}"
            raise InputError(
                f"{images_dir} {what}",
                f"`contextbias run {shown}` gives its report; a copy of the pictures elsewhere can "
                "be audited",
            )


def _make_study(folder: Path, images_dir: Path, pattern: str | None, manifest: Path | None) -> None:
    """Make the audit's study, or find it again.

    Raises:
        InputError: No such folder of images.
        StudyError: The folder holds another study.
    """
    from contextbias.errors import StudyError
    from contextbias.generate.folder import scan
    from contextbias.registry import load_reader
    from contextbias.store import CONFIG_FILE, Study

    load_reader("local", {})
    text = _study_text(images_dir.resolve(), pattern, manifest and Path(os.path.realpath(manifest)))
    config = folder / CONFIG_FILE
    if not config.exists():
        # Everything that can be wrong is found before the study's folder is made.
        scan(images_dir, pattern=pattern, manifest=manifest)
        Study.create(folder, text).close()
    elif config.read_bytes() != text.encode():
        raise StudyError(
            f"{folder} holds a study of other images or another pattern", "choose another --out"
        )


def _study_text(images_dir: Path, pattern: str | None, manifest: Path | None) -> str:
    import json

    options = [f"source = {json.dumps(str(images_dir))}"]
    if pattern is not None:
        options.append(f"pattern = {json.dumps(pattern)}")
    if manifest is not None:
        options.append(f"manifest = {json.dumps(str(manifest))}")
    return (
        "# Made by `contextbias audit`.\n\n"
        f"[study]\nname = {json.dumps(f'Audit of {images_dir.name}')}\n\n"
        f'[[generators]]\nname = "images"\nbackend = "folder"\n'
        f"options = {{ {', '.join(options)} }}\n\n"
        '[[readers]]\nname = "local"\nbackend = "local"\n'
    )
