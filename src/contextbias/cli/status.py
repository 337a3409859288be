"""`contextbias status`: how far a study is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from contextbias.cli.run import StudyFolder


def status(
    study: StudyFolder,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say how far a study is: prompts, images, readings, numbers, report. Changes nothing."""
    import json

    from contextbias import pipeline
    from contextbias.store import Study

    with Study.open(Path(study)) as opened:
        state = pipeline.status(opened)
    if as_json:
        print(json.dumps(state, indent=2))
    else:
        print("\n".join(_lines(state)))


def _lines(state: dict[str, Any]) -> list[str]:
    lines = [f"{state['name']} ({state['folder']})", f"prompts     {state['prompts']:,}"]
    for name in ("images", "readings"):
        counts = dict(state[name])
        wanted = counts.pop("wanted")
        there = ", ".join(f"{count:,} {key}" for key, count in counts.items()) or "none yet"
        lines.append(f"{name:<12}{there}; {wanted:,} wanted")
        if name == "images" and state["duplicates"]:
            lines.append(
                f"            {state['duplicates']:,} have the pixels of another one by the same "
                "generator"
            )
    for name, counted in state["mixed_revisions"].items():
        each = ", ".join(f"{count:,} by {revision}" for revision, count in counted.items())
        lines.append(f"            {name} is more than one model: {each}")
    if state["further_readings"]:
        lines.append(f"            {state['further_readings']:,} further readings of a sample")
    if state["requests_in_batches"]:
        lines.append(
            f"            {state['requests_in_batches']:,} requests are in batches; extract "
            "--batch, with the settings they were sent with, collects them"
        )
    if state["counted_prompts"]:
        lines.append(f"counts      of {state['counted_prompts']:,} prompts, without images")
    for key, what in (("kept_but_not_used", "images"), ("readings_kept_but_not_used", "readings")):
        if state[key]:
            lines.append(
                f"            {state[key]:,} more rows of {what} (earlier settings, attempts or "
                "files) are kept, and not counted"
            )
    for name in ("attributes", "estimates", "report"):
        there = state[name] if name == "report" else state[name] and "there"
        older = ", of earlier rows or settings: run again" if name in state["stale"] else ""
        with_other = state["measured_with"] if name == "estimates" and not older else None
        if with_other:
            older = f", measured with --preset {with_other}; study.toml says {state['preset']}"
        lines.append(f"{name:<12}{there or 'not yet'}{older}")
    return lines
