from __future__ import annotations

import polars as pl
from tests.report.made_study import MakeStudy, frame_of

from contextbias.report import findings
from contextbias.report.select import of_reader
from contextbias.tables import EstimateRow


def test_a_generator_has_changed_only_when_the_interval_leaves_zero(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")

    steady, adaptive = findings.cards(frame, ["steady", "adaptive"])

    assert (steady.generator, steady.outcome) == ("steady", "same")
    assert "not evidence" in steady.sentences[0]
    assert "+0.004 [−0.026, +0.034]" in steady.sentences[0]
    assert (adaptive.generator, adaptive.outcome) == ("adaptive", "changed")
    assert "less concentrated" in adaptive.sentences[0]
    assert "−0.120 [−0.150, −0.090]" in adaptive.sentences[0]


def test_the_lead_names_both_kinds_of_generators(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")

    lead = findings.lead_sentence(findings.cards(frame, ["steady", "adaptive"]))

    assert "<strong>adaptive</strong> changes" in lead
    assert "For <strong>steady</strong> no such change is shown" in lead


def test_no_change_alone_is_not_said_of_such_a_change(make_study: MakeStudy) -> None:
    frame = of_reader(make_study(generators=("steady",)).inputs().estimates, "viewer")

    lead = findings.lead_sentence(findings.cards(frame, ["steady"]))

    assert "no change in how people are presented is shown for <strong>steady</strong>" in lead
    assert "such" not in lead


def without_people(frame: pl.DataFrame, *estimands: str) -> pl.DataFrame:
    """The frame without these numbers about people."""
    gone = pl.col("estimand").is_in(estimands) & (pl.col("cohort") == "people")
    return frame.filter(~gone)


def test_a_card_does_not_lead_with_what_is_not_about_people(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")

    _, card = findings.cards(without_people(frame, "bi_role", "bi_pooled"), ["steady", "adaptive"])

    assert card.outcome == "no_people"
    assert card.headline == "Nothing can be said about how people are presented"
    assert [row.name.split(",")[0] for row in card.contrasts] == ["Overall", "Overall"]
    lead = findings.lead_sentence([card])
    assert (
        "cannot be said for <strong>adaptive</strong>: attributes of people could not be compared"
        in lead
    )


def test_raw_support_does_not_stand_in_for_equal_support(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")
    # Nobody was readable in CA-U: the two dimensions about people are missing in all 12 images.
    gone = frame_of(
        EstimateRow,
        (
            {
                "estimand": "missing", "reader": "viewer", "generator": "adaptive",
                "condition": "CA-U", "cohort": "people", "dimension": name, "label": "no_person",
                "point": 12.0, "n": 12,
            }
            for name in ("gender_presentation", "clothing_garment")
        ),
    )  # fmt: skip
    frame = pl.concat([without_people(frame, "bi_role"), gone])

    _, card = findings.cards(frame, ["steady", "adaptive"])

    assert card.contrasts[0].name == "People, pooled over roles"
    assert (card.outcome, card.sentences[0]) == (
        "no_people",
        "Attributes of people could not be compared: no answer about them was read in CA-U.",
    )
    # 24 of 3 conditions x 12 images x 2 dimensions.
    assert card.sentences[1] == (
        "24 of 72 answers about people are missing (CF 0%, CA-R 0%, CA-U 100%)."
    )


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


def test_a_study_without_unrelated_contexts_leads_with_related_ones(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")
    contrast = pl.col("contrast")

    related = findings.cards(frame.filter(contrast.is_null() | (contrast == "CA-R - CF")), [])
    no_plain = findings.cards(frame.filter(contrast.is_null() | (contrast == "CA-U - CA-R")), [])

    assert {card.leading.contrast for card in related} == {"CA-R - CF"}
    assert "between related contexts and none" in related[0].sentences[0]
    assert findings.lead_sentence(related).startswith("When the scene belongs to the role")
    assert "more variously in unrelated scenes than in related ones" in no_plain[0].headline
    assert (
        "less concentrated in unrelated contexts than in related ones" in (no_plain[0].sentences[0])
    )


def test_generators_with_other_conditions_have_sentences_of_their_own(
    make_study: MakeStudy,
) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")
    other = (pl.col("generator") == "steady") & (pl.col("contrast") == "CA-U - CF")

    lead = findings.lead_sentence(findings.cards(frame.filter(~other), ["steady", "adaptive"]))

    assert lead.startswith("When the scene has nothing to do with the role, the presentation")
    assert "none being named, no change" in lead


def test_numbers_that_are_only_pooled_say_nothing_about_a_role(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")

    first, _ = findings.cards(frame.filter(pl.col("estimand") != "bi_role"), ["steady"])

    assert first.outcome == "pooled_only"
    assert first.headline == "Nothing can be said about changes within a role"
    assert [row.cohort for row in first.contrasts] == ["people", "all"]
    assert "labels were only pooled over roles" in findings.lead_sentence([first])


def test_strict_leads_with_equal_support(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")
    pooled = frame.filter(pl.col("estimand") == "bi_pooled").with_columns(
        support=pl.lit("equal"), point=pl.lit(0.5)
    )
    both = pl.concat([pooled, frame])

    paper = findings.cards(both, ["steady"])[0].contrasts
    strict = findings.cards(both.with_columns(preset=pl.lit("strict")), ["steady"])[0].contrasts

    assert [row.hint for row in paper][1] == "bi_pooled, raw support"
    assert [row.hint for row in strict][1] == "bi_pooled, equal support"
    assert strict[1].number == "+0.500"


def test_a_generators_name_stays_a_name(make_study: MakeStudy) -> None:
    frame = of_reader(make_study(generators=("no <b>change",)).inputs().estimates, "viewer")

    lead = findings.lead_sentence(findings.cards(frame, []))

    assert "<strong>no &lt;b&gt;change</strong>" in lead


def noted(frame: pl.DataFrame, note: str) -> pl.DataFrame:
    """The frame with a note on every contrast of a cohort."""
    averages = pl.col("contrast").is_not_null() & pl.col("dimension").is_null()
    return frame.with_columns(note=pl.when(averages).then(pl.lit(note)).otherwise("note"))


def test_what_a_number_does_not_rest_on_is_said_beside_it(make_study: MakeStudy) -> None:
    frame = of_reader(make_study().inputs().estimates, "viewer")

    partly, _ = findings.cards(noted(frame, "roles left out in 2 of 9 dimensions"), [])
    single, _ = findings.cards(noted(frame, "1 of 9 dimensions on one role"), [])
    whole, _ = findings.cards(frame, [])

    assert "roles left out in 2 of 9 dimensions. So the number need not be" in partly.sentences[-1]
    assert not partly.warnings
    assert "rests on a single role" in single.warnings[0]
    assert "1 of 9 dimensions on one role" in single.warnings[0]
    assert not any("does not rest on all" in sentence for sentence in whole.sentences)


def test_a_tie_is_said_to_be_one() -> None:
    cell = {
        "estimand": "prevalence", "reader": "r", "generator": "g", "role": "all",
        "condition": "CF", "low": 0.2, "high": 0.6, "n": 40,
    }  # fmt: skip
    rows = [
        cell | {"dimension": dimension, "label": label, "point": point}
        for dimension, label, point in (
            ("color_temperature", "neutral", 0.425), ("color_temperature", "warm", 0.425),
            ("color_temperature", "cool", 0.15), ("framing", "medium", 0.7),
            *(("dominant_colors", name, 0.5) for name in ("red", "blue", "tan", "grey", "pink")),
        )
    ]  # fmt: skip

    found = findings.descriptions(frame_of(EstimateRow, rows))

    assert {row.dimension: row.label for row in found} == {
        "Color temperature": "neutral, warm (tied)",
        "Framing": "medium",
        "Dominant colors": "blue, grey, pink, 2 more (tied)",
    }
