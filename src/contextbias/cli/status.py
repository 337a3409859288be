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
    from contextbias.progress import counted as number_of

    lines = [f"{state['name']} ({state['folder']})", f"prompts     {state['prompts']:,}"]
    for name in ("images", "readings"):
        lines.append(f"{name:<12}{_made(state[name])}")
        lines += _why(state[name], state["reasons"][name])
        if name == "images" and state["duplicates"]:
            lines.append(
                f"            {state['duplicates']:,} have the pixels of another one by the same "
                "generator"
            )
    for name, counted in state["mixed_revisions"].items():
        each = ", ".join(f"{count:,} by {revision}" for revision, count in counted.items())
        lines.append(f"            {name} is more than one model: {each}")
    if state["further_readings"]:
        further = number_of(state["further_readings"], "further reading")
        lines.append(f"            {further} of a sample")
    if state["requests_in_batches"]:
        verb = "is" if state["requests_in_batches"] == 1 else "are"
        lines.append(
            f"            {number_of(state['requests_in_batches'], 'request')} {verb} in batches; "
            "extract --batch, with the settings of then, collects what was sent"
        )
    if state["counted_prompts"]:
        lines.append(
            f"counts      of {number_of(state['counted_prompts'], 'prompt')}, without images"
        )
    for key, what in (("kept_but_not_used", "images"), ("readings_kept_but_not_used", "readings")):
        if state[key]:
            rows = number_of(state[key], "more row")
            verb = "is" if state[key] == 1 else "are"
            lines.append(
                f"            {rows} of {what} (earlier settings, attempts or files) {verb} kept, "
                "and not counted"
            )
    return lines + _beside(state) + _derived(state)


def _made(counts: dict[str, int]) -> str:
    """``16 ok, 2 error; 18 wanted``."""
    there = [f"{count:,} {status}" for status, count in counts.items() if status != "wanted"]
    return f"{', '.join(there) or 'none yet'}; {counts['wanted']:,} wanted"


def _beside(state: dict[str, Any]) -> list[str]:
    """What people answered, and prompts whose truth is known: nothing where there is none."""
    from contextbias.progress import counted as number_of

    lines = []
    if (people := state["people"]) is not None:
        simulated = f", {people['simulated']:,} of them simulated" if people["simulated"] else ""
        lines.append(
            f"people      {people['invited']:,} invited{simulated}; {people['answers']:,} of "
            f"{number_of(people['wanted'], 'answer')}"
        )
    if (inside := state["validation"]) is not None:
        lines.append(
            f"validation  {number_of(inside['prompts'], 'prompt')}; images: "
            f"{_made(inside['images'])}; readings: {_made(inside['readings'])}"
        )
    return lines


def _derived(state: dict[str, Any]) -> list[str]:
    """What was worked out from the readings; of a validation, that is done by the study above."""
    if state["numbers_in"] is not None:
        return [f"its numbers are in the study above: {state['numbers_in']}"]
    lines = []
    for name in ("attributes", "estimates", "report"):
        there = state[name] if name == "report" else state[name] and "there"
        older = ", of earlier rows or settings: run again" if name in state["stale"] else ""
        with_other = state["measured_with"] if name == "estimates" and not older else None
        if with_other:
            older = f", measured with --preset {with_other}; study.toml says {state['preset']}"
        lines.append(f"{name:<12}{there or 'not yet'}{older}")
    return lines


def _why(counts: dict[str, int], reasons: dict[str, dict[str, Any]]) -> list[str]:
    """The commonest reason of each status that is not ``ok``."""
    from contextbias.errors import one_line

    lines = []
    for status, found in reasons.items():
        whole = "" if found["rows"] == counts[status] else f" ({found['rows']:,} of them)"
        lines.append(one_line(f"            {status}: {found['reason']}{whole}"))
    return lines
