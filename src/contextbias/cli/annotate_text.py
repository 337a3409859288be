"""What `contextbias annotate` says: how much is asked of people, and how far they are."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import TYPE_CHECKING

from contextbias.progress import counted

if TYPE_CHECKING:
    from contextbias.annotate.administration import Line, Overview
    from contextbias.annotate.load import Load

LONG = 2.0
"""Hours of one person's time that are said to be much."""


def sample_line(load: Load) -> str:
    """What is drawn."""
    parts = [
        counted(number, noun)
        for number, noun in ((load.sets, "set"), (load.images, "single picture"))
        if number
    ]
    people, questions = counted(load.per_item, "annotator"), counted(load.dimensions, "question")
    return f"Sample: {' and '.join(parts)}; {questions} and {people} for each"


def each_line(load: Load) -> str:
    """How much each annotator answers."""
    busy = {number for number in load.questions.values() if number}
    if not busy:
        return "Nothing is left for those invited"
    up_to = "up to " if len(busy) > 1 else ""
    each = "each" if len(load.questions) > 1 else next(iter(load.questions))
    return f"{each}: {up_to}{counted(load.most, 'question')}, about {_time(load.hours)}"


def _time(hours: float) -> str:
    if hours < 1:
        return counted(ceil(60 * hours), "minute")  # as the annotators' first page says it
    return f"{hours:.1f} hours" if f"{hours:.1f}" != "1.0" else "1 hour"


def warning(load: Load) -> Iterator[str]:
    """What can be done where that is much."""
    if load.hours > LONG:
        yield (
            f"That is much for one person (at {load.seconds_per_answer:g} s an answer, "
            "annotate.seconds_per_answer). Less: invite more people at once (--annotators), or "
            "lower images, sets, roles or annotators_per_item, or lengthen leave_out under "
            "[annotate] in study.toml. What an invitation has drawn stays drawn; while nobody has "
            "answered, --anew draws again."
        )


def progress_lines(view: Overview, later: int) -> Iterator[str]:
    """How far everybody is; `later` is how many images came after the sample."""
    by = ", ".join(f"{items} by {number or 'nobody'}" for number, items in view.complete.items())
    yield f"{view.items} items for {view.per_item} annotators each; answered whole: {by}"
    if later:
        images = counted(later, "image")
        yield f"{images} came after the sample was drawn, about which nobody is asked"
    wide = max((len(line.row.annotator) for line in view.lines), default=0)
    for line in view.lines:
        yield f"{line.row.annotator:<{wide}}  {_progress(line)}"


def _progress(line: Line) -> str:
    done, quality = line.progress, line.quality
    seconds = quality.median_seconds
    time = "" if seconds is None else f", median {seconds:.1f} s"
    gold = "" if quality.gold_right is None else f", {quality.gold_right:.0%} of gold right"
    breaks = f"; does not count: {'; '.join(quality.breaks)}" if quality.breaks else ""
    revoked = line.row.kind == "person" and line.row.token_sha256 is None
    link = "; link revoked" if revoked else ""
    return f"{done.done:,} of {done.total:,}{time}{gold}{link}{breaks}"
