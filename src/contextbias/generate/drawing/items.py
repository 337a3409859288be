"""Objects: which are known, and their drawing. The art is in ``data/items.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from contextbias.generate.drawing.svg import Ink

_SOFT = re.compile(r"soft\((#[0-9a-f]{6})\)")


@dataclass(frozen=True, slots=True)
class Item:
    """One kind of object, drawn about the point where a hand holds it."""

    name: str
    """As in the record."""
    hold: str
    """grip, hang, hug, both, neck or floor; see ``data/items.toml``."""
    foot: float
    """y of the lowest point when it stands."""
    half: float
    """Half the width when it stands or lies."""
    svg: str
    """The drawing, with ``soft(#rrggbb)`` paints until they are resolved."""
    turn: float = 0.0
    """Degrees by which it leans in the hand."""
    lay: float = 0.0
    """Degrees by which it is turned when it lies on a table."""
    rest: float = 0.0
    """Of a thing that lies: its middle's distance from the hand. Of a tall tool: from hand to ground."""
    big: bool = False
    """It stands on the floor, never on a table."""


@cache
def _catalogue() -> tuple[Mapping[str, Item], Mapping[str, str]]:
    text = files("contextbias.generate.drawing").joinpath("data/items.toml").read_text("utf-8")
    items, names = {}, {}
    for name, row in tomllib.loads(text).items():
        also = row.pop("also", [])
        items[name] = Item(name=name, **row)
        names.update(dict.fromkeys((name, *also), name))
    return items, names


def item_names() -> tuple[str, ...]:
    """All objects that are drawn, sorted."""
    return tuple(sorted(_catalogue()[0]))


def known_items(words: object) -> list[Item]:
    """The drawn objects among `words`, in their order and each once; unknown words are left out."""
    items, names = _catalogue()
    listed = [w for w in words if isinstance(w, str)] if isinstance(words, list) else []
    found = [names.get(w.replace("_", " ").strip().lower()) for w in listed]
    return [items[name] for name in dict.fromkeys(found) if name]


def painted(ink: Ink, item: Item) -> Item:
    """The same object with its gradients defined in `ink`."""
    return replace(item, svg=_SOFT.sub(lambda match: ink.soft(match[1]), item.svg))
