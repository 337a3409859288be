from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.ids import (
    bytes_sha256,
    canonical_json,
    content_hash,
    file_sha256,
    image_seed,
    storable,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)  # fmt: skip


def test_frozen_values() -> None:
    # What older studies hold must be found again: these never change.
    assert canonical_json({"b": [1, 2.5, None], "a": "é"}) == '{"a":"é","b":[1,2.5,null]}'
    # The same text through coreutils: printf '{"a":1}' | sha256sum
    assert content_hash({"a": 1}, length=64) == (
        "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    )
    assert content_hash({"a": 1}) == "015abd7f5cc57a2dd94b"
    assert [image_seed(1, "nurse", k) for k in range(3)] == FROZEN_PAIRED
    assert image_seed(1, "nurse", 0, "p1") == FROZEN_INDEPENDENT


FROZEN_PAIRED = [765328800, 1782184804, 248188111]
FROZEN_INDEPENDENT = 1921733221


@given(VALUES)
def test_the_text_stands_for_the_value(value: object) -> None:
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(st.text(), st.integers()))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    backwards = dict(reversed(value.items()))
    assert content_hash(backwards) == content_hash(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_json_is_refused(value: float) -> None:
    with pytest.raises(ValueError):
        canonical_json(value)


def test_hash_of_a_file_is_the_hash_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"contextbias")
    expected = hashlib.sha256(b"contextbias").hexdigest()
    assert file_sha256(path) == bytes_sha256(b"contextbias") == expected


@given(st.integers(0, 2**63 - 1), st.text(max_size=20), st.integers(0, 10_000))
def test_seeds_fit_every_backend(study_seed: int, role: str, replicate: int) -> None:
    assert 0 <= image_seed(study_seed, role, replicate) < 2**31


def test_seeds_are_shared_or_not() -> None:
    paired = {image_seed(7, "nurse", 0) for _ in range(3)}
    independent = {image_seed(7, "nurse", 0, prompt) for prompt in ("p1", "p2", "p3")}
    assert (len(paired), len(independent)) == (1, 3)
    assert len({image_seed(7, "nurse", k) for k in range(1000)}) == 1000
    assert image_seed(7, "nurse", 0) != image_seed(7, "judge", 0)
    assert image_seed(7, "nurse", 0) != image_seed(8, "nurse", 0)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
        | st.binary() | st.sets(st.integers()),
        lambda inner: st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(), max_size=5) | st.integers(), inner)
        | st.tuples(inner, inner),
        max_leaves=12,
    )
)  # fmt: skip
def test_whatever_a_backend_says_can_be_stored(value: object) -> None:
    assert json.loads(canonical_json(storable(value)).encode()) == storable(value)


@given(VALUES)
def test_what_can_be_stored_is_left_alone(value: object) -> None:
    assert storable(value) == value


def test_half_a_surrogate_pair_and_no_number_become_texts() -> None:
    told = {"a\ud800": ["\udc00", float("nan"), float("-inf")]}
    assert storable(told) == {"a\\ud800": ["\\udc00", "nan", "-inf"]}
