"""Prompts whose truth is known: how often a named label is drawn and read, in words and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from contextbias.report import formats
from contextbias.report.inputs import ALL
from contextbias.report.select import Index, Number, dimension_order, generators_in, index
from contextbias.schema import DIMENSIONS

PREFIX = "known_"
"""Begins the name of every estimand of this section."""

_RATES = ("known_accuracy", "known_compliance", "known_reader_accuracy")
_SCORES = ("known_precision", "known_recall", "known_f1")
_TITLES = {
    "known_accuracy": "Read as named",
    "known_compliance": "Drawn as named",
    "known_reader_accuracy": "Read as drawn",
    "known_precision": "Precision",
    "known_recall": "Recall",
    "known_f1": "F1",
}
_METHODS = dict.fromkeys(("known_accuracy", "known_precision", "known_recall"), "wilson-clustered")
_METHODS["known_f1"] = "prompt-bootstrap"
_GROUPS = {
    "role": "the role",
    "condition": "the condition",
    "generator": "the generator",
    "gender_presentation": "the apparent gender presentation",
    "skin_tone": "the apparent skin tone",
}
_TOGETHER = "all generators"
_READ, _NOT_READ = "label read", "label not read"


@dataclass(frozen=True, slots=True)
class KnownCell:
    """One share."""

    share: str
    """In whole percent; the mark of a missing number."""
    hint: str
    """Its interval, in percent."""


@dataclass(frozen=True, slots=True)
class KnownRow:
    """One generator, dimension or group."""

    name: str
    cells: tuple[KnownCell, ...]
    """One a column."""
    images: str
    """Images behind it, and how many were not answered."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """What was read where each label of one dimension was named."""

    dimension: str
    columns: tuple[str, ...]
    """Answers: labels first, then reasons why there is none."""
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Named label, its images, and the share of each answer; empty for none."""


@dataclass(frozen=True, slots=True)
class Known:
    """Everything that known prompts say about one reader."""

    columns: tuple[str, ...]
    """Titles of the columns of `generators` and `dimensions`."""
    separated: bool
    """True where pictures know their truth, so that drawing and reading stand apart."""
    generators: tuple[KnownRow, ...]
    macro: tuple[str, ...]
    """Sentences about means over dimensions and over roles."""
    dimensions: tuple[KnownRow, ...]
    differences: tuple[str, ...]
    """One sentence a comparison."""
    groups: tuple[tuple[str, tuple[KnownRow, ...]], ...]
    """What is compared, and the rows of its groups."""
    confusions: tuple[Confusion, ...]


def known(frame: pl.DataFrame, order: Sequence[str], *, alpha: float) -> Known | None:
    """Gather what the estimates say about known prompts.

    Args:
        frame: Estimates of one reader.
        order: Generators in the order of the configuration.
        alpha: Level of the tests.

    Returns:
        None where the study has none (`contextbias validate` makes them).
    """
    own = frame.filter(pl.col("estimand").str.starts_with(PREFIX))
    if own.is_empty():
        return None
    names = [name for name in (*_RATES, *_SCORES) if (own["estimand"] == name).any()]
    drawn = own.filter(pl.col("estimand") == "known_accuracy")
    generators: list[str | None] = list(generators_in(drawn, order, mean=False))
    whole = generators[0] if len(generators) == 1 else None
    generators = generators if len(generators) == 1 else [None, *generators]
    keys = ("generator", "condition", "cohort", "dimension", "label")
    numbers = {name: index(own, name, keys, method=_METHODS.get(name)) for name in names}
    by_dimension = [
        _row(formats.capital(d), numbers, (whole, ALL, DIMENSIONS[d].cohort, d, None))
        for d in dimension_order(drawn["dimension"].drop_nulls().unique())
    ]
    return Known(
        columns=tuple(_TITLES[name] for name in names),
        separated="known_compliance" in names,
        generators=tuple(
            _row(name or _TOGETHER, numbers, (name, ALL, ALL, None, None)) for name in generators
        ),
        macro=tuple(_macro(own, whole)),
        dimensions=tuple(by_dimension),
        differences=tuple(_differences(own, alpha)),
        groups=tuple(_groups(own, numbers["known_accuracy"], whole, generators)),
        confusions=tuple(_confusions(own)),
    )


