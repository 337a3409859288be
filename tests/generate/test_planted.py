"""The planted model: records that make sense, and probabilities that are exactly theirs."""

import math
import subprocess
import sys
from collections import Counter, defaultdict

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextbias.generate.drawing import is_indoor
from contextbias.generate.drawing.settings import setting_for
from contextbias.generate.planted import (
    PLANTED_SCHEMA,
    PlantedModel,
    draw_record,
    planted_rows,
)
from contextbias.generate.planted_answers import questions
from contextbias.generate.planted_tables import known_roles
from contextbias.ids import content_hash
from contextbias.schema.codebook import DIMENSIONS, UNKNOWN
from contextbias.schema.records import NOT_APPLICABLE, check_record
from contextbias.tables import Prompt

IMMUNE = PlantedModel(name="context-immune", sensitivity=0.0)
SENSITIVE = PlantedModel(name="context-sensitive", sensitivity=0.9)
PLACE_NAMES = ["park", "office", "beach", "bus stop"]
PLACES = {"CF": [None], "CA-R": ["hospital ward"], "CA-U": ["park", "supermarket"]}


def prompt(role: str, condition: str, location: str | None, number: int = 0) -> Prompt:
    return Prompt(
        prompt_id=f"{role}-{condition}-{location}-{number}", role=role, condition=condition,
        base="b", variant="v", location=location, activity=None, text="t", prompted=(), bank="b",
    )  # fmt: skip


def prompts(role: str) -> list[Prompt]:
    return [prompt(role, condition, place) for condition, all_ in PLACES.items() for place in all_]


def truth(model: PlantedModel, asked: Prompt, seed: int) -> dict:
    return draw_record(
        model, role=asked.role, condition=asked.condition, location=asked.location,
        prompt_id=asked.prompt_id, seed=seed,
    ).record  # fmt: skip


def probability(model: PlantedModel, asked: list[Prompt], **key: str) -> float:
    rows = planted_rows(model, asked).filter(pl.col(name) == value for name, value in key.items())
    return rows["p"].item()


def test_an_unrelated_place_mixes_role_and_everyday() -> None:
    # nurse: .985 female; everyday: .49; s w = .9 in CA-U, 0 in CF and CA-R.
    key = {"dimension": "gender_presentation", "label": "female"}
    for condition, expected in (("CF", 0.985), ("CA-R", 0.985), ("CA-U", 0.1 * 0.985 + 0.9 * 0.49)):
        found = probability(SENSITIVE, prompts("nurse"), condition=condition, **key)
        assert found == pytest.approx(expected, abs=1e-12)
    assert probability(IMMUNE, prompts("nurse"), condition="CA-U", **key) == pytest.approx(0.985)


def test_related_weight_reaches_the_related_condition() -> None:
    half = PlantedModel(name="m", sensitivity=0.8, related_weight=0.5)
    found = probability(
        half, prompts("nurse"), condition="CA-R", dimension="gender_presentation", label="female"
    )
    assert found == pytest.approx(0.6 * 0.985 + 0.4 * 0.49, abs=1e-12)


def test_dependent_answers_by_hand() -> None:
    # A judge wears one outfit: earrings come with the presentation alone.
    # .14 * .25 + .855 * 0 + .005 * .15 = .03575
    judge = prompts("judge")
    earrings = probability(IMMUNE, judge, condition="CF", dimension="accessories", label="earrings")
    assert earrings == pytest.approx(0.03575, abs=1e-12)
    # Facial hair has a colour only where it is: grey given a beard or the like is grey given age
    # (.38 middle-aged, .62 older) and skin (.86, .06, .08), since both are independent of it.
    middle = 0.86 * 0.14 + 0.06 * 0.12 + 0.08 * 0.10
    older = 0.86 * 0.62 + 0.06 * 0.66 + 0.08 * 0.64
    grey = probability(IMMUNE, judge, condition="CF", dimension="facial_hair_color", label="grey")
    assert grey == pytest.approx(0.38 * middle + 0.62 * older, abs=1e-12)


