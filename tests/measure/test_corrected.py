"""Corrected prevalences as rows: which there are, what they are, and when there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.measure.answered import answer, people
from tests.measure.facts import fact, frame

from contextbias.errors import InputError
from contextbias.measure import measure
from contextbias.measure.arrays import count_readers
from contextbias.measure.clustered import design_effects
from contextbias.measure.corrected import FEWEST
from contextbias.measure.judged import (
    answers_of,
    clusters_of,
    facts_of,
    images_of,
    squared_correlation,
)
from contextbias.measure.people import consensus
from contextbias.stats.ppi import plain_share

Read = Callable[[str, np.random.Generator], str]


def study(
    read: Read,
    *,
    images: int = 200,
    judged: int = 60,
    shares: tuple[float, float] = (0.7, 0.3),
    seed: int = 1,
    roles: int = 4,
) -> pl.DataFrame:
    """CF and CA-U of several roles; `shares` of the images of each are calm, the rest tense."""
    rng = np.random.default_rng(seed)
    facts, answers = [], []
    for condition, share in zip(("CF", "CA-U"), shares, strict=True):
        truths = np.where(rng.random(images) < share, "calm", "tense")
        some = set(rng.choice(images, judged, replace=False))
        for k, truth in enumerate(truths.tolist()):
            keys: dict[str, Any] = {"condition": condition, "role": f"role {k % roles}"}
            name = f"{condition}-{k}"
            # 5 prompts, each a context of its own.
            facts.append(fact(name, "mood", read(truth, rng), prompt_id=f"p{k % 5}", **keys))
            if k in some:
                p = judged / images
                answers += [answer(who, name, truth, probability=p, **keys) for who in "ab"]
    return measure(frame(facts), bootstrap=0, judged=people(answers))


def blind(truth: str, rng: np.random.Generator) -> str:
    """Takes a third of what is calm for tense."""
    return "tense" if truth == "calm" and rng.random() < 1 / 3 else truth


def exact(truth: str, _: np.random.Generator) -> str:
    return truth


def one(rows: pl.DataFrame, method: str, label: str = "calm", **keys: Any) -> dict[str, Any]:
    keys = {"role": None, "condition": None, "contrast": None} | keys
    found = rows.filter(
        pl.col("estimand") == "prevalence",
        pl.col("method") == method,
        pl.col("label") == label,
        *(pl.col(name).eq_missing(pl.lit(value)) for name, value in keys.items()),
    )
    assert found.height == 1, found
    return found.to_dicts()[0]


def test_uncorrected_and_corrected_stand_side_by_side() -> None:
    rows = study(blind)
    for condition, truth in (("CF", 0.7), ("CA-U", 0.3)):
        plain = one(rows, "wilson-clustered", condition=condition)
        assert not plain["corrected"]
        assert plain["n"] == 200
        for method in ("ppi", "misclassification"):
            row = one(rows, method, condition=condition)
            assert row["corrected"]
            assert row["low"] <= truth <= row["high"]
            assert abs(row["point"] - truth) < abs(plain["point"] - truth)
    # The reader sees two thirds of every share, so two thirds of the difference.
    assert one(rows, "wilson-clustered", contrast="CA-U - CF")["low"] > -0.4
    for method in ("ppi", "misclassification"):
        row = one(rows, method, contrast="CA-U - CF")
        assert row["low"] <= -0.4 <= row["high"]
        assert row["condition"] is None
    assert one(rows, "ppi", condition="all")["n"] == 120
    assert one(rows, "misclassification", condition="CF")["n"] == 120


def test_the_plain_prevalence_is_that_of_the_images() -> None:
    rows = study(exact, roles=1)
    row = one(rows, "wilson-clustered", condition="CF")
    same = one(rows, "wilson", condition="CF", role="role 0")
    assert row["point"] == same["point"]
    effect = rows.filter(pl.col("estimand") == "design_effect", pl.col("condition") == "CF")[
        "point"
    ][0]
    _, low, high = plain_share([row["point"] * 200], 200, effect=effect)
    assert (row["low"], row["high"]) == (pytest.approx(low[0]), pytest.approx(high[0]))


def test_too_few_judged_images_are_missing_with_a_note() -> None:
    rows = study(exact, judged=FEWEST - 1)
    few = one(rows, "ppi", condition="CF")
    assert (few["point"], few["low"], few["note"]) == (None, None, "few_labels")
    assert few["n"] == FEWEST - 1
    assert one(rows, "ppi", contrast="CA-U - CF")["note"] == "few_labels"
    assert one(rows, "ppi", condition="all")["point"] is not None
    assert one(study(exact, judged=FEWEST), "ppi", condition="CF")["point"] is not None


def test_a_role_with_enough_judged_images_has_rows_of_its_own() -> None:
    rows = study(blind, roles=1)
    own = one(rows, "ppi", condition="CF", role="role 0")
    assert own["point"] == pytest.approx(one(rows, "ppi", condition="CF")["point"])
    assert one(rows, "wilson-clustered", contrast="CA-U - CF", role="role 0")["point"] is not None
    several = study(blind, roles=20)
    assert several.filter(pl.col("corrected"), pl.col("role").is_not_null()).is_empty()


def test_a_reader_that_guesses_is_not_inverted() -> None:
    def guess(_: str, rng: np.random.Generator) -> str:
        return "calm" if rng.random() < 0.5 else "tense"

    row = one(study(guess), "misclassification", condition="CF")
    assert (row["point"], row["note"]) == (None, "not_invertible")
    ppi = one(study(guess), "ppi", condition="CF")
    assert ppi["low"] <= 0.7 <= ppi["high"]


def test_a_label_that_people_see_too_seldom_has_no_matrix() -> None:
    def rare(truth: str, rng: np.random.Generator) -> str:
        return "joyful" if rng.random() < 0.02 else truth

    rows = study(rare)
    row = one(rows, "misclassification", label="joyful", condition="CF")
    assert (row["point"], row["note"]) == (None, "few_labels")
    never = one(rows, "ppi", label="joyful", condition="CF")  # people never saw it
    assert never["point"] == 0
    assert never["high"] > 0
    assert one(rows, "misclassification", condition="CF")["point"] is not None


def test_where_the_reader_has_no_answer_people_may_have_one() -> None:
    def unsure(truth: str, rng: np.random.Generator) -> str:
        return "unknown" if truth == "calm" and rng.random() < 0.5 else truth

    rows = study(unsure)
    plain = one(rows, "wilson-clustered", condition="CF")
    assert plain["n_missing"] > 0
    assert plain["high"] < 0.7  # only half of what is calm was read
    row = one(rows, "ppi", condition="CF")
    assert row["low"] <= 0.7 <= row["high"]


def test_where_people_have_no_answer_the_image_does_not_count() -> None:
    facts, answers = [], []
    for k in range(120):
        truth = ("calm", "tense", "unknown")[k % 3]
        facts.append(fact(f"i{k}", "mood", "calm" if truth == "unknown" else truth))
        if k < 90:
            answers.append(answer("a", f"i{k}", truth, probability=0.75))
    rows = measure(frame(facts), bootstrap=0, judged=people(answers))
    row = one(rows, "ppi", condition="CF")
    assert (row["n"], row["n_missing"]) == (60, 30)
    assert row["point"] == pytest.approx(0.5, abs=0.05)
    assert one(rows, "wilson-clustered", condition="CF")["point"] == pytest.approx(2 / 3)


def test_lists_are_corrected_label_by_label() -> None:
    facts, answers = [], []
    for k in range(160):
        true = ["chair"] * (k % 2 == 0) + ["lamp"] * (k % 4 == 0)
        seen = [label for label in true if label != "lamp" or k % 8]
        facts += [fact(f"i{k}", "items", label) for label in seen or ["empty"]]
        if k < 80:
            answers.append(
                answer("a", f"i{k}", true or "empty", dimension="items", probability=0.5)
            )
    rows = measure(frame(facts), bootstrap=0, judged=people(answers))
    for label, truth in (("chair", 0.5), ("lamp", 0.25)):
        for method in ("ppi", "misclassification"):
            row = one(rows, method, label=label, condition="CF")
            assert row["point"] == pytest.approx(truth, abs=0.02), (label, method)
    assert one(rows, "wilson-clustered", label="lamp", condition="CF")["point"] == 0.125


def test_an_image_under_several_prompts_is_refused() -> None:
    facts = [fact("i0", "mood", "calm", role=role) for role in ("nurse", "ceo")]
    with pytest.raises(InputError, match=r"the image i0 .* several prompts"):
        measure(frame(facts), bootstrap=0, judged=people([answer("a", "i0", "calm")]))


def test_nothing_has_one_spelling_and_no_row() -> None:
    # The reader gives an empty list where people choose the label `none`, which lists may have.
    facts, answers = [], []
    for k in range(120):
        true = "tie" if k % 3 == 0 else "none"
        facts.append(
            fact(f"i{k}", "accessories", "tie" if k % 3 == 0 else ("empty", "none")[k % 2])
        )
        if k < 60:
            answers.append(answer("a", f"i{k}", true, dimension="accessories", probability=0.5))
    rows = measure(frame(facts), bootstrap=0, judged=people(answers), sections=())
    rows = rows.filter(estimand="prevalence")
    assert set(rows["label"]) == {"tie"}
    assert rows["point"].to_list() == pytest.approx([1 / 3] * rows.height)


def test_a_reader_that_errs_hides_how_alike_images_of_one_context_are() -> None:
    # 300 contexts of 8 images; in half of them 8 of 10 are calm, in the others 2 of 10. The reader
    # takes one in six for the other. People judge half of the images.
    rng = np.random.default_rng(4)
    truths, facts, answers = [], [], []
    for context in range(300):
        for k in range(8):
            true = "calm" if rng.random() < (0.8 if context % 2 else 0.2) else "tense"
            said = true if rng.random() < 5 / 6 else {"calm": "tense", "tense": "calm"}[true]
            keys: dict[str, Any] = {"prompt_id": f"p{context}", "variant": f"b{context}/0"}
            facts.append(fact(f"{context}-{k}", "mood", said, **keys))
            truths.append(fact(f"{context}-{k}", "mood", true, **keys))
            if k < 4:
                answers.append(answer("a", f"{context}-{k}", true))
    found = []
    for rows in (facts, truths):
        counts = count_readers(frame(rows), people="primary")["r"]
        (effect,) = [each for each in design_effects(counts) if each.of.dimension == "mood"]
        mine = facts_of(frame(rows).lazy(), "r", "g", ["mood"])
        images = images_of(mine, clusters_of(counts)["g"])
        judged = consensus(people(answers))
        found.append(answers_of("mood", mine, judged, images, float(effect.correlation.point)))
    errs, exact = found
    assert errs.rho < 0.6 * exact.rho
    assert errs.true_rho == pytest.approx(exact.rho, rel=0.2)
    assert exact.true_rho == pytest.approx(exact.rho)


def test_squared_correlation_by_hand() -> None:
    # Weighted: reader 1 1 0 0, people 1 0 0 0, weights 1 1 1 3: means 2/6 and 1/6.
    # cov = 1/6 - 2/36 = 1/9; variances 2/9 and 5/36; squared correlation 1/81 / (10/324) = 2/5.
    reader, said = np.array([[1.0, 1, 0, 0]]).T, np.array([[1.0, 0, 0, 0]]).T
    assert squared_correlation(reader, said, np.array([1.0, 1, 1, 3])) == pytest.approx(0.4)
    assert squared_correlation(reader, np.ones((4, 1)), np.ones(4)) == 1
    assert squared_correlation(reader[:0], said[:0], np.ones(0)) == 1


def test_weights_are_used() -> None:
    # Of 100 images of one role 50 were judged, of 300 of another 30; the reader errs in the second.
    facts, answers = [], []
    for role, images, judged in (("x", 100, 50), ("y", 300, 30)):
        for k in range(images):
            name = f"{role}{k}"
            facts.append(fact(name, "mood", "calm" if role == "x" else "tense", role=role))
            if k < judged:
                truth = "tense" if role == "y" and k % 2 else "calm"
                p = judged / images
                answers.append(answer("a", name, truth, role=role, probability=p))
    rows = measure(frame(facts), bootstrap=0, judged=people(answers))
    # y: half calm where none was read: (100 + 150) / 400.
    assert one(rows, "ppi", condition="CF")["point"] == pytest.approx(0.625)


def test_images_that_are_not_there_are_no_part_of_the_population() -> None:
    facts = [fact(f"i{k}", "mood", "calm" if k % 2 else "tense") for k in range(60)]
    facts += [fact(f"b{k}", "mood", "blocked", person=None) for k in range(40)]
    answers = [answer("a", f"i{k}", "calm", probability=1.0) for k in range(60)]
    answers.append(answer("a", "elsewhere", "calm"))
    rows = measure(frame(facts), bootstrap=0, judged=people(answers))
    row = one(rows, "wilson-clustered", condition="CF")
    assert (row["n"], row["n_missing"]) == (60, 0)
    assert one(rows, "ppi", condition="CF")["point"] == pytest.approx(1)


def test_what_a_reader_cannot_read_is_not_corrected() -> None:
    facts = [fact(f"i{k}", "mood", "not_readable") for k in range(60)]
    facts += [fact(f"i{k}", "framing", "wide") for k in range(60)]
    answers = [answer("a", f"i{k}", "calm", probability=1.0) for k in range(60)]
    rows = measure(frame(facts), bootstrap=0, judged=people(answers))
    assert not rows["corrected"].any()


def test_roles_that_people_were_not_asked_about_do_not_count() -> None:
    facts, answers = [], []
    for role in "xy":
        for k in range(60):
            said = "calm" if role == "x" or k % 2 else "tense"
            facts.append(fact(f"{role}{k}", "mood", said, role=role))
    answers = [answer("a", f"x{k}", "calm", role="x", probability=0.5) for k in range(30)]
    for every, n, note in ((True, 120, None), (False, 60, "some_roles")):
        judged = people(answers, every_role=every)
        row = one(measure(frame(facts), bootstrap=0, judged=judged), "wilson-clustered",
                  condition="CF")  # fmt: skip
        assert (row["n"], row["note"]) == (n, note)


def test_images_that_came_after_the_sample_was_drawn_do_not_count() -> None:
    # 60 images of x, half of them judged with weight 2; later 90 more of x, and role y. What people
    # said is about the 60 alone: with all 210, their weights would be of another population.
    facts = [fact(f"x{k}", "mood", "calm" if k % 2 else "tense", role="x") for k in range(150)]
    facts += [fact(f"y{k}", "mood", "tense", role="y") for k in range(60)]
    answers = [answer("a", f"x{k}", "calm", role="x", probability=0.5) for k in range(30)]
    first = {f"x{k}" for k in range(60)}
    for drawable, n, note in ((None, 210, None), (first, 60, "some_images")):
        rows = measure(frame(facts), bootstrap=0, judged=people(answers), drawable=drawable)
        for method, number in (("wilson-clustered", n), ("ppi", 30)):
            row = one(rows, method, condition="CF")
            assert (row["n"], row["note"]) == (number, note)
        assert one(rows, "ppi", condition="CF", role="x")["note"] == note
    alone = measure(
        frame(facts).filter(pl.col("image_id").is_in(first)), bootstrap=0, judged=people(answers)
    )
    for method in ("wilson-clustered", "ppi"):
        then, now = (one(each, method, condition="CF") for each in (alone, rows))
        assert [now[end] for end in ("point", "low", "high")] == pytest.approx(
            [then[end] for end in ("point", "low", "high")]
        )


def test_errors_of_one_condition_alone_need_ppi() -> None:
    facts, answers = [], []
    rng = np.random.default_rng(4)
    for condition in ("CF", "CA-U"):
        for k in range(400):
            truth = "calm" if rng.random() < 0.5 else "tense"
            errs = condition == "CA-U" and truth == "calm" and rng.random() < 0.6
            name, keys = f"{condition}{k}", {"condition": condition, "prompt_id": f"p{k}"}
            facts.append(fact(name, "mood", "tense" if errs else truth, **keys))
            if k < 120:
                answers.append(answer("a", name, truth, condition=condition, probability=0.3))
    rows = measure(frame(facts), bootstrap=0, judged=people(answers))
    assert one(rows, "wilson-clustered", contrast="CA-U - CF")["high"] < -0.1
    assert one(rows, "misclassification", contrast="CA-U - CF")["high"] < -0.1
    ppi = one(rows, "ppi", contrast="CA-U - CF")
    assert ppi["low"] <= 0 <= ppi["high"]
