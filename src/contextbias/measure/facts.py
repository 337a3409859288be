"""Attributes to sums by prompt: one pass over the facts, a batch of whole images at a time.

The pass needs the rows of an image to stand together, as canonicalise writes them; facts in any
other order are brought into that order first, which takes memory for all of them. What is kept of
the images is one hash each, to see that no image comes twice.

Everything is numbers: a fact becomes the key (prompt, reader, dimension, label), packed into 64
bits, and the sums are counts of equal keys.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

from contextbias.errors import InputError
from contextbias.measure.keys import BITS, Counted, Integers, Table, counted, distinct, low, packed
from contextbias.schema import CODEBOOK_VERSION, DIMENSIONS, UNKNOWN
from contextbias.tables import CONDITIONS, EMPTY_LIST

Readable = Mapping[str, tuple[str, ...] | None]
"""Dimension -> the labels that a reader can tell apart (None: all); see tables.ReaderRow."""

PROMPT_KEYS = ("generator", "role", "condition", "prompt_id", "variant")
"""What an image shares with the other images of its prompt and generator."""

BATCH_ROWS = 200_000
"""Facts that are read at a time."""

_THREADS = min(4, os.cpu_count() or 1)

_COLUMNS = (
    "image_id", *PROMPT_KEYS, "reader", "person", "dimension", "label", "missing_reason",
)  # fmt: skip
_NAMES = tuple(DIMENSIONS)
READ = 0
"""Reason number of an answer."""
_NOT_READABLE = "not_readable"


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums of one reader's facts by prompt. Rows of every table are sorted by its keys."""

    prompts: pl.DataFrame
    """Columns of PROMPT_KEYS; a row's number is the prompt's in the other tables."""
    images: Integers
    """Images of each prompt, failed ones included, shape (prompts,)."""
    labels: tuple[str, ...]
    """Every label of any dimension, sorted; positions are the label numbers of `x`."""
    x: Integers
    """Shape (rows, 4): prompt, dimension (codebook order), label, images that show it."""
    answers: Integers
    """Shape (rows, 4): prompt, dimension, reason number (0: read), images."""
    reasons: tuple[str, ...]
    """Reason number less 1 -> reason."""


def sum_facts(
    attributes: pl.DataFrame | pl.LazyFrame,
    *,
    people: str,
    readable: Mapping[str, Readable] | None = None,
) -> dict[str, Sums]:
    """Sum the facts of every reader; arrays.py says what is counted.

    Args:
        attributes: Rows of tables.AttributeRow, of any number of readers. A lazy frame is read a
            batch at a time.
        people: ``primary`` for the most prominent person, ``any`` for whoever is visible.
        readable: Reader -> what it can tell apart; a reader left out can tell everything.

    Returns:
        Reader -> its sums, by name.

    Raises:
        ValueError: `people` is neither.
        InputError: A dimension or label that is not of this codebook.
    """
    if people not in ("primary", "any"):
        raise ValueError(f"people is 'primary' or 'any', not {people!r}")
    found = _pass(attributes, people, readable or {})
    if found.is_an_image_seen_twice():
        found = _pass(_in_order(attributes), people, readable or {})
    return found.sums()


def _pass(
    attributes: pl.DataFrame | pl.LazyFrame, people: str, readable: Mapping[str, Readable]
) -> _Pass:
    found = _Pass(people, readable)
    waiting: deque[Future[None]] = deque()
    # Sorting, casting and reading let other threads run; the order of batches is of no account.
    with ThreadPoolExecutor(_THREADS) as threads:
        for batch in _whole_images(attributes):
            waiting.append(threads.submit(found.add, batch))
            if len(waiting) > _THREADS:
                waiting.popleft().result()
        for last in waiting:
            last.result()
    return found


def _in_order(attributes: pl.DataFrame | pl.LazyFrame) -> pl.LazyFrame:
    """The rows of an image together."""
    return attributes.lazy().select(_COLUMNS).sort(*PROMPT_KEYS, "image_id").collect().lazy()


