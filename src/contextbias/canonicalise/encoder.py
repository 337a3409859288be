"""The sentence encoder: all-MiniLM-L6-v2 with int8 weights, on the CPU, without torch."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from contextbias.canonicalise.wordpiece import WordPiece
from contextbias.errors import MissingPart, pip_install
from contextbias.ids import content_hash
from contextbias.weights import require, select

Vectors = NDArray[np.float32]
"""Unit vectors, one row a term."""

WEIGHTS = ("minilm", "minilm-vocabulary")
"""Weight files that the encoder needs."""

DIMENSIONS = 384
"""Length of a vector."""

_READS = "latin"  # raised when terms get a vector that had none, or the other way about
_BATCH = 64
_ERRORS_ONLY = 3


class Encoder(Protocol):
    """What turns terms into vectors."""

    name: str
    """What it is called in a mapping: has to change when its vectors do."""

    def encode(self, terms: Sequence[str]) -> Vectors:
        """Unit vectors of `terms`, in their order; a term's vector depends on the term alone.

        Of a term that it cannot read the vector is zero.
        """
        ...


class MiniLM:
    """The packaged encoder.

    Args:
        folder: Folder of the weight files; None for the default cache.
        batch: Texts that are run together; changes no vector.

    Raises:
        MissingPart: onnxruntime is not installed, or a weight file is missing or damaged.
    """

    def __init__(self, folder: Path | None = None, *, batch: int = _BATCH) -> None:
        paths = require(WEIGHTS, folder)
        vocabulary = paths["minilm-vocabulary"]
        self._pieces = WordPiece.from_json(vocabulary.read_bytes(), where=str(vocabulary))
        self._run = _session(paths["minilm"])
        self._batch = batch
        self.name = encoder_name()

    def encode(self, terms: Sequence[str], say: Callable[[int], None] | None = None) -> Vectors:
        """Unit vectors: the mean over the tokens, of length one.

        The model knows English. What is written in another script, or has a word that its
        vocabulary lacks (an emoji, a word of over 100 letters), would be near to whatever else it
        cannot read; its vector is zero.

        Texts of the same number of tokens run together, so that nothing is padded: the vector of a
        term is the same to the last bit in whichever company it is encoded.

        Args:
            terms: Any texts.
            say: Told how many are done, now and then.
        """
        vectors = np.zeros((len(terms), DIMENSIONS), dtype=np.float32)
        by_length: dict[int, list[int]] = defaultdict(list)
        numbers = [self._pieces.encode(term) for term in terms]
        for place, pieces in enumerate(numbers):
            if self._pieces.unknown not in pieces and _is_latin(terms[place]):
                by_length[len(pieces)].append(place)
        done = 0
        for length in sorted(by_length):
            places = by_length[length]
            for start in range(0, len(places), self._batch):
                some = places[start : start + self._batch]
                tokens = np.array([numbers[place] for place in some], dtype=np.int64)
                vectors[some] = _unit(self._run(tokens))
                done += len(some)
                if say is not None:
                    say(done)
        return vectors


def encoder_name() -> str:
    """Name of the packaged encoder: a hash over its files and over what it is taken to read.

    Known without having the files.
    """
    files = [weight.sha256 for weight in select(WEIGHTS)]
    return "minilm-int8-" + content_hash([_READS, files], length=12)


def _is_latin(term: str) -> bool:
    letters = (letter for letter in term if letter.isalpha())
    return all(unicodedata.name(letter, "").startswith("LATIN ") for letter in letters)


def _unit(states: NDArray[np.float32]) -> Vectors:
    means = states.mean(axis=1, dtype=np.float64)
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    return np.asarray(means / np.maximum(lengths, 1e-12), dtype=np.float32)


def _session(path: Path) -> Callable[[NDArray[np.int64]], NDArray[np.float32]]:
    try:
        import onnxruntime
    except ImportError:
        raise MissingPart(
            "the sentence encoder needs onnxruntime", pip_install("contextbias[encoder]")
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    session = onnxruntime.InferenceSession(
        path.read_bytes(), options, providers=["CPUExecutionProvider"]
    )

    def run(tokens: NDArray[np.int64]) -> NDArray[np.float32]:
        """Last hidden state, (texts, tokens, 384)."""
        feed = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        return np.asarray(session.run(["last_hidden_state"], feed)[0], dtype=np.float32)

    return run
