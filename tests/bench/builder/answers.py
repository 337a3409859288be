"""What a good language model says about two roles, an everyday pool and an axis."""

from __future__ import annotations

import re
from typing import Any

CONTEXTS: dict[str, tuple[list[str], list[str], list[str]]] = {
    "beekeeper": (
        ["animals"],
        ["in an apiary", "beside a row of beehives", "in a honey processing room"],
        ["inspecting a honeycomb", "opening a beehive", "filling jars with honey"],
    ),
    "glassblower": (
        ["art"],
        ["in a glass workshop", "in a craft studio", "at a furnace"],
        ["shaping molten glass", "turning a glass vase", "cooling a finished bowl"],
    ),
    "imker": (
        ["animals"],
        ["in einer Imkerei", "in einem Bienenhaus", "auf einer Obstwiese"],
        ["beim Prüfen einer Wabe", "beim Öffnen eines Bienenstocks", "beim Abfüllen von Honig"],
    ),
}
"""Role -> tags, places, activities; all without a fault."""

FORMS = {"imker": {"m": "einem Imker", "f": "einer Imkerin"}}

VALUES = ["in a grainy look", "in a painted look", "in a plain look", "in a drawn look"]
"""Values of an axis."""

POOL_PLACES = [
    "park", "beach", "forest", "meadow", "harbor", "campground", "garden", "balcony", "kitchen",
    "hallway", "sidewalk", "crosswalk", "square", "bridge", "ferry", "diner", "bakery shop",
    "supermarket", "bookshop", "laundromat", "museum", "aquarium", "cinema", "arcade", "library",
    "station", "courtyard", "playground", "market hall", "greenhouse", "pier", "tram", "lobby",
    "plaza", "alley", "cafe", "chapel", "zoo", "fairground", "pavilion",
]  # fmt: skip


def answer_to(user: str) -> dict[str, Any]:
    """The answer to a question, by the words of its last turn."""
    if user.startswith(("Contexts of", "Values of")):
        return judgement(user)
    if user.startswith("Role: "):
        return contexts_of(re.match(r"Role: ([^\n(]+)", user).group(1).strip())  # type: ignore[union-attr]
    if user.startswith("A further axis"):
        return {"values": VALUES, "names": ["aesthetic_qualities", "no such dimension"]}
    return pool(re.search(r"Theme: (.+)", user).group(1))  # type: ignore[union-attr]


def contexts_of(role: str) -> dict[str, Any]:
    tags, places, activities = CONTEXTS[role]
    forms = FORMS.get(role, {"": role})
    return {
        "forms": [{"gender": gender, "text": text} for gender, text in forms.items()],
        "soc": "45-0000" if role != "glassblower" else "51-0000",
        "work": tags,
        "places": places,
        "activities": [
            # `at` as models write it: with preposition and article.
            {"text": text, "at": [places[0]], "names_a_visible_thing": True}
            for text in activities
        ],
    }


def judgement(user: str, scores: int = 5) -> dict[str, Any]:
    numbers = [int(n) for n in re.findall(r"^(\d+)\. ", user, re.MULTILINE)]
    return {
        "judgements": [
            {"candidate": n, "work": "typical", "relevance": scores, "looks": "nothing more",
             "neutrality": scores, "confounds": []}
            for n in numbers
        ]
    }  # fmt: skip


def pool(theme: str) -> dict[str, Any]:
    """Eight places of their own for each theme, two activities each."""
    themes = ["outdoors", "streets", "at home", "shops", "leisure"]
    number = next(n for n, word in enumerate(themes) if theme.startswith(word))
    places = POOL_PLACES[8 * number : 8 * number + 8]
    verbs = ("visiting", "leaving")
    return {
        "places": [{"text": f"near the {place}", "tags": []} for place in places],
        "activities": [
            {"text": f"{verb} the {place} slowly", "at": [place], "tags": [],
             "names_a_visible_thing": False}
            for place in places
            for verb in verbs
        ],
    }  # fmt: skip
