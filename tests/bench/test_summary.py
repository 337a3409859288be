"""Counts, lengths, tokens and uses of contexts."""

from __future__ import annotations

import pytest

from contextbias.bench import (
    BenchOptions,
    build_prompts,
    distinct_contexts,
    load_bank,
    shipped_banks,
    summarise,
    summary_text,
)
from contextbias.bench.tokens import CLIP_LIMIT, clip_tokens, pieces

BANK = load_bank()
PROMPTS = build_prompts(BANK)

# What the released CLIP tokenizer gives, start and end included (package clip-anytorch 2.6.0;
# "a photo of a cat" is 49406 320 1125 539 320 2368 49407).
TOKENS = {
    "a photo of a nurse": 7,
    "a realistic image of a CEO": 8,
    "a photo of a doctor reviewing an X-ray in a health clinic": 16,
    "a photo of a welder repairing a ship's hull in a shipyard": 16,
    "ein Foto von einer Pflegefachkraft": 13,
}


def test_tokens_of_known_sentences() -> None:
    assert {text: clip_tokens(text).number for text in TOKENS} == TOKENS
    assert all(clip_tokens(text).is_exact for text in TOKENS)


def test_pieces_are_runs_of_letters_digits_and_marks() -> None:
    assert pieces("A ship's X-ray, 24  times") == [
        "a", "ship", "'s", "x", "-", "ray", ",", "2", "4", "times",
    ]  # fmt: skip


def test_an_unknown_piece_is_estimated_and_said() -> None:
    count = clip_tokens("a photo of a zzyzxian")  # 8 letters: two fives begun
    assert (count.number, count.is_exact) == (2 + 4 + 2, False)


@pytest.mark.parametrize("name", shipped_banks())
def test_every_piece_of_the_banks_is_in_the_table(name: str) -> None:
    bank = load_bank(name)
    options = BenchOptions(balanced=True, axes=tuple(axis.name for axis in bank.axes))
    counts = {p.text: clip_tokens(p.text) for p in build_prompts(bank, None, options)}
    stale = [text for text, count in counts.items() if not count.is_exact]
    assert not stale, "run perf/clip_tokens.py"
    assert max(count.number for count in counts.values()) < CLIP_LIMIT


def test_the_conditions_of_the_bank() -> None:
    found = {row.condition: row for row in summarise(PROMPTS)}
    assert {c: row.prompts for c, row in found.items()} == {"CF": 276, "CA-R": 644, "CA-U": 736}
    assert (found["CF"].contexts, found["CF"].places, found["CF"].activities) == (0, 0, 0)
    assert (found["CA-U"].places, found["CA-U"].activities) == (51, 78)
    # By hand: "a photo of a nurse" has 5 words, 18 characters and 7 tokens.
    assert (found["CF"].words.low, found["CF"].tokens.low) == (5, 7)
    # The confound that the documentation tells of.
    assert found["CF"].words.mean < 0.6 * found["CA-R"].words.mean
    assert found["CF"].tokens.mean < 0.65 * found["CA-R"].tokens.mean


def test_distinct_contexts_are_pairs() -> None:
    # CA-R: place, other place, activity at the place. CA-U: the same and another activity.
    one = build_prompts(BANK, ["nurse"])
    counts = [distinct_contexts(p for p in one if p.condition == c) for c in ("CF", "CA-R", "CA-U")]
    assert counts == [0, 3, 4]


def test_the_text_shows_lengths_variants_and_uses() -> None:
    text = summary_text(build_prompts(BANK, ["nurse", "doctor"]))
    rows = [row.split() for row in text.splitlines()]
    assert next(r for r in rows if r[:1] == ["CF"])[:5] == ["CF", "6", "0", "0", "0"]
    assert ["unrel-activity/substitute-activity", "2"] in rows
    assert ["hospital", "room", "place", "1"] in rows
    assert "Context-free sentences are shorter" in text
    assert not [row for row in text.splitlines() if row != row.rstrip()]


def test_nothing_at_all() -> None:
    assert summarise([]) == []
