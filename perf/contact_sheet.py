"""Draw a contact sheet of the simulated pictures: ``python perf/contact_sheet.py OUT.png``.

Random records over many places by default; ``--settings`` draws every background archetype,
``--garments``, ``--items``, ``--heads`` one label after the other.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import Any

from PIL import Image

from contextbias.generate.drawing import draw, shows
from contextbias.generate.drawing.settings import settings
from contextbias.schema.records import empty_person, empty_record

ROLES = {
    "baker": ("bakery", ["chef jacket", "apron"], ["rolling pin", "bread"]),
    "carpenter": ("workshop", ["flannel shirt", "leather apron"], ["hammer", "wooden plank"]),
    "ceo": ("meeting room", ["suit"], ["laptop", "briefcase"]),
    "dancer": ("dance studio", ["leotard"], []),
    "doctor": ("hospital ward", ["lab coat"], ["stethoscope", "clipboard"]),
    "farmer": ("farm field", ["overalls"], ["pitchfork", "basket of vegetables"]),
    "firefighter": ("city street", ["turnout coat"], ["fire hose", "axe"]),
    "flight attendant": ("airplane cabin", ["uniform"], ["serving trolley"]),
    "judge": ("courtroom", ["judicial robe"], ["gavel", "book"]),
    "nurse": ("clinic", ["scrubs"], ["syringe", "clipboard"]),
    "software engineer": ("office", ["hoodie"], ["laptop", "coffee cup"]),
    "welder": ("factory", ["leather apron"], ["welding torch", "welding mask"]),
}
PLACES = ("supermarket", "park", "living room", "subway station", "beach", "gym", "cafe")


def record_for(luck: random.Random, garments: list[str], items: list[str]) -> dict[str, Any]:
    record, person, visible = empty_record(), empty_person(), shows()
    for name in ("expression", "skin_tone", "hair_style", "body_type", "gender_presentation"):
        person[name] = luck.choice(visible[name])
    person["hair_color"] = luck.choice(["black", "brown", "blonde", "red", "grey"])
    person["age_range"] = luck.choice(visible["age_range"])
    person["expression"] = luck.choice(["smiling", "neutral", "happy", "focused", "serious"])
    person["pose"] = luck.choice(["standing"] * 4 + list(visible["pose"]))
    person["gaze_direction"] = luck.choice(["toward_camera"] * 4 + list(visible["gaze_direction"]))
    person["eyewear_type"] = luck.choice(["none"] * 4 + ["eyeglasses", "sunglasses"])
    if person["gender_presentation"] == "male":
        person["facial_hair_style"] = luck.choice(["none", "none", *visible["facial_hair_style"]])
    person["head_covering_type"] = luck.choice(["none"] * 6 + ["hat", "hijab", "beanie", "helmet"])
    person["accessories"] = luck.choice([[], [], ["badge"], ["watch"], ["scarf"], ["earrings"]])
    person["clothing_garment"] = garments
    record["people"] = [person]
    record["objects"]["items"] = items
    for cohort, name in (("camera", "framing"), ("camera", "depth_of_field")):
        record[cohort][name] = luck.choice(visible[name])
    record["scene"]["color_temperature"] = luck.choice(["warm", "neutral", "neutral", "cool"])
    record["scene"]["weather"] = luck.choice(["sunny", "clear", "cloudy", "rain", "snow", "fog"])
    return record


def cells_of(kind: str, seed: int) -> list[tuple[dict[str, Any], str | None, str]]:
    luck = random.Random(seed)
    if kind == "settings":
        cells = []
        for setting in settings().values():
            record = record_for(luck, ["shirt"], [])
            record["camera"].update(framing="wide", depth_of_field="deep")
            record["scene"].update(weather="sunny", color_temperature="neutral")
            cells.append((record, setting.keywords[0], "person"))
        return cells
    if kind == "garments":
        names = shows()["clothing_garment"]
        return [(record_for(luck, [g], []), None, "person") for g in names]
    if kind == "items":
        return [(record_for(luck, ["sweater"], [i]), "office", "person") for i in shows()["items"]]
    roles = list(ROLES.items())
    cells = []
    for index in range(36):
        role, (place, garments, items) = roles[index % len(roles)]
        away = index % 3 == 2
        where = luck.choice(PLACES) if away else place
        worn = [luck.choice(["jacket", "sweater", "t-shirt", "dress"])] if away else garments
        things = luck.sample(list(shows()["items"]), 2) if away else items
        cells.append((record_for(luck, worn, things), where, role))
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--kind", default="roles", choices=["roles", "settings", "garments", "items"]
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--columns", type=int, default=6)
    parser.add_argument("--size", type=int, default=300)
    options = parser.parse_args()
    cells = cells_of(options.kind, options.seed)
    rows = -(-len(cells) // options.columns)
    step = options.size + 8
    sheet = Image.new("RGB", (options.columns * step, rows * step), "#ffffff")
    for index, (record, place, role) in enumerate(cells):
        image = draw(record, setting=place, role=role, seed=options.seed * 1000 + index)
        image = image.resize((options.size, options.size), Image.Resampling.LANCZOS)
        sheet.paste(image, (index % options.columns * step, index // options.columns * step))
    sheet.save(options.out)


if __name__ == "__main__":
    main()
