from __future__ import annotations

from tests.report.made_study import MakeStudy

from contextbias.report import findings
from contextbias.report.select import of_reader


def test_a_generator_has_changed_only_when_the_interval_leaves_zero(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")

    steady, adaptive = findings.cards(frame, ["steady", "adaptive"])

    assert (steady.generator, steady.changed) == ("steady", False)
    assert "not evidence" in steady.sentences[0]
    assert "+0.004 [−0.026, +0.034]" in steady.sentences[0]
    assert (adaptive.generator, adaptive.changed) == ("adaptive", True)
    assert "less concentrated" in adaptive.sentences[0]
    assert "−0.120 [−0.150, −0.090]" in adaptive.sentences[0]


def test_the_lead_names_both_kinds_of_generators(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")

    lead = findings.lead_sentence(findings.cards(frame, ["steady", "adaptive"]))

    assert "adaptive changes" in lead
    assert "For steady no such change is shown" in lead


def test_a_card_shows_both_forms_for_people_and_overall(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")

    card = findings.cards(frame, ["steady", "adaptive"])[1]

    assert [row.name for row in card.contrasts] == [
        "People, within roles",
        "People, pooled over roles",
        "Overall, within roles",
        "Overall, pooled over roles",
    ]
    assert [row.hint for row in card.contrasts[:2]] == [
        "bi_role, equal support",
        "bi_pooled, raw support",
    ]
    bar = card.contrasts[0].bar
    assert bar is not None
    # The axis of all cards runs from -.15 to .034 with 8% of that width on either side:
    # 0 lies at (.15 + .01472) / (.184 + .02944).
    assert bar.zero == 77.17
    assert bar.left < bar.dot < bar.left + bar.width < bar.zero


def test_shares_are_those_of_the_estimates(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")

    overall, people = findings.cards(frame, ["steady"])[0].shares

    assert (overall.scope, people.scope) == ("All cohorts", "People")
    assert overall.paper == "90.0%"
    assert [(name, text) for name, _, text in overall.segments] == [
        ("invariant", "12.5%"),
        ("inconclusive", "62.5%"),
        ("shifted", "25.0%"),
    ]


def test_images_of_one_condition_have_descriptions_and_no_cards(make_study: MakeStudy) -> None:
    study = make_study(generators=("images",), roles=("all",), conditions=("CF",), planted=False)
    frame = of_reader(study.inputs().estimates, "viewer")

    assert findings.cards(frame, ["images"]) == []
    rows = findings.descriptions(frame)
    assert [(row.dimension, row.label, row.share) for row in rows][:2] == [
        ("Clothing garment", "coat", "75.0%"),
        ("Gender presentation", "female", "75.0%"),
    ]
    assert (rows[0].interval, rows[0].read, rows[0].missing) == ("[65.0, 85.0]", "4", "1")