def _row(name: str, numbers: dict[str, Index], key: tuple[str | None, ...]) -> KnownRow:
    found = [of.get(key) for of in numbers.values()]
    return KnownRow(name, tuple(map(_cell, found)), _images(found[0]))


def _cell(number: Number | None) -> KnownCell:
    if number is None or number.point is None:
        return KnownCell(formats.MISSING, "")
    hint = formats.share_interval(number.low, number.high)
    return KnownCell(formats.coarse_percent(number.point), hint)


def _images(number: Number | None) -> str:
    if number is None:
        return formats.MISSING
    missing = f", {formats.whole(number.n_missing)} not answered" if number.n_missing else ""
    return f"{formats.whole(number.n)}{missing}"


def _macro(own: pl.DataFrame, whole: str | None) -> Iterable[str]:
    for over in ("dimensions", "roles"):
        key = (whole, ALL, ALL)
        found = [
            index(own, name, ("generator", "condition", "cohort"), method=f"macro-{over}").get(key)
            for name in _SCORES
        ]
        if any(number is None or number.point is None for number in found):
            continue
        parts = [
            f"{_TITLES[name] if name == 'known_f1' else _TITLES[name].lower()} "
            f"{_cell(number).share} {_cell(number).hint}".rstrip()
            for name, number in zip(_SCORES, found, strict=True)
        ]
        count = formats.whole(found[-1].n if found[-1] else None)
        yield f"Mean over {count} {over}, each weighing the same: {', '.join(parts)}."


def _differences(own: pl.DataFrame, alpha: float) -> Iterable[str]:
    for group, words in _GROUPS.items():
        q = index(own, "known_errors_q", (), method=f"by {group}").get(())
        if q is None or q.point is None:
            yield f"By {words}: nothing to compare."
            continue
        what = "prompts" if group in ("role", "condition") else "pictures"
        said = (
            f"errors are more frequent in some groups than in others (q = {_q(q.point)}"
            if q.point < alpha
            else f"no difference was shown, which is not the same as none (q = {_q(q.point)}"
        )
        yield f"By {words}: {said}, {formats.whole(q.n)} {what} that could tell)."


def _q(value: float) -> str:
    return formats.p_value(value)


def _groups(
    own: pl.DataFrame, accuracy: Index, whole: str | None, generators: Sequence[str | None]
) -> Iterable[tuple[str, tuple[KnownRow, ...]]]:
    """Accuracy of each group that the tests compare."""
    by_role = index(own, "known_accuracy", ("generator", "role"), method=_METHODS["known_accuracy"])
    roles = {role: number for (name, role), number in by_role.items() if name == whole}
    yield "Role", tuple(_group(str(role), roles[role]) for role in sorted(roles))
    conditions = [c for c in ("CF", "CA-R", "CA-U") if (whole, c, ALL, None, None) in accuracy]
    yield "Condition", tuple(_group(c, accuracy[whole, c, ALL, None, None]) for c in conditions)
    if len(generators) > 1:
        yield (
            "Generator",
            tuple(
                _group(str(name), accuracy[name, ALL, ALL, None, None]) for name in generators[1:]
            ),
        )
    for name in ("gender_presentation", "skin_tone"):
        found = index(own, f"known_accuracy_by_{name}", ("generator", "label"))
        rows = [
            _group(formats.words(label), found[whole, label])
            for label in DIMENSIONS[name].vocabulary
            if (whole, label) in found
        ]
        if rows:
            yield f"Apparent {formats.words(name)}", tuple(rows)


def _group(name: str, number: Number) -> KnownRow:
    return KnownRow(name, (_cell(number),), _images(number))


