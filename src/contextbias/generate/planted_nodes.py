"""From tables to a network: the nodes of one prompt's pictures, in sampling order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from contextbias.generate.network import Floats, Network, Node
from contextbias.generate.planted_tables import (
    GENDERS,
    PERSON_TRAITS,
    Distribution,
    Look,
    Outfit,
    Place,
    everyday_look,
    hair_color,
    jewellery,
    role_look,
    table,
)
from contextbias.schema.records import NOT_APPLICABLE

ROLE = "role"
"""Answer of the node ``follows``: the picture shows the role's person."""

EVERYDAY = "place"
"""Answer of the node ``follows``: the picture shows the everyday person of the place."""

ACCESSORY = "accessory:"
"""Prefix of the nodes that say whether an accessory is worn."""

ITEM = "item:"
"""Prefix of the nodes that say whether an item is there."""

YES = "yes"
"""Answer of a node about presence."""

SEPARATOR = "|"
"""Between the garments of an outfit, and between the colours of a colouring."""

_NO_YES = ("no", YES)
_FOLLOWS_GENDER = ("follows", "gender_presentation")


def build_network(role: str, condition: str, place: Place, place_share: float) -> Network:
    """Build the network of one role, condition and kind of place.

    Args:
        role: Any role name.
        condition: CF, CA-R or CA-U.
        place: The kind of place.
        place_share: Probability that a picture follows the place instead of the role.
    """
    looks = (role_look(role), everyday_look(place))
    follows = Node("follows", (ROLE, EVERYDAY), (), np.array([1 - place_share, place_share]))
    person = [
        _from_rows("gender_presentation", ("follows",), [look.gender for look in looks]),
        *(_trait(name, looks) for name in PERSON_TRAITS),
    ]
    clothes = _outfit_nodes(looks)
    return Network(
        [
            follows,
            *person,
            _hair_color(person),
            *clothes,
            *_accessory_nodes(looks, clothes[0]),
            *_item_nodes(looks, place),
            *_scene_nodes(looks[0], condition, place),
        ]
    )


def _from_rows(name: str, parents: tuple[str, ...], rows: Sequence[Distribution]) -> Node:
    """A node with one parent, one row for each of its values; or a root, with one row in all."""
    values = _labels(rows)
    cells = [[row.get(label, 0.0) for label in values] for row in rows]
    return Node(name, values, parents, np.array(cells if parents else cells[0]))


def _labels(rows: Sequence[Distribution]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for row in rows for label in row))


def _trait(name: str, looks: Sequence[Look]) -> Node:
    rows = [[look.traits[name][gender] for gender in GENDERS] for look in looks]
    values = _labels([row for look in rows for row in look])
    cells = [[[row.get(v, 0.0) for v in values] for row in look] for look in rows]
    return Node(name, values, _FOLLOWS_GENDER, np.array(cells))


def _hair_color(person: Sequence[Node]) -> Node:
    ages = next(node.values for node in person if node.name == "age_range")
    skins = next(node.values for node in person if node.name == "skin_tone")
    rows = [[hair_color(age, skin) for skin in skins] for age in ages]
    values = _labels([row for age in rows for row in age])
    cells = [[[row.get(v, 0.0) for v in values] for row in age] for age in rows]
    return Node("hair_color", values, ("age_range", "skin_tone"), np.array(cells))


def _outfit_nodes(looks: Sequence[Look]) -> tuple[Node, Node]:
    """The outfit given who is followed and the presentation, and the colouring given the outfit."""
    outfits = [outfit for look in looks for outfit in look.outfits]
    names = tuple(f"{i}{SEPARATOR}{SEPARATOR.join(o.garments)}" for i, o in enumerate(outfits))
    cells = [[_worn(look.outfits, outfits, gender) for gender in GENDERS] for look in looks]
    outfit = Node("outfit", names, _FOLLOWS_GENDER, np.array(cells))
    colorings = [
        {SEPARATOR.join(colors): 1 / len(each.colors) for colors in each.colors} for each in outfits
    ]
    return outfit, _from_rows("coloring", ("outfit",), colorings)


def _worn(own: Sequence[Outfit], outfits: Sequence[Outfit], gender: str) -> Floats:
    weights = np.array([o.weight if o in own and gender in o.presented else 0.0 for o in outfits])
    return np.asarray(weights / weights.sum())


def _accessory_nodes(looks: Sequence[Look], outfit: Node) -> list[Node]:
    """Worn if it comes with the outfit or, independently, as jewellery."""
    outfits = [each.accessories for look in looks for each in look.outfits]
    names = _labels([*map(jewellery, GENDERS), *outfits])
    nodes = []
    for name in names:
        absent = [
            [(1 - jewellery(g).get(name, 0.0)) * (1 - o.get(name, 0.0)) for o in outfits]
            for g in GENDERS
        ]
        parents = ("gender_presentation", outfit.name)
        nodes.append(_presence(ACCESSORY + name, parents, np.array(absent)))
    return nodes


def _item_nodes(looks: Sequence[Look], place: Place) -> list[Node]:
    """There if the person has it or, independently, if it stands in the scene."""
    names = _labels([*(look.items for look in looks), place.around])
    nodes = []
    for name in names:
        alone = [(1 - look.items.get(name, 0.0)) for look in looks]
        absent = np.array(alone) * (1 - place.around.get(name, 0.0))
        nodes.append(_presence(ITEM + name, ("follows",), absent))
    return nodes


def _presence(name: str, parents: tuple[str, ...], absent: Floats) -> Node:
    return Node(name, _NO_YES, parents, np.stack([absent, 1 - absent], axis=-1))


def _scene_nodes(look: Look, condition: str, place: Place) -> list[Node]:
    light = place.color_temperature or look.scene["color_temperature"]
    camera = table("planted")["camera"]
    return [
        _from_rows("mood", (), [look.scene["mood"]]),
        _from_rows("color_temperature", (), [light]),
        _from_rows("weather", (), [place.weather or {NOT_APPLICABLE: 1.0}]),
        _from_rows("depth_of_field", (), [camera["depth_of_field"][condition]]),
        _from_rows("framing", (), [camera["framing"][condition]]),
    ]
