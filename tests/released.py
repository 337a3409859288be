"""Files in the released code's layout, made up; and its numbers, computed in the plainest way."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

FOLDERS = {
    "CF": "Context-free_CF",
    "CA-R": "Context-aware_Related_CA-R",
    "CA-U": "Context-aware_Unrelated_CA-U",
}
HEADER = "cohort,dimension,label,count\n"
PROMPTS = {"CF": 1, "CA-R": 2, "CA-U": 3}

# Labels that are spelt in two ways, left out, read as empty, or shared by two dimensions; a
# question with one label only (weather), and one that no prompt of CF has (pose).
ANSWERS = {
    ("scene_appearance", "mood"): ["calm", "Calm", "tense", "unknown"],
    ("scene_appearance", "weather"): ["sunny"],
    ("camera", "framing"): ["tight", "wide", "medium"],
    ("objects", "items"): ["hat", "tool-box", "tool box", "hat|colors=white", "None", "lamp"],
    ("people", "clothing_garment"): ["hat", "coat", "Coat", "white  coat"],
    ("people", "gender_presentation"): ["female", "male", "unknown"],
    ("people", "pose"): ["standing", "sitting"],
}


def prompt_folder(root: Path, generator: str, condition: str, role: str, prompt: str) -> Path:
    return root / f"study_{generator}" / FOLDERS[condition] / role / prompt


def put_counts(folder: Path, rows: Iterable[tuple[str, str, str, int]], images: int = 10) -> Path:
    """Write one frequencies.csv; returns its path."""
    path = folder / "frequency" / "frequencies.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(map(str, row)) for row in rows]
    path.write_text(HEADER + "\n".join([*lines, f"totals,images,images,{images}"]) + "\n")
    return path


def put_study(root: Path, seed: int = 5) -> Path:
    """Write a small study of two generators and three roles; returns its root."""
    rng = random.Random(seed)
    for generator in ("SDXL", "Flux"):
        for role in ("nurse", "train_driver", "judge"):
            for condition, prompts in PROMPTS.items():
                for number in range(prompts):
                    name = f"a_photo_of_a_{role}_{number}"
                    folder = prompt_folder(root, generator, condition, role, name)
                    put_counts(folder, _rows(rng, condition))
    return root


def _rows(rng: random.Random, condition: str) -> list[tuple[str, str, str, int]]:
    rows = []
    for (cohort, dimension), labels in ANSWERS.items():
        if dimension == "pose" and condition == "CF":
            continue
        left = 10
        for label in labels:
            count = rng.randint(0, left if cohort != "objects" else 8)
            if cohort != "people":
                left -= min(count, left)
            if count:
                rows.append((cohort, dimension, label, count))
    return rows


# ---- the released code's numbers, without arrays

Cell = tuple[str, str, str, str, str]
"""Generator, condition, role, cohort, dimension."""


def plain_counts(root: Path) -> tuple[dict[tuple[Cell, str], int], dict[Cell, int]]:
    """x of each cell and label, and n of each cell."""
    x: dict[tuple[Cell, str], int] = defaultdict(int)
    n: dict[Cell, int] = defaultdict(int)
    names = {folder: condition for condition, folder in FOLDERS.items()}
    for path in sorted(root.rglob("frequencies.csv")):
        source, folder, role = path.relative_to(root).parts[:3]
        generator = source.split("_")[-1]
        found: dict[tuple[str, str, str], int] = defaultdict(int)
        for line in path.read_text().splitlines()[1:]:
            cohort, dimension, text, count = line.split(",")
            label = "" if text == "None" else "_".join(text.lower().replace("-", " ").split())
            left_out = label == "unknown" or (generator == "SDXL" and "|" in label)
            if cohort != "totals" and not left_out:
                found[cohort, dimension, label] += int(count)
        for (cohort, dimension, label), count in found.items():
            cell = (generator, names[folder], role.replace("_", " "), cohort, dimension)
            x[cell, label] += min(count, 10)
        for cohort, dimension in {key[:2] for key in found}:
            n[generator, names[folder], role.replace("_", " "), cohort, dimension] += 10
    return x, n


def plain_intensity(counts: dict[str, int], labels: int) -> float | None:
    """1 - H / log of the number of labels; None where there is nothing, 0 of one label."""
    total = sum(counts.values())
    if not total:
        return None
    if labels == 1:
        return 0.0
    shares = [count / total for count in counts.values() if count]
    return 1 + sum(share * math.log(share) for share in shares) / math.log(labels)


def plain_pooled(
    x: dict[tuple[Cell, str], int], generator: str, dimension: str, conditions: Iterable[str]
) -> dict[str, int]:
    """Label -> its sum over roles and the conditions."""
    found: dict[str, int] = defaultdict(int)
    chosen = set(conditions)
    for (cell, label), count in x.items():
        if (cell[0], cell[4]) == (generator, dimension) and cell[1] in chosen:
            found[label] += count
    return dict(found)


RECORD = {
    "schema_version": "1.0",
    "image": {
        "image_id": "image_0_seed_7",
        "file_path": "Context-aware_Unrelated_CA-U/train_driver/a_photo/image_0_seed_7.jpg",
        "source_model": "Some-Model",
    },
    "cohorts": {
        "scene_appearance": {
            "mood": "calm",
            "color_temperature": "warm",
            "aesthetic_qualities": ["realistic"],
            "dominant_colors": ["blue"],
            "weather": "unknown",
        },
        "camera": {"depth_of_field": "shallow", "framing": "wide", "perspective": "eye_level"},
        "objects": {"items": ["stethoscope"]},
        "people": {
            "persons": [
                {
                    "person_id": "p1",
                    "gender_presentation": "male",
                    "clothing": [
                        {"clothing_garment": "scrubs", "clothing_color": ["blue"]},
                        {"clothing_garment": "cap", "clothing_color": ["white", "blue"]},
                    ],
                }
            ]
        },
    },
    "totals": {"images": 1},
}
"""A record of one image, in the released form."""
