"""From a list of roles to a bank: proposals, what code finds, judgements, review, file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.bench.builder import answers
from tests.llm.fake import FakeModel, Said

from contextbias.bench import BenchOptions, build_prompts, check_bank, load_bank
from contextbias.bench.assignment import assign_unrelated, is_unrelated
from contextbias.bench.builder import (
    Head,
    Proposal,
    Subject,
    bank_text,
    first_questions,
    merged_csv,
    proposed,
    read_review,
    read_roles,
    review_csv,
    subject_of,
    unknown_to,
)
from contextbias.bench.builder.judge import SCHEMA as JUDGE_SCHEMA
from contextbias.bench.builder.judge import judge_faults, judge_questions
from contextbias.bench.builder.propose import (
    AXIS_SCHEMA,
    POOL_SCHEMA,
    ROLE_SCHEMA,
    shape_faults,
)
from contextbias.errors import BankError, Incomplete, InputError
from contextbias.llm import Answer, Journal, Question, Settler
from contextbias.schema import DIMENSIONS

HEAD = Head(name="mine", reviewer="A. Person", licence="CC0-1.0")


def roles(tmp_path: Path, text: str = "beekeeper\nglassblower\n", name: str = "roles.txt") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def good(asked: Question) -> Said:
    return answers.answer_to(asked.messages[-1]["content"])


def proposal(
    subject: Subject, reply: Callable[[Question], Said] = good, journal: Path | None = None
) -> tuple[Proposal, FakeModel]:
    model = FakeModel(reply)
    settler = Settler(Journal(journal), model.settings(), model)
    return proposed(subject, settler, settler), model


def built(subject: Subject, review: str, tmp_path: Path) -> Path:
    (tmp_path / "review.csv").write_text(review)
    out = tmp_path / "mine.toml"
    out.write_text(bank_text(subject, read_review(tmp_path / "review.csv"), HEAD, path=str(out)))
    return out


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    return subject_of(read_roles(roles(tmp_path)))


# ---- the whole way


def test_a_bank_like_ours(subject: Subject, tmp_path: Path) -> None:
    found, model = proposal(subject)
    assert len(model.asked) == 4
    assert found.unanswered == ()
    assert found.recommended == 12
    bank = load_bank(built(subject, review_csv(found.candidates), tmp_path))
    assert check_bank(bank) == []
    assert bank.role_names == ("beekeeper", "glassblower")
    assert len(build_prompts(bank)) == 36
    assert [place.text for place in bank.places] == [p.text for p in load_bank().places]
    role = bank.roles[0]
    assert [place.text for place in role.places] == answers.CONTEXTS["beekeeper"][1]
    assert role.activity.text == "inspecting a honeycomb"
    assert role.activity.names == ("items",)
    assert role.soc == "45-0000"
    assert role.work == frozenset({"animals"})


def test_unrelated_contexts_share_no_word_with_the_work(subject: Subject, tmp_path: Path) -> None:
    found, _ = proposal(subject)
    bank = load_bank(built(subject, review_csv(found.candidates), tmp_path))
    glass = bank.roles[1]
    assert "buying a vase" in glass.avoid
    chosen = assign_unrelated(bank)["glassblower"]
    assert is_unrelated(glass, chosen.place)
    assert is_unrelated(glass, chosen.activity)  # type: ignore[arg-type]
    assert build_prompts(bank, None, BenchOptions(balanced=True))


def test_the_bank_says_where_it_comes_from(subject: Subject, tmp_path: Path) -> None:
    import tomllib

    found, _ = proposal(subject)
    review = review_csv(found.candidates).replace("turning a glass vase", "blowing a glass vase")
    review += "yes,beekeeper,activity,harvesting honeycombs,,,items" + "," * 9 + "\n"
    said = tomllib.loads(built(subject, review, tmp_path).read_text())["provenance"]
    assert said["proposed_by"] == said["judged_by"] == "fake-2026-01-01"
    assert said["reviewed_by"] == "A. Person"
    assert (said["edited_by_hand"], said["added_by_hand"]) == (1, 1)
    assert said["candidates"] == len(found.candidates)
    assert said["everyday_pool"] == "contextbench 1"
    assert len(said["template_propose"]) == len(said["template_judge"]) == 12


def test_german_in_both_forms(tmp_path: Path) -> None:
    subject = subject_of(read_roles(roles(tmp_path, "imker\n")), language="de")
    found, _ = proposal(subject)
    assert found.dropped == 0, [c.faults for c in found.candidates]
    bank = load_bank(built(subject, review_csv(found.candidates), tmp_path))
    assert check_bank(bank) == []
    assert bank.role_names == ("imker (m)", "imker (f)")
    texts = [prompt.text for prompt in build_prompts(bank)]
    assert "ein Foto von einer Imkerin beim Prüfen einer Wabe in einer Imkerei" in texts


def test_axes_known_and_new(tmp_path: Path) -> None:
    subject = subject_of(read_roles(roles(tmp_path)), axes=("lighting", "style"))
    assert subject.axes == ("style",)
    found, model = proposal(subject)
    assert len(model.asked) == 4 + 2
    bank = load_bank(built(subject, review_csv(found.candidates), tmp_path))
    by_name = {axis.name: axis for axis in bank.axes}
    assert by_name["lighting"] == load_bank().axes[0]
    assert [value.text for value in by_name["style"].values] == answers.VALUES
    assert by_name["style"].names == ("aesthetic_qualities",)
    assert check_bank(bank, BenchOptions(axes=("style",))) == []


def test_a_pool_and_a_language_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "plain.toml").write_text(
        'name = "Plain"\narticles = ["a", "an", "the"]\n'
        'prepositions = ["in", "at", "near", "beside"]\nactivity_ending = "ing"\n'
    )
    subject = subject_of(
        read_roles(roles(tmp_path)),
        language=str(tmp_path / "plain.toml"),
        phrasings=("a photo of", "a picture of", "an image of"),
    )
    subject = replace(subject, language_name="plain.toml")
    assert len(first_questions(subject)) == 2 + 5
    # The language does not say when it is "a" and when "an".
    review = review_csv(proposal(subject)[0].candidates)
    assert "its article is not known" in review
    review = review.replace("no,beekeeper,form,beekeeper", "yes,beekeeper,form,a beekeeper")
    review = review.replace("no,glassblower,form,glassblower", "yes,glassblower,form,a glassblower")
    bank = load_bank(built(subject, review, tmp_path))
    assert bank.language.name == "Plain"
    assert len(bank.places) == 40
    assert check_bank(bank) == []
    assert build_prompts(bank)[0].text == "a photo of a beekeeper"


# ---- asked once


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    subject = subject_of(read_roles(roles(tmp_path, "beekeeper\n")))
    first, _ = proposal(subject, journal=tmp_path / "j")
    again, model = proposal(subject, journal=tmp_path / "j")
    assert model.asked == []
    assert again == first
    more = subject_of(read_roles(roles(tmp_path, "beekeeper\nglassblower\n")))
    _, model = proposal(more, journal=tmp_path / "j")
    assert {q.about.get("role") for q in model.asked} == {"glassblower"}


def test_a_spent_budget_loses_nothing(subject: Subject, tmp_path: Path) -> None:
    paused = FakeModel(good, until=3)
    settler = Settler(Journal(tmp_path / "j"), paused.settings(), paused)
    with pytest.raises(Incomplete):
        proposed(subject, settler, settler)
    found, rest = proposal(subject, journal=tmp_path / "j")
    assert len(rest.asked) == 1
    assert found.recommended == 12


# ---- what is wrong with an answer


def spoiled(**changes: Any) -> Callable[[Question], Said]:
    """A model whose answer about the beekeeper is changed, also when it repairs it."""

    def reply(asked: Question) -> Said:
        if asked.about.get("role") == "beekeeper" and asked.name == "role_contexts":
            return answers.contexts_of("beekeeper") | changes
        return answers.answer_to(asked.messages[1]["content"])

    return reply


@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("apiary", "place: does not begin with"),
        ("in a apiary", "article"),
        ("in an apiary with young women", "demographic"),
        ("in an uniform store", "article"),
        ("beside a hammer", "tool"),
        ("at the Apiary", "form: "),
        ("near a glassblower", "role-word"),
        ("in the green apiary", "attribute"),
        ("in a honey processing room", "duplicate"),
    ],
)
def test_code_finds_what_the_rules_forbid(subject: Subject, place: str, fault: str) -> None:
    places = [*answers.CONTEXTS["beekeeper"][1], place]
    found, model = proposal(subject, spoiled(places=places))
    (bad,) = [c for c in found.candidates if c.faults]
    assert bad.text == place
    assert bad.faults[0].startswith(fault)
    assert not bad.keep
    judged = "\n".join(q.messages[1]["content"] for q in model.asked if q.name == "judgements")
    assert place not in judged.splitlines()
    assert f": {place}" not in judged or fault == "duplicate"


def test_an_activity_at_no_place_that_is_left(subject: Subject) -> None:
    activities = [
        *answers.contexts_of("beekeeper")["activities"],
        {"text": "mending a fence", "at": ["field"], "names_a_visible_thing": True},
    ]
    found, _ = proposal(subject, spoiled(activities=activities))
    (bad,) = [c for c in found.candidates if c.faults]
    assert (bad.text, bad.faults) == ("mending a fence", ("place: at none of the places",))


def test_too_little_is_repaired_once_and_then_kept_as_it_is(subject: Subject) -> None:
    found, model = proposal(subject, spoiled(places=["in an apiary", "apiary"]))
    _, second = [q for q in model.asked if q.about.get("role") == "beekeeper"][:2]
    assert "1 usable places" in second.messages[-1]["content"]
    assert "'apiary'" in second.messages[-1]["content"]
    assert ("role 'beekeeper'", True) in [(a, "usable" in why) for a, why in found.unanswered]
    assert "in an apiary" in [c.text for c in found.candidates]


@pytest.mark.parametrize(
    "said", ["nonsense", "{}", "[]", '{"places": 3}', Answer("refused", "no"), Answer("error", "x")]
)
def test_nonsense_is_told_and_the_rest_goes_on(subject: Subject, said: Said) -> None:
    def reply(asked: Question) -> Said:
        return said if asked.about.get("role") == "beekeeper" else good(asked)

    found, _ = proposal(subject, reply)
    assert found.unanswered[0][0] == "role 'beekeeper'"
    assert found.recommended == 6


def test_without_a_judgement_nothing_is_recommended(subject: Subject) -> None:
    def reply(asked: Question) -> Said:
        return "nonsense" if asked.name == "judgements" else good(asked)

    found, _ = proposal(subject, reply)
    assert found.recommended == 0
    assert len(found.unanswered) == 2


def test_low_scores_and_confounds_are_not_recommended(subject: Subject) -> None:
    def reply(asked: Question) -> Said:
        said = answers.answer_to(asked.messages[1]["content"])
        if asked.name == "judgements":
            said["judgements"][0]["relevance"] = 3
            said["judgements"][1]["confounds"] = [{"because": "veil", "kind": "garment"}]
            said["judgements"][2]["neutrality"] = 1
        return said

    found, _ = proposal(subject, reply)
    assert found.recommended == 6


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda j: j.pop(), "candidate 6 has no judgement"),
        (lambda j: j.append(dict(j[0])), "candidate 1 is judged twice"),
        (lambda j: j.append(dict(j[0], candidate=9)), "there is no candidate 9"),
        (lambda j: j[0].update(relevance=6), "candidate 1: relevance is 6"),
        (lambda j: j[0].update(relevance=True), "no integer"),
        (lambda j: j[0].update(confounds=[{"because": "", "kind": "evil"}]), "is 'evil'"),
        (lambda j: j[0].update(extra=1), "extra is unknown"),
        (lambda j: j[0].pop("looks"), "looks is missing"),
    ],
)
def test_faults_of_a_judgement(
    subject: Subject, change: Callable[[list[Any]], Any], fault: str
) -> None:
    candidates = [replace(c, keep=False) for c in proposal(subject)[0].candidates]
    asked = judge_questions(subject, candidates)[0]
    value = answers.judgement(asked.messages[1]["content"])
    assert judge_faults(asked, value) == []
    change(value["judgements"])
    assert any(fault in each for each in judge_faults(asked, value))


def test_shapes_that_are_none(subject: Subject) -> None:
    asked = first_questions(subject)[0]
    assert shape_faults(asked, answers.contexts_of("beekeeper")) == []
    for value in (None, [], "x", {"places": []}):
        assert shape_faults(asked, value)


@pytest.mark.parametrize("schema", [ROLE_SCHEMA, POOL_SCHEMA, AXIS_SCHEMA, JUDGE_SCHEMA])
def test_schemas_are_strict(schema: dict[str, Any]) -> None:
    if schema["type"] == "object":
        assert schema["additionalProperties"] is False
        assert list(schema["properties"]) == schema["required"]
        for part in schema["properties"].values():
            test_schemas_are_strict(part)
    if schema["type"] == "array":
        test_schemas_are_strict(schema["items"])


def test_the_question_shows_language_tags_and_an_example(subject: Subject) -> None:
    asked = first_questions(subject)[0]
    text = asked.messages[1]["content"]
    for part in ("Role: beekeeper", "verb in -ing", "in a bakery", "- animals: ", "English"):
        assert part in text
    assert set(DIMENSIONS) <= set(
        first_questions(replace(subject, axes=("style",)))[-1]
        .messages[1]["content"].replace(",", " ").split()
    )  # fmt: skip


# ---- the review


Rows = list[dict[str, str]]


def sheet(rows: Rows, separator: str = ",", end: str = "\n") -> str:
    out = io.StringIO()
    names = list(rows[0])
    writer = csv.DictWriter(out, names, delimiter=separator, lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def rows_of(text: str) -> Rows:
    return list(csv.DictReader(io.StringIO(text)))


def test_what_a_person_did_is_kept_when_proposals_come_again(
    subject: Subject, tmp_path: Path
) -> None:
    found, _ = proposal(subject)
    path = tmp_path / "review.csv"
    rows = rows_of(review_csv(found.candidates))
    rows[-1]["keep"], rows[-2]["text"] = "no", "edited by hand"
    path.write_text(sheet(rows[1:]))
    before = read_review(path)
    # The first line was deleted, and what a person has deleted does not come back.
    assert unknown_to(before, found.candidates) == []
    later = replace(found.candidates[0], date="2031-01-01T00:00:00Z")
    new = unknown_to(before, [later, *found.candidates[1:]])
    assert new == [later]
    path.write_text(merged_csv(before, new))
    after = read_review(path)
    assert [each.candidate for each in after[:-1]] == [each.candidate for each in before]
    assert after[-1].id == rows[0]["id"]
    assert [each.is_edited for each in after].count(True) == 1


def test_a_deleted_line_of_a_model_with_a_sign_before_its_name_stays_away(
    subject: Subject, tmp_path: Path
) -> None:
    found = [replace(each, model="@cf/some/model") for each in proposal(subject)[0].candidates]
    path = tmp_path / "review.csv"
    path.write_text(review_csv(found[1:]))
    assert unknown_to(read_review(path), found) == []


def test_the_lines_of_another_role_are_added(subject: Subject, tmp_path: Path) -> None:
    found, _ = proposal(subject)
    path = tmp_path / "review.csv"
    bees = [c for c in found.candidates if c.role == "beekeeper"]
    path.write_text(review_csv(bees[2:]))
    new = unknown_to(read_review(path), found.candidates)
    assert {each.role for each in new} == {"glassblower"}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("yes", ["yes", "Yes", "JA", "x", "TRUE", "WAHR", "1"])
def test_any_table_editor_will_do(
    subject: Subject, tmp_path: Path, separator: str, yes: str
) -> None:
    found, _ = proposal(subject)
    rows = rows_of(review_csv(found.candidates))
    for row in rows:
        row["keep"] = yes if row["keep"] == "yes" else "Nein"
        row["date"] = "31.12.2026 10:00"  # some write dates in the manner of their country
    swapped = [dict(reversed(row.items())) for row in rows[::-1]]
    path = tmp_path / "review.csv"
    path.write_bytes(("\ufeff" + sheet(swapped, separator, "\r\n")).encode())
    found_again = [each.candidate for each in read_review(path)]
    dateless = [replace(each, date="31.12.2026 10:00") for each in found.candidates]
    assert found_again == dateless[::-1]
    head = sheet(rows, separator).splitlines()
    path.write_text("\n".join([f"sep={separator}", *head]) + "\n")
    assert read_review(path)[0].line == 3
    out = tmp_path / "mine.toml"
    text = bank_text(subject, read_review(path), HEAD, path=str(out))
    assert 'proposed = "not known"' in text
    assert "edited_by_hand = 0" in text


def test_no_cell_is_a_formula_and_no_id_a_number(subject: Subject) -> None:
    def reply(asked: Question) -> Said:
        said = answers.answer_to(asked.messages[1]["content"])
        if asked.name == "judgements":
            said["judgements"][0]["work"] = "=1+1"
        elif asked.about.get("role") == "beekeeper":
            said["places"].append("=cmd|' /C calc'!A0")
            said["activities"][0]["text"] = "@inspecting a honeycomb"
        return said

    rows = rows_of(review_csv(proposal(subject, reply)[0].candidates))
    assert not [cell for row in rows for cell in row.values() if cell.startswith(("=", "@", "+"))]
    assert "inspecting a honeycomb" in [row["text"] for row in rows]
    assert all(row["id"].startswith("c") for row in rows)


def test_values_that_two_axes_share_are_two_lines(tmp_path: Path) -> None:
    subject = subject_of(read_roles(roles(tmp_path)), axes=("style", "mood"))
    found, _ = proposal(subject)
    axes = [each for each in found.candidates if each.kind == "axis"]
    assert len({each.id for each in axes}) == len(axes) == 2 * len(answers.VALUES)


def test_each_score_has_evidence_of_its_own_before_it(subject: Subject) -> None:
    one = JUDGE_SCHEMA["properties"]["judgements"]["items"]["properties"]
    order = list(one)
    assert order.index("work") < order.index("relevance")
    assert order.index("looks") < order.index("neutrality")

    def reply(asked: Question) -> Said:
        said = answers.answer_to(asked.messages[1]["content"])
        if asked.name == "judgements":
            said["judgements"][0]["confounds"] = [
                {"because": "veil", "kind": "garment"}, {"because": "suit", "kind": "garment"},
            ]  # fmt: skip
        return said

    first = next(c for c in proposal(subject, reply)[0].candidates if c.judge)
    assert first.confounds == ("garment",)
    assert first.reason == "work: typical; looks: nothing more; garment: veil; garment: suit"
    assert not first.keep


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("keep,role", "keeep,role", "Did you mean 'keep'"),
        ("keep,role,kind", "keep,kind", "no column 'role'"),
        ("yes,beekeeper,place", "maybe,beekeeper,place", "keep is 'maybe'"),
        ("yes,beekeeper,place", "yes,beekeeper,plaice", "kind is 'plaice'"),
        ("in an apiary", "", "has no text"),
        (",5,5,", ",five,5,", "no score"),
        ("yes,beekeeper,place", "no,beekeeper,place", "'beekeeper' has 0 places"),
        ("yes,beekeeper,place,in an apiary", "yes,bee,place,in an apiary", "not on the list"),
        ("yes,beekeeper,place,in an apiary", "yes,beekeeper,place,apiary", "not a preposition"),
    ],
)
def test_a_wrong_review_is_refused(
    subject: Subject, tmp_path: Path, old: str, new: str, said: str
) -> None:
    text = review_csv(proposal(subject)[0].candidates)
    assert old in text
    with pytest.raises((InputError, BankError), match=said):
        built(subject, text.replace(old, new), tmp_path)


def test_a_person_can_let_a_word_pass(subject: Subject, tmp_path: Path) -> None:
    text = review_csv(proposal(subject)[0].candidates)
    text = text.replace("in an apiary", "in a hammer shop").replace(",apiary,", ",hammer shop,")
    bank = load_bank(built(subject, text, tmp_path))
    assert [fault.rule for fault in check_bank(bank)] == ["tool"]
    text += "yes,,allow,hammer shop" + "," * 12 + "\n"
    assert check_bank(load_bank(built(subject, text, tmp_path))) == []


def test_the_first_place_that_is_kept_is_the_base(subject: Subject, tmp_path: Path) -> None:
    text = review_csv(proposal(subject)[0].candidates)
    # All activities are at the apiary; dropping it leaves them without a place.
    lines = [
        line.replace(
            "inspecting a honeycomb,apiary", "inspecting a honeycomb,honey processing room"
        )
        for line in text.splitlines()
    ]
    bank = load_bank(built(subject, "\n".join(lines) + "\n", tmp_path))
    assert bank.roles[0].places[0].name == "apiary"
    assert bank.roles[0].activity.text == "opening a beehive"


# ---- the list of roles


def test_a_list_in_csv(tmp_path: Path) -> None:
    path = roles(tmp_path, "role,about,soc\nCEO,runs a company,11-0000\n\nnurse,,\n", "r.csv")
    first, second = read_roles(path)
    assert (first.name, first.about, first.form, first.soc) == (
        "ceo", "runs a company", "CEO", "11-0000",
    )  # fmt: skip
    assert second.name == "nurse"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("r.txt", "", "has no role"),
        ("r.txt", "# only a comment\n\n", "has no role"),
        ("r.txt", "nurse\nbaker\nNurse\n", "line 3: 'nurse' is there twice"),
        ("r.txt", "mean\n", "a meaning of its own"),
        ("r.txt", "1234\n", "no name of a role"),
        ("r.csv", "role\n", "has no role"),
        ("r.csv", "name\nnurse\n", "column 'name'"),
        ("r.csv", "rolle,about\nnurse,x\n", "Did you mean 'role'"),
        ("r.csv", "about\nx\n", "no column 'role'"),
        ("r.csv", "role,soc\nnurse,nursing\n", "no major group"),
        ("r.csv", "role,about\nnurse,a,b\n", "line 2: 3 fields where the header has 2"),
        ("r.csv", "role,about,role\nnurse,a,b\n", "column 'role' twice"),
        ("r.csv", 'sep=,\nrole\nnurse\n"baker\n', "line 4: not CSV"),
        ("r.csv", "", "is empty. Its header is role"),
    ],
)
def test_a_wrong_list_is_refused(name: str, text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        read_roles(roles(tmp_path, text, name))


def test_a_list_as_an_editor_in_germany_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "rollen.csv"
    # The umlaut of the first in two characters, as some systems store it.
    text = "\ufeffrole;about\r\nBa\u0308cker;backt, was es gibt\r\n;\r\nÄrztin;\r\n"
    path.write_bytes(text.encode())
    assert [(role.name, role.about) for role in read_roles(path)] == [
        ("b\u00e4cker", "backt, was es gibt"), ("\u00e4rztin", ""),
    ]  # fmt: skip
    path.write_bytes("role\nBa\u0308cker\nB\u00e4cker\n".encode())
    with pytest.raises(InputError, match=r"line 3: .* is there twice"):
        read_roles(path)


def test_lists_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_roles(tmp_path / "none.csv")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match="not UTF-8"):
        read_roles(tmp_path / "bytes.txt")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"language": "fr"}, "no language 'fr'"),
        ({"language": "missing.toml"}, "cannot read the language"),
        ({"axes": ("style", "style")}, "names one twice"),
        ({"phrasings": ("a photo of",)}, "three phrasings, and there are 1"),
    ],
)
def test_what_cannot_be_asked_for(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises((InputError, BankError), match=said):
        subject_of(read_roles(roles(tmp_path)), **given)
