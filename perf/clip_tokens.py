"""Make ``bench/data/clip_tokens.toml``: how many CLIP tokens each piece of the banks has.

    python perf/clip_tokens.py bpe_simple_vocab_16e6.txt.gz

The vocabulary is that of the released CLIP models (MIT licence); it is in the package clip-anytorch
2.6.0, for example. Options and axes of the banks are included.
"""

from __future__ import annotations

import gzip
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from contextbias.bench import BenchOptions, build_prompts, load_bank, shipped_banks
from contextbias.bench.tokens import pieces

TARGET = Path(__file__).parents[1] / "src/contextbias/bench/data/clip_tokens.toml"
WIDTH = 110
MERGES = 49152 - 256 - 2
END = "</w>"
HEAD = """# Pieces of the banks' sentences by number of CLIP tokens, from the byte pairs of the
# released CLIP models (bpe_simple_vocab_16e6, 924691ac288e5440…); made by perf/clip_tokens.py.

[pieces]
"""


def letters() -> dict[int, str]:
    """Byte -> the character that stands for it in the vocabulary."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in own]
    return {byte: chr(byte) for byte in own} | {b: chr(256 + i) for i, b in enumerate(others)}


def merges(path: Path) -> dict[tuple[str, str], int]:
    """Pair -> its rank."""
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")[1 : MERGES + 1]
    pairs = [line.split() for line in lines]
    return {(first, second): rank for rank, (first, second) in enumerate(pairs)}


def count(piece: str, ranks: dict[tuple[str, str], int]) -> int:
    """Tokens of one piece: merge the pair of lowest rank until none is left."""
    as_letter = letters()
    symbols = [as_letter[byte] for byte in piece.encode()]
    symbols[-1] += END
    while len(symbols) > 1:
        best = min(pairwise(symbols), key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        merged, i = [], 0
        while i < len(symbols):
            if tuple(symbols[i : i + 2]) == best:
                merged.append("".join(best))
                i += 2
            else:
                merged.append(symbols[i])
                i += 1
        symbols = merged
    return len(symbols)


def all_pieces() -> set[str]:
    """Every piece of the shipped banks, with every option."""
    found: set[str] = set()
    for name in shipped_banks():
        bank = load_bank(name)
        options = BenchOptions(balanced=True, axes=tuple(axis.name for axis in bank.axes))
        texts = [prompt.text for prompt in build_prompts(bank, None, options)]
        texts += [context.text for context in bank.everyday]
        texts += [context.text for role in bank.roles for context in role.related]
        found.update(piece for text in texts for piece in pieces(text))
    return found


def main() -> None:
    """Write the table."""
    ranks = merges(Path(sys.argv[1]))
    by_count: dict[int, list[str]] = defaultdict(list)
    for piece in sorted(all_pieces()):
        by_count[count(piece, ranks)].append(piece)
    text = HEAD
    for number, listed in sorted(by_count.items()):
        rows, row = [], ""
        for piece in listed:
            if len(row) + len(piece) >= WIDTH:
                rows.append(row)
                row = ""
            row += f"{piece} "
        text += f'{number} = """\n' + "\n".join(r.rstrip() for r in (*rows, row)) + '"""\n'
    TARGET.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
