"""The plan in words and tables, for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from contextbias.progress import counted

_WIDTH = 96
_NONE = "-"
_KNOWN_PROMPTS, _KNOWN_IMAGES = 220, 10  # as `contextbias validate` has them

_UNITS = (("days", 172_800, 86_400), ("h", 7_200, 3_600), ("min", 120, 60), ("s", 0, 1))


def plan_lines(plan: dict[str, Any]) -> Iterator[str]:
    """Lines of a plan: what is to be done first, then what the images can find.

    Args:
        plan: From `contextbias.pipeline.planning.plan`.
    """
    study = plan["study"]
    yield f"{study['name']} ({study['folder']})" if study else "ContextBench, without a study"
    if plan["work"] is not None and plan["work"]["sections"]:
        yield from _heading("What is to be done")
        yield from work_lines(plan["work"])
        yield from _validation(plan["work"])
    yield from _heading("What the images can find")
    if not plan["comparisons"]:
        yield ""
        yield from _wrapped(
            "Conditions are not compared: there are fewer than two with prompts or images."
        )
    else:
        yield from _answer(plan)
        yield from _conditions(plan)
        yield from _labels(plan)
    if plan["bias_intensity"]:
        yield from _intensity(plan)
    yield ""
    yield f'"{_NONE}" in a table: nothing is to be done, or no size of this kind is enough.'


def _heading(title: str) -> Iterator[str]:
    yield ""
    yield title
    yield "=" * len(title)


# ---- the work


def work_lines(work: dict[str, Any]) -> Iterator[str]:
    """Lines about what is still to be done, from `contextbias.pipeline.workload.workload`."""
    yield ""
    head = ("STAGE", "NAME", "BACKEND", "WANTED", "DONE", "TO DO", "TIME", "DISK")
    rows = [
        (
            section["stage"],
            section["name"],
            section["backend"],
            *(f"{section[key]:,}" for key in ("wanted", "done", "pending")),
            _time(section["wall_seconds"]) if section["pending"] else _NONE,
            _bytes(section["size"]) if section["pending"] else _NONE,
        )
        for section in work["sections"]
    ]
    yield from _aligned([head, *rows], words=3)
    for section in work["sections"]:
        yield from _notes(section)
    expected, free = work["disk"]["expected"], work["disk"]["free"]
    if expected > free:
        yield f"The disk is too small: {_bytes(expected)} are expected, {_bytes(free)} are free."
    elif expected:
        yield f"Disk: {_bytes(expected)} are expected, {_bytes(free)} are free."


def _validation(work: dict[str, Any]) -> Iterator[str]:
    """What `contextbias validate` adds, as far as it is known before the study shows any label."""
    drawn = sum(s["stage"] == "generate" and s["backend"] != "folder" for s in work["sections"])
    readers = sum(s["stage"] == "extract" for s in work["sections"])
    if drawn and readers:
        images = _KNOWN_PROMPTS * _KNOWN_IMAGES * drawn
        yield from _wrapped(
            f"Not in this table: `contextbias validate`, up to {images:,} images and "
            f"{images * readers:,} readings more where no other size is given; its --dry-run says "
            "what they take."
        )


def _notes(section: dict[str, Any]) -> Iterator[str]:
    """What a section says beside its numbers; money and calls are for backends that have them."""
    parts = []
    if section["pending"] and section["seconds"] is not None:
        workers = section["workers"]
        parts.append(f"time {section['basis']}; {counted(workers, 'worker')}")
    if section["accelerator_seconds"] is not None:
        parts.append(f"{_time(section['accelerator_seconds'])} of GPU time")
    if section["calls"] is not None:
        parts.append(counted(section["calls"], "call"))
    for key, what in (("tokens_in", "tokens sent"), ("tokens_out", "tokens received")):
        if section[key] is not None:
            parts.append(f"{section[key]:,} {what}")
    if section["money"] is not None:
        parts.append(f"{section['money']:,.2f} {section['currency']}")
    if section["budget_words"] and section["pending"]:
        parts.append(section["budget_words"])
    if parts:
        yield from _wrapped(f"{section['name']}: {'; '.join(parts)}")
    for note in section["notes"]:
        yield from _wrapped(f"{section['name']}: {note}")


# ---- the answer


def _answer(plan: dict[str, Any]) -> Iterator[str]:
    aims, answer, design = plan["aims"], plan["comparisons"]["answer"], plan["design"]
    yield ""
    yield from _wrapped(f"{_question(aims)}: {_independent(answer, design)}")
    if aims["target"] == "invariant":
        floor = answer["floor"]
        yield from _wrapped(
            f"Below {counted(floor, 'image')} a condition `invariant` cannot come out, whatever "
            "they show."
        )
    yield from _wrapped(_clustered(plan))


def _question(aims: dict[str, Any]) -> str:
    stands = f"a label that stands in {100 * aims['prevalence']:g}% of the images"
    power = f"with {100 * aims['power']:g}% power"
    if aims["target"] == "invariant":
        return f"To call {stands} invariant within {aims['margin_pp']:g} points {power}"
    return f"To find that {stands} shifts by {aims['range_pp']:g} points in one condition, {power}"


def _independent(answer: dict[str, Any], design: dict[str, Any]) -> str:
    equal, found = answer["images_per_condition_if_equal"], answer["independent"]
    if equal is None or found["images_per_prompt"] is None:
        none = "no number of images up to a million is enough"
        if answer["target"] == "invariant":
            return f"{none}."
        return f"{none}: the verdict `shifted` asks for more than the margin."
    has = design["images_per_prompt"]
    return (
        f"{equal:,} images of the role in each condition, if all images are independent. With "
        f"these prompts that is {_spelt(found, design)}; the plan has {has:,} a prompt."
    )


def _spelt(found: dict[str, Any], design: dict[str, Any]) -> str:
    images = ", ".join(f"{count:,} in {name}" for name, count in found["images"].items())
    return (
        f"{counted(found['images_per_prompt'], 'image')} a prompt ({images}), "
        f"{found['images_a_generator']:,} a generator for {counted(design['roles'], 'role')}"
    )


def _clustered(plan: dict[str, Any]) -> str:
    likeness, design = plan["likeness"], plan["design"]
    answer = plan["comparisons"]["answer"]
    found, contexts = answer["clustered"], answer["contexts_per_condition"]
    if likeness["effect"] is not None:
        said = f"With the {likeness['source']},"
    elif likeness["correlation"] == 0:
        return (
            f"Images of one context are taken for independent (intraclass correlation 0, "
            f"{likeness['source']}), so that nothing changes when contexts are allowed for."
        )
    else:
        said = (
            f"But images of one context are alike (intraclass correlation "
            f"{likeness['correlation']:.3g}, {likeness['source']}). Then"
        )
    if found["images_per_prompt"] is not None:
        return f"{said} it takes {_spelt(found, design)}."
    if contexts is None or likeness["effect"] is not None:
        return f"{said} no number of images up to a million is enough."
    fewest = min(design["arms"], key=lambda arm: arm["contexts"])
    size = round(max(arm["alike"] for arm in design["arms"]) * design["images_per_prompt"])
    count = fewest["contexts"]
    return (
        f"{said} more images a prompt are not enough: those of {fewest['condition']}, of "
        f"{count} {_contexts(count, design)}, never count for more than "
        f"{answer['most_effective_images']:,.0f}. About {contexts:,} contexts a condition, with "
        f"{size:,} images each, would do."
    )


def _contexts(count: int, design: dict[str, Any]) -> str:
    """Contexts, or the prompts that stand in for them."""
    noun = "context" if design["contexts_known"] else "prompt"
    return noun if count == 1 else f"{noun}s"


# ---- tables


def _conditions(plan: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield "Images of a role"
    head = ("CONDITION", "PROMPTS", "CONTEXTS", "IMAGES", "DESIGN EFFECT", "COUNT FOR")
    rows = [
        (
            row["condition"],
            str(row["prompts"]),
            str(row["contexts"]),
            f"{row['images']:,}",
            f"{row['design_effect']:.2f}",
            f"{row['effective_images']:,.0f}",
        )
        for row in plan["comparisons"]["conditions"]
    ]
    yield from _aligned([head, *rows], words=1)
    if not plan["design"]["contexts_known"]:
        yield from _wrapped(
            "CONTEXTS: nothing tells which prompts share one, so each prompt stands for one."
        )


def _labels(plan: dict[str, Any]) -> Iterator[str]:
    aims = plan["aims"]
    yield ""
    yield from _wrapped(
        f"What these images can find, label by label, with {100 * aims['power']:g}% power: "
        "smallest range of the conditions, in points (images independent / as alike as above)"
    )
    head = ("PREVALENCE", "ONE TEST", "SHIFTED", "SHIFTED, HARDEST", "CHANCE OF INVARIANT")
    keys = ("detectable_pp", "shifted_pp", "shifted_hardest_pp")
    rows = [
        (
            f"{100 * row['prevalence']:g}%",
            *(_both(row, key) for key in keys),
            _both(row, "invariant_power", percent=True),
        )
        for row in plan["comparisons"]["prevalences"]
    ]
    yield from _aligned([head, *rows], words=1)
    yield from _wrapped(
        f"ONE TEST: chi-squared at level {aims['alpha']:g}, the last condition differs from the "
        f"others. SHIFTED: the verdict, if {100 * aims['shifted_share']:g}% of all labels shift "
        f"(level {aims['level_of_one_test']:.2g} after adjustment) and the range must exceed "
        f"{aims['margin_pp']:g} points. HARDEST: between the two smallest conditions. "
        "CHANCE: that `invariant` comes out if nothing changes at all."
    )


def _both(row: dict[str, Any], key: str, *, percent: bool = False) -> str:
    values = (row["independent"][key], row["clustered"][key])
    shown = [_NONE if v is None else _percent(v) if percent else f"{v:.0f}" for v in values]
    return shown[0] if shown[0] == shown[1] else " / ".join(shown)


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%"


def _intensity(plan: dict[str, Any]) -> Iterator[str]:
    roles, aims = plan["design"]["roles"], plan["aims"]
    yield ""
    yield from _wrapped(
        f"Bias Intensity, difference of two conditions (CA-U - CF), {counted(roles, 'role')}: half "
        f"the width of the interval, the smallest difference found with {100 * aims['power']:g}% "
        "power, and the roles that a difference needs"
    )
    rows = plan["bias_intensity"]
    needed = list(rows[0]["roles_needed"])
    head = ("WHAT", "SPREAD", "HALF WIDTH", "FOUND", *(f"ROLES FOR {name}" for name in needed))
    body = [
        (
            row["what"],
            f"{row['sd']:.3f}",
            *(
                _NONE if row[key] is None else f"{row[key]:.3f}"
                for key in ("half_width", "detectable")
            ),
            *(f"{count:,}" if count else _NONE for count in row["roles_needed"].values()),
        )
        for row in rows
    ]
    yield from _aligned([head, *body], words=1)
    yield "SPREAD: standard deviation over roles. Only its sampling part falls with more images."


# ---- words


def _aligned(rows: Sequence[tuple[str, ...]], *, words: int) -> Iterator[str]:
    """Columns as wide as their widest cell: `words` of text to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if i < words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _wrapped(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "?"
    unit, _, length = next(each for each in _UNITS if seconds >= each[1])
    return f"{seconds / length:,.0f} {unit}" if seconds >= 1 else "< 1 s"


def _bytes(size: int | None) -> str:
    if size is None:
        return "?"
    for unit, length in (("GB", 10**9), ("MB", 10**6)):
        if size >= length:
            return f"{size / length:,.1f} {unit}"
    return f"{size / 1000:,.0f} kB"