def test_weather_is_averaged_over_the_prompts_that_have_some() -> None:
    # Three CA-U prompts: two in the park (72% sunny), one indoors: the indoor one has no weather.
    asked = [prompt("nurse", "CA-U", place, i) for i, place in enumerate(["park", "park", "gym"])]
    asked.append(prompt("nurse", "CA-U", "beach"))
    found = probability(IMMUNE, asked, condition="CA-U", dimension="weather", label="sunny")
    assert found == pytest.approx((2 * 0.72 + 0.90) / 3, abs=1e-12)
    indoors = planted_rows(IMMUNE, [prompt("nurse", "CF", None)])
    assert "weather" not in indoors["dimension"].to_list()


def test_the_background_gives_the_dominant_colors() -> None:
    # Each palette of the park's background is as likely as the others.
    palettes = [set(palette.dominant) for palette in setting_for("park").palettes]
    frame = planted_rows(IMMUNE, [prompt("nurse", "CA-U", "park")])
    planted = dict(frame.filter(dimension="dominant_colors").select("label", "p").iter_rows())
    for color in set().union(*palettes):
        assert planted[color] == sum(color in palette for palette in palettes) / len(palettes)
    seen = {
        tuple(truth(IMMUNE, prompt("nurse", "CA-U", "park"), seed)["scene"]["dominant_colors"])
        for seed in range(30)
    }
    assert seen == {palette.dominant for palette in setting_for("park").palettes}


def test_planted_frame_is_complete() -> None:
    rows = planted_rows(SENSITIVE, [*prompts("nurse"), *prompts("welder")])
    assert rows.schema == PLANTED_SCHEMA
    assert rows["p"].is_between(0, 1).all()
    assert rows.select("role", "condition", "dimension", "label").is_unique().all()
    # A label that the other role alone can have is there, with probability 0.
    torch = rows.filter(label="welding torch", role="nurse", condition="CF")
    assert torch["p"].to_list() == [0.0]
    one = [name for name in rows["dimension"].unique() if DIMENSIONS[name].kind == "one"]
    sums = rows.filter(pl.col("dimension").is_in(one)).group_by("role", "condition", "dimension")
    assert sums.agg(pl.col("p").sum())["p"].to_list() == pytest.approx([1.0] * len(sums.len()))


@pytest.mark.parametrize("role", ["welder", "someone unheard of"])
def test_samples_agree_with_the_planted_probabilities(role: str) -> None:
    # 1,200 pictures a prompt with independent seeds: each share is within 4.5 standard errors (some
    # 1,000 shares are compared, of which at most one in 100,000 would be further off by chance).
    images = 1200
    counts: dict[tuple[str, str, str], int] = Counter()
    read: dict[tuple[str, str], int] = defaultdict(int)
    for asked in prompts(role):
        for seed in range(images):
            record = truth(SENSITIVE, asked, seed)
            for name, labels in answered(record):
                read[asked.condition, name] += 1
                counts.update((asked.condition, name, label) for label in set(labels))
    expected = planted_rows(SENSITIVE, prompts(role))
    assert {key[1:] for key in counts} <= set(expected.select("dimension", "label").iter_rows())
    for condition, name, label, p in expected.select(
        "condition", "dimension", "label", "p"
    ).iter_rows():
        n = read[condition, name]
        share = counts[condition, name, label] / n
        # Prompts of one cell share seeds, hence latents: at most the images of one prompt count.
        error = math.sqrt(max(p * (1 - p), 1e-4) / min(n, images))
        assert abs(share - p) <= 4.5 * error, (condition, name, label, share, p)


def answered(record: dict) -> list[tuple[str, list[str]]]:
    """Every dimension that the record answers, with its labels."""
    groups = [record[cohort] for cohort in ("scene", "camera", "objects")] + record["people"]
    found = []
    for group in groups:
        for name, answer in group.items():
            if answer not in (UNKNOWN, NOT_APPLICABLE):
                found.append((name, answer if isinstance(answer, list) else [answer]))
    return found