def _whole_images(attributes: pl.DataFrame | pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Batches that end where an image does."""
    source = attributes.lazy().select(_COLUMNS)
    height = int(source.select(pl.len()).collect().item())
    rest: pl.DataFrame | None = None
    for start in range(0, height, BATCH_ROWS):
        batch = source.slice(start, BATCH_ROWS).collect()
        rows = batch if rest is None else pl.concat([rest, batch])
        end = rows.height
        if start + BATCH_ROWS < height:
            ids = rows["image_id"]
            end = int((ids != ids[-1]).arg_true().max() or -1) + 1
        rest = rows.slice(end)
        if end:
            yield rows.slice(0, end)


@dataclass(slots=True)
class _Numbers:
    """Numbers for words, in order of appearance."""

    known: dict[str, int] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def of(self, words: pl.Series) -> Integers:
        """Number of each word; -1 for null."""
        there = words.is_not_null()
        told = words if there.all() else words.filter(there)
        if told.is_empty():
            return np.full(len(words), -1, dtype=np.int64)
        # Looking words up takes long: nulls, and a column of one word, are left out of it.
        same = bool((told == told[0]).all())
        numbers = self._numbers([told[0]]).repeat(len(told)) if same else self._looked_up(told)
        if len(told) == len(words):
            return numbers
        found = np.full(len(words), -1, dtype=np.int64)
        found[there.to_numpy()] = numbers
        return found

    def _looked_up(self, words: pl.Series) -> Integers:
        coded = words.cast(pl.Categorical)
        physical = coded.to_physical().to_numpy()
        used = coded.unique()
        table = np.empty(int(physical.max()) + 1, dtype=np.int64)
        table[used.to_physical().to_numpy()] = self._numbers(used.cast(pl.String))
        return np.asarray(table[physical])

    def _numbers(self, words: Iterable[str]) -> Integers:
        with self.lock:
            return np.array([self.known.setdefault(word, len(self.known)) for word in words])


class _Pass:
    """One pass over the facts."""

    def __init__(self, people: str, readable: Mapping[str, Readable]) -> None:
        self._people = people
        self._readable = readable
        self._lock = Lock()
        self._prompts: dict[tuple[str, ...], int] = {}
        self._readers, self._labels, self._reasons = _Numbers(), _Numbers(), _Numbers()
        self._hashes: list[NDArray[np.uint64]] = []
        self._x: list[Counted] = []
        self._answers: list[Counted] = []
        self._images: list[Counted] = []

    def add(self, batch: pl.DataFrame) -> None:
        """Add a batch of whole images."""
        image, prompt = self._place_images(batch)
        reader = self._readers.of(batch["reader"])
        dimension = _dimension_numbers(batch["dimension"])
        label = self._labels.of(batch["label"])
        self._check_room()
        reason = self._reason_numbers(batch["missing_reason"], label, reader, dimension)
        person = batch["person"].fill_null(-1).to_numpy()
        seen, _ = distinct((image << BITS["reader"]) + reader)
        places, readers = seen >> BITS["reader"], low(seen, "reader")
        self._images.append(counted(packed([prompt[places], readers, 0 * readers, 0 * readers])))
        order = _answer_order(image, reader, dimension, person)
        if self._people == "primary":
            order = order[person[order] <= 0]
        rows = (part[order] for part in (image, reader, dimension, reason, label))
        self._add_answers(prompt, *rows)

    def _add_answers(
        self,
        prompt: Integers,
        image: Integers,
        reader: Integers,
        dimension: Integers,
        reason: Integers,
        label: Integers,
    ) -> None:
        """Sum rows in which each answer (an image's to a dimension) stands together."""
        if not len(image):
            return
        changed = (np.diff(image) != 0) | (np.diff(reader) != 0) | (np.diff(dimension) != 0)
        first = np.flatnonzero(np.concatenate([[True], changed]))
        answer = np.repeat(np.arange(len(first)), np.diff(first, append=len(image)))
        where = [prompt[image[first]], reader[first], dimension[first]]
        # One answer makes the dimension read; without one the most prominent person's counts.
        read = np.minimum.reduceat(reason, first) == READ
        status = np.where(read, READ, reason[first])
        self._answers.append(counted(packed([*where, status])))
        shown = np.flatnonzero((label >= 0) & read[answer] & (reason == READ))
        answer, label = _once(answer[shown], label[shown])
        self._x.append(counted(packed([*(part[answer] for part in where), label])))

    def is_an_image_seen_twice(self) -> bool:
        """Whether the rows of an image stood apart."""
        hashes = np.sort(np.concatenate([np.empty(0, np.uint64), *self._hashes]))
        return bool(np.any(hashes[1:] == hashes[:-1]))

    def sums(self) -> dict[str, Sums]:
        """The sums of each reader."""
        labels = tuple(sorted(self._labels.known))
        rank = np.empty(len(labels), dtype=np.int64)
        rank[[self._labels.known[label] for label in labels]] = np.arange(len(labels))
        prompts = pl.DataFrame(list(self._prompts), schema=list(PROMPT_KEYS), orient="row")
        order = _prompt_order(prompts)
        place = np.argsort(order)
        x = Table(self._x, place, rank)
        answers, images = Table(self._answers, place), Table(self._images, place)
        _check_vocabulary(x, labels)
        found = {}
        for name, number in sorted(self._readers.known.items()):
            used = np.zeros(len(order), dtype=np.bool_)
            used[images.prompt[images.reader == number]] = True
            own = np.cumsum(used) - 1
            found[name] = Sums(
                prompts[order[used]],
                images.of_reader(number, own)[:, -1],
                labels,
                x.of_reader(number, own),
                answers.of_reader(number, own),
                tuple(self._reasons.known),
            )
        return found

    def _check_room(self) -> None:
        """Refuse more words than a key has numbers for: they would be counted as others."""
        for what, part, known in (
            ("prompts", "prompt", self._prompts),
            ("readers", "reader", self._readers.known),
            ("labels", "last", self._labels.known),
        ):
            if len(known) > 1 << BITS[part]:
                raise InputError(
                    f"the attributes have more than {1 << BITS[part]:,} {what}",
                    "make several studies of them",
                )

    def _place_images(self, batch: pl.DataFrame) -> tuple[Integers, Integers]:
        """Number of each row's image in the batch, and the prompt number of each image."""
        names = ("image_id", *PROMPT_KEYS)
        changed = batch.select(
            pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in names)
        ).to_series()
        first = changed.to_numpy().copy()
        first[:1] = True
        images = batch.select(names).filter(pl.Series(first))
        self._hashes.append(images.hash_rows(seed=1).to_numpy())
        apart = images.select(
            pl.any_horizontal(pl.col(n).ne_missing(pl.col(n).shift()) for n in PROMPT_KEYS)
        ).to_series()
        block = apart.to_numpy().copy()
        block[:1] = True
        rows = images.select(PROMPT_KEYS).filter(pl.Series(block)).rows()
        with self._lock:
            numbers = [self._prompts.setdefault(row, len(self._prompts)) for row in rows]
        prompt = np.asarray(numbers, dtype=np.int64)[np.cumsum(block) - 1]
        return np.cumsum(first) - 1, prompt

    def _reason_numbers(
        self, reasons: pl.Series, label: Integers, reader: Integers, dimension: Integers
    ) -> Integers:
        """0 where the row is an answer, else 1 more than the number of its reason."""
        number = self._reasons.of(reasons) + 1
        empty = self._reasons.known.get(EMPTY_LIST, -2) + 1
        untold = (number == 0) & (label < 0)
        if untold.any():
            number[untold] = self._reasons.of(pl.Series([""]))[0] + 1
        number[(label >= 0) | (number == empty)] = READ
        blind = self._blind_dimensions()
        if blind.any():
            unseen = self._reasons.of(pl.Series([_NOT_READABLE]))[0] + 1
            number[blind[reader, dimension]] = unseen
        return number

    def _blind_dimensions(self) -> NDArray[np.bool_]:
        """Shape (readers, dimensions): declared with fewer than two labels."""
        known = dict(self._readers.known)
        blind = np.zeros((len(known), len(_NAMES)), dtype=np.bool_)
        for name, number in known.items():
            for dimension, labels in self._readable.get(name, {}).items():
                if labels is not None and len(labels) < 2 and dimension in DIMENSIONS:
                    blind[number, _NAMES.index(dimension)] = True
        return blind


def _dimension_numbers(names: pl.Series) -> Integers:
    try:
        return names.cast(pl.Enum(_NAMES)).to_physical().cast(pl.Int64).to_numpy()
    except pl.exceptions.InvalidOperationError:
        unknown = sorted(set(names.unique()) - set(_NAMES), key=str)
        raise _foreign(f"the dimension {unknown[0]!r}") from None


def _check_vocabulary(x: Table, labels: Sequence[str]) -> None:
    """Refuse labels that a closed vocabulary lacks: they are of another codebook."""
    seen = np.zeros((len(_NAMES), len(labels)), dtype=np.bool_)
    seen[x.dimension, x.last] = True
    for dimension, label in zip(*np.nonzero(seen), strict=True):
        known = DIMENSIONS[_NAMES[dimension]]
        # A specification curve counts unknown answers as a label (specifications.py).
        if not known.is_open and labels[label] not in (*known.vocabulary, UNKNOWN):
            raise _foreign(f"the label {labels[label]!r} of {known.name}")


def _foreign(what: str) -> InputError:
    return InputError(
        f"the attributes have {what}, which is not in codebook {CODEBOOK_VERSION}",
        "run `contextbias canonicalise` with this version first",
    )


def _answer_order(
    image: Integers, reader: Integers, dimension: Integers, person: Integers
) -> Integers:
    """Order in which answers stand together, the most prominent person (or none) first."""
    most = int(person.max(initial=0)) + 2
    key = ((image << BITS["reader"]) + reader << BITS["dimension"]) + dimension
    key = key * most + person + 1
    if np.all(key[1:] >= key[:-1]):
        return np.arange(len(key))
    return np.argsort(key, kind="stable")


def _once(answer: Integers, label: Integers) -> tuple[Integers, Integers]:
    """Each label once an answer: two persons with one label are one image that shows it."""
    # Most answers have one label, and need no search for others like it.
    same = answer[1:] == answer[:-1]
    several = np.zeros(len(answer), dtype=np.bool_)
    several[1:] |= same
    several[:-1] |= same
    mentions, _ = distinct((answer[several] << BITS["last"]) + label[several])
    return (
        np.concatenate([answer[~several], mentions >> BITS["last"]]),
        np.concatenate([label[~several], low(mentions, "last")]),
    )


def _prompt_order(prompts: pl.DataFrame) -> Integers:
    """Positions of prompts by generator, role, condition, id."""
    conditions = pl.col("condition").cast(pl.Enum(CONDITIONS))
    ordered = prompts.with_row_index("number").with_columns(conditions).sort(*PROMPT_KEYS)
    return ordered["number"].cast(pl.Int64).to_numpy()