def _confusions(own: pl.DataFrame) -> Iterable[Confusion]:
    rows = own.filter(pl.col("estimand") == "known_read_as")
    for name in dimension_order(rows["dimension"].unique()):
        part = rows.filter(pl.col("dimension") == name)
        shares = {
            (str(label), str(method).removeprefix("read as ")): (float(point), int(n))
            for label, method, point, n in part.select("label", "method", "point", "n").iter_rows()
        }
        named = list(dict.fromkeys(label for label, _ in shares))
        answers = sorted(
            {answer for _, answer in shares},
            key=lambda y: (y.startswith("missing: "), y not in named, y),
        )
        is_list = DIMENSIONS[name].kind == "many"
        if is_list:  # whether the named label was read, in the place of a column for each label
            shares = {(y, _in_list(y, answer)): value for (y, answer), value in shares.items()}
            answers = [y for y in (_READ, _NOT_READ) if any(y == a for _, a in shares)]
            answers += sorted({a for _, a in shares} - {_READ, _NOT_READ})
        table = []
        for label in named:
            cells = tuple(
                formats.coarse_percent(shares[label, y][0]) if (label, y) in shares else ""
                for y in answers
            )
            images = next(n for (of, _), (_, n) in shares.items() if of == label)
            table.append((formats.words(label), formats.whole(images), cells))
        columns = tuple(formats.words(y.replace("missing: ", "not answered: ")) for y in answers)
        yield Confusion(formats.capital(name), columns, tuple(table))


def _in_list(named: str, answer: str) -> str:
    if answer.startswith("missing: "):
        return answer
    label = named.removeprefix("no ")
    return _READ if answer == label else _NOT_READ


# ---- files


def known_tables(read: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Tables of known prompts by file name; the paper's tables 1 and 7 among them.

    Args:
        read: Estimates of all readers.
    """
    own = read.filter(pl.col("estimand").str.starts_with(PREFIX))
    if own.is_empty():
        return {}
    keys = ("estimand", "reader", "generator", "role", "condition", "cohort", "dimension", "label")
    confusion = pl.col("estimand") == "known_read_as"
    tests = pl.col("estimand").is_in(["known_errors_p", "known_errors_q"])
    return {
        "known_prompts.csv": own.filter(~confusion & ~tests)
        .select(*keys, "method", "point", "low", "high", "n", "n_missing", "note")
        .sort(*keys, "method", nulls_last=True),
        "known_confusion.csv": own.filter(confusion)
        .select(
            "reader", "dimension", named="label",
            read=pl.col("method").str.strip_prefix("read as "), share="point", images="n",
        ),
        "known_differences.csv": _tests(own.filter(tests)),
        "paper_table_1.csv": _table_1(own),
        "paper_table_7.csv": _table_7(own),
    }  # fmt: skip


def _tests(rows: pl.DataFrame) -> pl.DataFrame:
    p, q = (
        rows.filter(pl.col("estimand") == f"known_errors_{name}").select(
            "reader", "n", compared=pl.col("method").str.strip_prefix("by "), **{name: "point"}
        )
        for name in ("p", "q")
    )
    return p.join(q.drop("n"), on=["reader", "compared"], how="left").select(
        "reader", "compared", "p", "q", could_tell="n"
    )


def _table_1(own: pl.DataFrame) -> pl.DataFrame:
    """One row a generator: accuracy, precision, recall, F1 with and without negatives, percent."""
    overall = own.filter(
        pl.col("cohort") == ALL,
        pl.col("condition") == ALL,
        pl.col("role").is_null(),
        pl.col("generator").is_not_null(),
        pl.col("method").is_in(["wilson-clustered", "prompt-bootstrap", "published"]),
        pl.col("label").is_null(),
    )
    name = pl.col("estimand").str.strip_prefix(PREFIX)
    named = overall.with_columns(
        what=pl.when(pl.col("method") == "published").then(pl.lit("f1_published")).otherwise(name)
    )
    wanted = ("accuracy", "precision", "recall", "f1", "f1_published")
    keys = ["reader", "generator"]
    table = named.filter(pl.col("what").is_in(wanted)).pivot(
        "what", index=keys, values="point", aggregate_function="first"
    )
    images = named.filter(pl.col("what") == "accuracy").select(*keys, images="n")
    return (
        table.join(images, on=keys, how="left")
        .select(*keys, *(pl.col(n) * 100 for n in wanted if n in table.columns), "images")
        .sort(keys)
    )


def _table_7(own: pl.DataFrame) -> pl.DataFrame:
    """One row a dimension, one column a generator: accuracy in percent."""
    rows = own.filter(
        pl.col("estimand") == "known_accuracy",
        pl.col("dimension").is_not_null(),
        pl.col("label").is_null(),
        pl.col("generator").is_not_null(),
    ).with_columns(percent=100 * pl.col("point"))
    if rows.is_empty():
        return rows
    keys = ["reader", "cohort", "dimension"]
    table = rows.pivot("generator", index=keys, values="percent", aggregate_function="first")
    return table.sort(keys)
