"""The finding in words: one card a generator, each sentence beside the number that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from markupsafe import Markup

from contextbias.report import formats
from contextbias.report.basis import (
    Basis,
    basis_of,
    headline,
    outcome,
    sentence,
    support,
    warnings,
)
from contextbias.report.inputs import ALL
from contextbias.report.leading import LEADING, Leading, leading_of
from contextbias.report.select import (
    Index,
    Number,
    cohort_of,
    dimension_order,
    generators_in,
    index,
    leading_support,
)

_VERDICTS = ("invariant", "inconclusive", "shifted")
_MOST_TIED = 3
"""Labels of a tie that are named."""
_WITHOUT_FINDING = {
    "few": "too few roles stand behind the numbers",
    "no_interval": "there is no interval",
    "no_people": "attributes of people could not be compared",
    "pooled_only": "labels were only pooled over roles",
}


@dataclass(frozen=True, slots=True)
class Bar:
    """Where an interval lies on a shared axis, in percent of its width."""

    left: float
    width: float
    dot: float
    zero: float


@dataclass(frozen=True, slots=True)
class Contrast:
    """One difference of conditions on a card."""

    name: str
    """What differs, in words."""
    hint: str
    """Estimand and support."""
    number: str
    """The difference with its sign."""
    interval: str
    """Its interval."""
    bar: Bar | None
    """Its drawing; None without an interval."""
    note: str
    """A word of caution, or empty."""
    cohort: str
    """``people`` or ``all``: the colour of the drawing."""


@dataclass(frozen=True, slots=True)
class Shares:
    """How the verdicts divide the supported associations of one scope."""

    scope: str
    """``All cohorts`` or ``People``."""
    paper: str
    """Share called invariant by the paper's rule."""
    segments: tuple[tuple[str, float, str], ...]
    """Verdict, share in percent for drawing, share as text."""
    n: str
    """Supported associations."""


