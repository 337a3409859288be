"""WordPiece and the encoder: against Hugging Face, and that company changes no vector."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from contextbias.canonicalise.encoder import DIMENSIONS, WEIGHTS, MiniLM, encoder_name
from contextbias.canonicalise.wordpiece import WordPiece
from contextbias.errors import InputError, MissingPart
from contextbias.weights import require

SMALL = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "lab": 3, "##coat": 4, "coat": 5, "-": 6, "la": 7}

# tokenizers 0.22, Tokenizer.from_file("minilm-tokenizer.json"), no_padding(), encode(text).ids
EXPECTED = json.loads((Path(__file__).parent / "wordpiece.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("lab coat", [3, 5]),
        ("  LAB\tcoat ", [3, 5]),
        ("labcoat", [3, 4]),
        ("lab-coat", [3, 6, 5]),
        ("láb", [3]),  # accents are taken off
        ("lax", [0]),  # "la" is a token, but nothing begins with "##x"
        ("", []),
        ("a" * 101, [0]),
        ("la\u200bb", [3]),  # of no width
        ("lab\u4e2dcoat", [3, 0, 5]),
    ],
)
def test_wordpiece_by_hand(text: str, numbers: list[int]) -> None:
    assert WordPiece(SMALL).encode(text) == [1, *numbers, 2]


def test_long_texts_are_cut() -> None:
    assert WordPiece(SMALL).encode("lab " * 500) == [1] + [3] * 126 + [2]


@pytest.mark.parametrize("data", [b"{", b"[]", b"{}", b'{"model": {"vocab": 3}}', b"\xff"])
def test_another_file_is_no_vocabulary(data: bytes) -> None:
    with pytest.raises(InputError, match=r"it\.json is no tokenizer\.json"):
        WordPiece.from_json(data, where="it.json")


@pytest.mark.weights
def test_wordpiece_agrees_with_tokenizers() -> None:
    path = require(["minilm-vocabulary"])["minilm-vocabulary"]
    pieces = WordPiece.from_json(path.read_bytes())
    assert {text: pieces.encode(text) for text in EXPECTED} == EXPECTED


@pytest.mark.weights
def test_a_vector_does_not_depend_on_company() -> None:
    terms = ["lab coat", "white lab coat", "hat", "typing on a laptop", "hat", "coat", "über", ""]
    vectors = MiniLM().encode(terms)
    assert vectors.shape == (8, DIMENSIONS)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    for batch in (1, 2, 3):
        assert np.array_equal(MiniLM(batch=batch).encode(terms), vectors)
    assert np.array_equal(MiniLM().encode(terms[::-1]), vectors[::-1])
    alone = np.concatenate([MiniLM().encode([term]) for term in terms[:3]])
    assert np.array_equal(alone, vectors[:3])
    assert MiniLM().encode([]).shape == (0, DIMENSIONS)


@pytest.mark.weights
def test_vectors_of_like_terms_are_near() -> None:
    coat, medical, guitar = MiniLM().encode(["lab coat", "medical coat", "guitar"])
    assert coat @ medical > 0.6
    assert coat @ guitar < 0.4


@pytest.mark.weights
def test_what_it_cannot_read_has_no_vector() -> None:
    unread = [
        "👷",
        "安全帽",
        "听诊器",
        "ผ้ากันเปื้อน",
        "قبعة صلبة",
        "молоток",
        "x" * 101,
        "帽子 helmet",
    ]
    vectors = MiniLM().encode([*unread, "Schürze", "café", "3", "size 4 hat"])
    assert not vectors[: len(unread)].any()
    assert np.allclose(np.linalg.norm(vectors[len(unread) :], axis=1), 1, atol=1e-6)


def test_without_weights_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(MissingPart, match="models fetch") as raised:
        MiniLM(tmp_path)
    assert all(name in raised.value.problem for name in WEIGHTS)


def test_the_name_is_known_without_weights() -> None:
    assert encoder_name().startswith("minilm-int8-")
