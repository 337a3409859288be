"""How many tokens a sentence has for the CLIP text encoder (SDXL, Stable Diffusion 3.5, FLUX.1).

CLIP lowers the case, cuts a text into runs of letters, single digits and runs of marks, and encodes
each by byte pairs on its own. So the counts of the pieces decide that of the sentence, and a table
of pieces does for the vocabulary of 1.3 MB: ``data/clip_tokens.toml``, which holds every piece of
the banks that ship. A piece that is not in it counts as one token for each five letters begun, an
estimate; `TokenCount.is_exact` says so.

T5, the other encoder of Stable Diffusion 3.5 and FLUX.1, and that of Qwen-Image have room for 256
tokens and more; the sentences are far from it, and their counts are not given here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

CLIP_LIMIT = 77
"""Tokens that CLIP takes in, start and end included; what is beyond is cut off."""

_PIECE = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d|[^\W\d_]+|\d|[^\s\w]+|_+")
_START_AND_END = 2
_LETTERS_A_TOKEN = 5


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of one sentence."""

    number: int
    """Start and end included."""
    is_exact: bool
    """False: a piece of it is not in the table, and its tokens are estimated."""


def pieces(text: str) -> list[str]:
    """Cut a text as CLIP does, before byte pairs are merged."""
    return _PIECE.findall(" ".join(text.lower().split()))


def clip_tokens(text: str) -> TokenCount:
    """Count the tokens of a sentence, start and end included."""
    found, table = pieces(text), _table()
    unknown = [piece for piece in found if piece not in table]
    known = sum(table[piece] for piece in found if piece in table)
    estimated = sum(-(-len(piece) // _LETTERS_A_TOKEN) for piece in unknown)
    return TokenCount(_START_AND_END + known + estimated, not unknown)


@cache
def _table() -> Mapping[str, int]:
    text = files("contextbias.bench").joinpath("data", "clip_tokens.toml").read_text("utf-8")
    by_count = tomllib.loads(text)["pieces"]
    return {piece: int(count) for count, listed in by_count.items() for piece in listed.split()}
