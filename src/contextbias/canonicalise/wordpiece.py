"""WordPiece: a text in the subwords of a given vocabulary, as the encoder was trained on.

Written out, because it is short and a tokeniser package would be the only use of that package. The
tests hold it to token numbers that Hugging Face's tokenizers gave for the same file.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping

from contextbias.errors import InputError

_CLS, _SEP, _UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
_MAX_WORD = 100  # of the model: a longer word is unknown
_MAX_TOKENS = 128  # of the model: what comes later is cut off

_CONTROL = frozenset({"Cc", "Cf", "Co", "Cs"})

# Ideographs stand alone, each a word.
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class WordPiece:
    """An uncased tokeniser.

    Args:
        vocabulary: Token -> number; has to hold ``[CLS]``, ``[SEP]`` and ``[UNK]``.
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary

    @classmethod
    def from_json(cls, data: bytes, *, where: str = "the vocabulary") -> WordPiece:
        """Take the vocabulary out of a ``tokenizer.json``.

        Raises:
            InputError: It is not such a file.
        """
        try:
            vocabulary = json.loads(data)["model"]["vocab"]
            return cls({str(token): int(number) for token, number in vocabulary.items()})
        except (ValueError, TypeError, KeyError, AttributeError):
            raise InputError(
                f"{where} is no tokenizer.json with a WordPiece vocabulary",
                "run 'contextbias models fetch' again",
            ) from None

    @property
    def unknown(self) -> int:
        """Number of the token that stands for a word that the vocabulary cannot spell."""
        return self._vocabulary[_UNKNOWN]

    def encode(self, text: str) -> list[int]:
        """Token numbers of `text`, with the marks of beginning and end; at most 128.

        Each word (what stands between spaces, punctuation apart) becomes the longest token that it
        begins with, then the longest ``##`` token that the rest begins with, and so on; a word for
        which this fails is ``[UNK]``.
        """
        tokens = [self._vocabulary[_CLS]]
        for word in _words(text):
            tokens.extend(self._pieces(word))
        return [*tokens[: _MAX_TOKENS - 1], self._vocabulary[_SEP]]

    def _pieces(self, word: str) -> list[int]:
        unknown = [self.unknown]
        if len(word) > _MAX_WORD:
            return unknown
        pieces: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._vocabulary.get(prefix + word[start:end])
                if number is not None:
                    pieces.append(number)
                    start = end
                    break
            else:
                return unknown
        return pieces


def _words(text: str) -> list[str]:
    plain = "".join(_spaced(character) for character in text)
    folded = "".join(
        character.lower()
        for character in unicodedata.normalize("NFD", plain)
        if unicodedata.category(character) != "Mn"
    )
    return "".join(f" {c} " if _is_punctuation(c) else c for c in folded).split()


def _spaced(character: str) -> str:
    """A character as it counts: space for any space, nothing for a control character."""
    category = unicodedata.category(character)
    if character in "\t\n\r" or category[0] == "Z":
        return " "
    if character in ("\ufffd", "\0") or category in _CONTROL:
        return ""
    number = ord(character)
    is_ideograph = any(low <= number <= high for low, high in _IDEOGRAPHS)
    return f" {character} " if is_ideograph else character


def _is_punctuation(character: str) -> bool:
    is_ascii_symbol = character.isascii() and character.isprintable() and not character.isalnum()
    return (is_ascii_symbol and character != " ") or unicodedata.category(character)[0] == "P"