@given(
    role=st.sampled_from(known_roles()) | st.text(max_size=12),
    condition=st.sampled_from(["CF", "CA-R", "CA-U"]),
    location=st.none()
    | st.sampled_from(["park", "office", "beach", "bus stop"])
    | st.text(max_size=12),
    seed=st.integers(0, 2**31 - 1),
    sensitivity=st.floats(0, 1),
    rho=st.floats(0, 1),
)
def test_every_record_follows_the_schema(
    role: str, condition: str, location: str | None, seed: int, sensitivity: float, rho: float
) -> None:
    model = PlantedModel(name="m", sensitivity=sensitivity, rho=rho)
    record = truth(model, prompt(role, condition, location), seed)
    assert check_record(record) == []
    (person,) = record["people"]
    assert (record["scene"]["weather"] == NOT_APPLICABLE) == is_indoor(location)
    if record["camera"]["framing"] == "tight":
        assert person["pose"] == person["accessories"] == record["objects"]["items"] == UNKNOWN
    if person["hair_present"] == "no":
        assert person["hair_style"] == person["hair_color"] == UNKNOWN
    if person["facial_hair_present"] == "no":
        assert person["facial_hair_color"] == UNKNOWN
    if person["gender_presentation"] == "female":
        assert person["facial_hair_style"] == "none"


def test_what_is_asked_is_in_the_codebook() -> None:
    network = SENSITIVE.network("nurse", "CA-U", "park")
    names = [question.dimension for question in questions(network)]
    assert len(names) == len(set(names))
    assert set(names) <= set(DIMENSIONS)


def test_seeds_pair_pictures_as_far_as_rho_says() -> None:
    # Same seed, two prompts of one condition: with rho 1 the person is the same, with rho 0 the
    # smile is as often shared as by chance.
    first, second = prompt("nurse", "CF", None, 1), prompt("nurse", "CF", None, 2)

    def agreement(rho: float) -> float:
        model = PlantedModel(name="m", sensitivity=0.0, rho=rho)
        pairs = [
            (truth(model, first, s)["people"][0], truth(model, second, s)["people"][0])
            for s in range(400)
        ]
        return sum(a["hair_style"] == b["hair_style"] for a, b in pairs) / len(pairs)

    # By chance: about .6^2 + .25^2 + .1^2 + .05^2 = .435 (a nurse's hair), standard error .025.
    assert agreement(1.0) == 1.0
    assert agreement(0.0) == pytest.approx(0.435, abs=0.09)
    assert agreement(0.0) < agreement(0.5) < 1.0


def test_models_and_prompts_and_seeds_draw_other_pictures() -> None:
    asked = prompt("nurse", "CF", None)
    pictures = {
        content_hash(truth(model, each, seed))
        for model in (IMMUNE, PlantedModel(name="other", sensitivity=0.0))
        for each in (asked, prompt("nurse", "CF", None, 1))
        for seed in range(20)
    }
    # 80 draws from a space with few likely pictures: most differ.
    assert len(pictures) > 40


def test_a_picture_is_the_same_in_another_process() -> None:
    script = (
        "from contextbias.generate.planted import PlantedModel, draw_record\n"
        "from contextbias.ids import content_hash\n"
        "m = PlantedModel(name='context-sensitive', sensitivity=0.9)\n"
        "print(content_hash([draw_record(m, role='judge', condition='CA-U', location='beach',"
        " prompt_id=str(s % 3), seed=s).record for s in range(50)]))\n"
    )
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    here = [
        draw_record(
            SENSITIVE, role="judge", condition="CA-U", location="beach",
            prompt_id=str(s % 3), seed=s,
        ).record
        for s in reversed(range(50))
    ]  # fmt: skip
    assert {run.stdout.strip() for run in runs} == {content_hash(here[::-1])}


def test_an_unknown_condition_is_an_error() -> None:
    with pytest.raises(KeyError):
        SENSITIVE.place_share("CA-X")