@dataclass(frozen=True, slots=True)
class Card:
    """The finding about one generator."""

    generator: str
    headline: str
    outcome: str
    """``changed``, ``same``, ``few``, ``no_interval``, ``no_people`` or ``pooled_only``."""
    sentences: tuple[str, ...]
    """What the leading number says, and what it rests on."""
    warnings: tuple[str, ...]
    """Why the finding is weak; shown prominently."""
    contrasts: tuple[Contrast, ...]
    leading: Leading
    """The contrast that the card is about."""
    shares: tuple[Shares, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """What the images of one group show most often in one dimension."""

    generator: str
    dimension: str
    label: str
    """The label; of several that are as frequent, all, and that they are tied."""
    share: str
    interval: str
    read: str
    missing: str


def descriptions(frame: pl.DataFrame) -> list[Description]:
    """The most frequent label of each dimension, for images of one role and one condition."""
    keys = ("generator", "dimension", "label", "role", "condition")
    best: dict[tuple[str, str], tuple[list[str], Number]] = {}
    for key, number in index(frame, "prevalence", keys).items():
        if key[4] == ALL or not number.point:
            continue
        known = best.get((key[0], key[1]))
        if known is None or number.point > (known[1].point or 0.0):
            best[key[0], key[1]] = ([key[2]], number)
        elif number.point == known[1].point:
            known[0].append(key[2])
    names = dimension_order({key[1] for key in best})
    people_first = sorted(names, key=lambda name: cohort_of(name) != "people")
    order = {name: rank for rank, name in enumerate(people_first)}
    return [
        Description(
            generator=generator,
            dimension=formats.capital(dimension),
            label=_tied(labels),
            share=formats.percent(number.point),
            interval=formats.share_interval(number.low, number.high),
            read=formats.whole(number.n),
            missing=formats.whole(number.n_missing),
        )
        for (generator, dimension), (labels, number) in sorted(
            best.items(), key=lambda item: (item[0][0], order[item[0][1]])
        )
    ]


def _tied(labels: Sequence[str]) -> str:
    """The most frequent labels for reading; of many the first few."""
    names = [formats.words(name) for name in sorted(labels)]
    if len(names) == 1:
        return names[0]
    more = len(names) - _MOST_TIED
    shown = [*names[:_MOST_TIED], f"{more} more"] if more > 0 else names
    return f"{', '.join(shown)} (tied)"


def cards(
    frame: pl.DataFrame, order: Sequence[str], *, alpha: float = 0.05, bootstrap: int = 1000
) -> list[Card]:
    """One card for each generator that has contrasts; empty when nothing can be compared.

    Args:
        frame: Estimates of one reader.
        order: Generators in the order of the configuration.
        alpha: Intervals of Bias Intensity have the level 1 - alpha.
        bootstrap: Resamples behind an interval; 0 when none were asked for.
    """
    support = leading_support(frame)
    bi = {name: index(frame, name, support=support) for name in ("bi_role", "bi_pooled")}
    shares = {
        name: index(frame, name, ("generator", "cohort"))
        for name in ("share_invariant_paper", *(f"share_{verdict}" for verdict in _VERDICTS))
    }
    names = generators_in(frame, order, mean=False)
    leads = {name: lead for name in names if (lead := leading_of(bi, name)) is not None}
    shown = {name: _contrast_numbers(bi, name, lead.contrast) for name, lead in leads.items()}
    ends = _ends([number for found in shown.values() for _, _, number in found])
    return [
        _card(
            basis_of(frame, bi["bi_role"], name, alpha, bootstrap, lead), shown[name], ends, shares
        )
        for name, lead in leads.items()
    ]


def lead_sentence(found: Sequence[Card]) -> Markup:
    """The finding over all generators in a few sentences, names of generators marked as such."""
    parts: list[Markup] = []
    for leading in LEADING.values():
        parts += _found([card for card in found if card.leading == leading], leading)
    for kind, why in _WITHOUT_FINDING.items():
        if named := _named(found, kind):
            text = "Whether the presentation of people changes cannot be said for {}: {}."
            parts.append(Markup(text).format(_join(named), why))
    return Markup(" ").join(parts)


def _found(cards: Sequence[Card], leading: Leading) -> list[Markup]:
    """Sentences about the generators of one contrast of which something can be said."""
    changed, same = _named(cards, "changed"), _named(cards, "same")
    parts = []
    if changed:
        text = "{}, the presentation of people in pictures by {} changes."
        parts.append(Markup(text).format(leading.when, _join(changed)))
    if same:
        text = (
            "For {1} no such change is shown"
            if changed
            else "{0}, no change in how people are presented is shown for {1}"
        )
        text += ": the interval of the difference in concentration includes 0."
        parts.append(Markup(text).format(leading.when, _join(same)))
    return parts


def _named(cards: Sequence[Card], kind: str) -> list[str]:
    return [card.generator for card in cards if card.outcome == kind]


def _contrast_numbers(
    bi: dict[str, Index], generator: str, contrast: str
) -> list[tuple[str, str, Number]]:
    found = []
    for cohort in ("people", ALL):
        for estimand in ("bi_role", "bi_pooled"):
            number = bi[estimand].get((generator, None, contrast, cohort, None))
            if number is not None and number.point is not None:
                found.append((estimand, cohort, number))
    return found


def _card(
    basis: Basis,
    found: Sequence[tuple[str, str, Number]],
    ends: tuple[float, float],
    shares: dict[str, Index],
) -> Card:
    divided = [_shares(shares, basis.generator, cohort) for cohort in (ALL, "people")]
    return Card(
        generator=basis.generator,
        headline=headline(basis),
        outcome=outcome(basis),
        sentences=(sentence(basis), *support(basis)),
        warnings=warnings(basis),
        contrasts=tuple(_contrast(*row, ends) for row in found),
        leading=basis.leading,
        shares=tuple(part for part in divided if part is not None),
    )


def _contrast(estimand: str, cohort: str, number: Number, ends: tuple[float, float]) -> Contrast:
    view = "within roles" if estimand == "bi_role" else "pooled over roles"
    return Contrast(
        name=f"{'Overall' if cohort == ALL else formats.capital(cohort)}, {view}",
        hint=f"{estimand}, {number.support or 'raw'} support",
        number=formats.signed(number.point),
        interval=formats.interval(number.low, number.high, sign=True),
        bar=_bar(number, ends),
        note=number.note or "",
        cohort=cohort,
    )


def _ends(numbers: Sequence[Number]) -> tuple[float, float]:
    values = [0.0]
    for number in numbers:
        values += [end for end in (number.point, number.low, number.high) if end is not None]
    low, high = min(values), max(values)
    pad = 0.08 * ((high - low) or 1.0)
    return low - pad, high + pad


def _bar(number: Number, ends: tuple[float, float]) -> Bar | None:
    if number.point is None or number.low is None or number.high is None:
        return None
    low, high = ends

    def place(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    left = place(number.low)
    width = round(place(number.high) - left, 2)
    return Bar(left=left, width=width, dot=place(number.point), zero=place(0.0))


def _shares(shares: dict[str, Index], generator: str, cohort: str) -> Shares | None:
    found = {name: numbers.get((generator, cohort)) for name, numbers in shares.items()}
    segments = []
    for verdict in _VERDICTS:
        number = found[f"share_{verdict}"]
        if number is not None and number.point is not None:
            segments.append((verdict, round(100 * number.point, 3), formats.percent(number.point)))
    paper = found["share_invariant_paper"]
    if paper is None or not segments:
        return None
    return Shares(
        scope="All cohorts" if cohort == ALL else formats.capital(cohort),
        paper=formats.percent(paper.point),
        segments=tuple(segments),
        n=formats.whole(paper.n),
    )


def _join(names: Sequence[str]) -> Markup:
    """Names as a list in a sentence, each marked: a name may be a word of the language."""
    marked = [Markup("<strong>{}</strong>").format(name) for name in names]
    if len(marked) == 1:
        return marked[0]
    return Markup("{} and {}").format(Markup(", ").join(marked[:-1]), marked[-1])
