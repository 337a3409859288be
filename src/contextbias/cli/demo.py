"""`contextbias demo`: a whole simulated study, from prompts to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the demo's study.")] = Path(
        "contextbias-demo"
    ),
) -> None:
    """Run a whole study offline: two simulated models, 12 roles, 2,160 images, one report.

    No key, no GPU, no network. One of the two models adapts its picture of a role to the scene, the
    other does not; the report shows how that looks in numbers and images. Run again, it goes on
    where it was stopped.
    """
    from contextbias.cli.init import template_text
    from contextbias.cli.run import finish, make_options, run_stages
    from contextbias.errors import StudyError
    from contextbias.pipeline import STAGES
    from contextbias.store import CONFIG_FILE, Study

    text = template_text("demo")
    config = out / CONFIG_FILE
    if not config.exists():
        Study.create(out, text).close()
    elif config.read_bytes() != text.encode():
        raise StudyError(f"{out} holds another study than the demo", "choose another --out")
    finish(run_stages(out, STAGES, make_options()))
