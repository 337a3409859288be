"""What `contextbias annotate agreement` prints: a table to read, or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextbias.pipeline.people import PeopleAgreement

_MEASURES = {
    "raw": "agreement_raw",
    "Cohen": "agreement_cohen_mean",
    "Fleiss": "agreement_fleiss",
    "alpha": "agreement_krippendorff",
    "AC1": "agreement_ac1",
}
_KINDS = {"set": "Sets of pictures", "image": "Single pictures"}
_WIDE, _NARROW = 24, 8
_FEW_PAIRS = 6
_Rows = list[dict[str, Any]]


def as_values(found: PeopleAgreement) -> dict[str, Any]:
    """The numbers as JSON has them."""
    keep = (
        "estimand", "reader", "generator", "dimension", "method", "point", "low", "high", "n",
        "n_missing", "note",
    )  # fmt: skip
    return {
        "simulated_annotators": found.simulated,
        "annotators": [asdict(one) for one in found.annotators],
        "agreement": found.estimates.select(keep).to_dicts(),
    }


def as_table(found: PeopleAgreement) -> str:
    """The numbers as lines of text."""
    lines = list(_annotators(found))
    rows = found.estimates.to_dicts()
    for kind, title in _KINDS.items():
        mine = [row for row in rows if _of_kind(row["method"], kind)]
        if mine:
            lines += ["", title, *_people(mine, kind), *_readers(mine, kind)]
    return "\n".join([*lines, "", *_LEGEND])


_LEGEND = (
    "raw: share of pairs of answers that are the same; of lists, and of labels that tie, what both",
    "name by all that either names. The others take off what chance would give. Cohen and kappa",
    "count the labels of a list one by one, so that a partial match weighs more than in raw, and",
    "they can be above it; for Fleiss, alpha and AC1 a whole list is one answer. Cohen: mean over",
    "pairs of people; raw: over items. n: questions about items that two people answered.",
    "overall: all questions as one; then few answers are equal by chance. –: undefined, since all",
    "gave one and the same answer, or nobody can be compared. Intervals: --json, --out.",
)


def _of_kind(method: str, kind: str) -> bool:
    return method == f"people {kind}" or method.split(":")[0].split(",")[0] == kind


def _annotators(found: PeopleAgreement) -> Iterator[str]:
    counting = [one for one in found.annotators if not one.breaks]
    kind = ""
    if found.simulated:
        kind = " (simulated: nothing here is about people)"
        if found.simulated < len(counting):
            kind = f" ({found.simulated} of them simulated)"
    yield f"{len(counting)} annotators count{kind}"
    if found.later:
        yield (
            f"{found.later:,} images came after the sample was drawn: nobody is asked about them, "
            "and corrected estimates are about the others"
        )
    for one in found.annotators:
        if one.breaks:
            yield f"left out: {one.annotator}, {'; '.join(one.breaks)}"
        elif one.gold_right is not None:
            yield f"{one.annotator}: {one.gold_right:.0%} of {one.gold_answers} gold answers right"


def _people(rows: _Rows, kind: str) -> Iterator[str]:
    numbers = {
        (row["dimension"], row["method"], row["estimand"]): row
        for row in rows
        if row["reader"] == "people"
    }
    yield "".join([" " * _WIDE, *(f"{name:>{_NARROW}}" for name in _MEASURES), f"{'n':>{_NARROW}}"])
    dimensions = list(dict.fromkeys(key[0] for key in numbers if key[0] is not None))
    named = [(None, kind, "overall"), (None, f"{kind}, mean over dimensions", "mean of questions")]
    named += [(name, kind, name.replace("_", " ")) for name in sorted(dimensions)]
    for dimension, method, title in named:
        cells = [numbers.get((dimension, method, each)) for each in _MEASURES.values()]
        if cells[0] is not None:
            values = "".join(f"{_number(cell):>{_NARROW}}" for cell in cells)
            yield f"{title:<{_WIDE}}{values}{cells[0]['n']:>{_NARROW}}"
    fleiss = numbers.get((None, kind, "agreement_fleiss"))
    if fleiss is not None and fleiss["low"] is not None:
        yield f"Fleiss, overall: 95% of bootstraps over items in {_interval(fleiss)}"
    yield from _pairs(rows)
    for row in rows:
        if row["method"].endswith(" again") and row["estimand"] == "agreement_raw":
            who = row["method"].split(": ")[1]
            yield f"{who}: {_number(row)} the same, n {row['n']}"
    if any(row["method"].endswith(" again") for row in rows):
        yield (
            "(Missing answers such as `unknown` are left out here; the rule about repeats, and "
            "`progress`, count them, and of a list whether all of it is the same.)"
        )


def _pairs(rows: _Rows) -> Iterator[str]:
    """Cohen's kappa of each pair; where there are few, of each question, too."""
    pairs: dict[str, dict[str | None, dict[str, Any]]] = {}
    for row in rows:
        if " with " in row["method"]:
            pairs.setdefault(row["method"].split(": ")[1], {})[row["dimension"]] = row
    few = 1 < len(pairs) <= _FEW_PAIRS
    for number, (who, by) in enumerate(pairs.items(), 1):
        whole = by[None]
        spread = f" {_interval(whole)}" if _interval(whole) else ""
        start = f"({number}) " if few else ""
        yield f"Cohen, {start}{who}: {_number(whole)}{spread}, n {whole['n']}"
    if few:
        yield f"{'Cohen, pair':<{_WIDE}}" + "".join(
            f"{f'({number})':>{_NARROW}}" for number in range(1, len(pairs) + 1)
        )
        names = sorted({name for by in pairs.values() for name in by if name is not None})
        for name in names:
            values = "".join(f"{_number(by.get(name)):>{_NARROW}}" for by in pairs.values())
            yield f"{name.replace('_', ' '):<{_WIDE}}{values}"


def _readers(rows: _Rows, kind: str) -> Iterator[str]:
    mine = [row for row in rows if row["method"] == f"people {kind}" and row["generator"] is None]
    for reader in dict.fromkeys(row["reader"] for row in mine):
        by = {(row["dimension"], row["estimand"]): row for row in mine if row["reader"] == reader}
        yield ""
        yield f"{f'most people, and {reader}':<{_WIDE + _NARROW}}{'raw':>{_NARROW}}" + (
            f"{'kappa':>{_NARROW}}{'n':>{_NARROW}}{'missing':>{_NARROW}}"
        )
        dimensions = dict.fromkeys(key[0] for key in by)
        for dimension in sorted(dimensions, key=lambda name: name or ""):
            raw, kappa = by[dimension, "agreement_raw"], by[dimension, "agreement_kappa"]
            title = "overall" if dimension is None else dimension.replace("_", " ")
            yield (
                f"{title:<{_WIDE + _NARROW}}{_number(raw):>{_NARROW}}{_number(kappa):>{_NARROW}}"
                f"{raw['n']:>{_NARROW}}{raw['n_missing']:>{_NARROW}}"
            )


def _number(row: dict[str, Any] | None) -> str:
    if row is None or row["point"] is None:
        return "–"
    return f"{round(row['point'], 3) + 0.0:.3f}"  # no -0.000


def _interval(row: dict[str, Any]) -> str:
    return "" if row["low"] is None else f"[{row['low']:.3f}, {row['high']:.3f}]"
