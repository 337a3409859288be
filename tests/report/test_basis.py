from __future__ import annotations

from dataclasses import replace

from contextbias.report import basis
from contextbias.report.missing import Answers
from contextbias.report.select import Number


def number(point: float, low: float | None, high: float | None) -> Number:
    return Number(point, low, high, None, 21, None, None, "equal", None)


def a_basis(lead: Number | None, **changes: object) -> basis.Basis:
    answers = {"CF": Answers(94, 100), "CA-R": Answers(9499, 9500), "CA-U": Answers(400, 400)}
    made = basis.Basis("g", lead, 12, answers, "95%", 1000)
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_direction_needs_an_interval_on_one_side_of_zero() -> None:
    more, less, either = (
        a_basis(number(0.1, low, high)) for low, high in ((0.05, 0.2), (-0.3, -0.1), (-0.1, 0.2))
    )

    assert [basis.outcome(each) for each in (more, less, either)] == ["changed", "changed", "same"]
    assert "more uniformly" in basis.headline(more)
    assert "more variously" in basis.headline(less)
    assert "No change found" in basis.headline(either)


def test_the_basis_states_level_roles_and_answers() -> None:
    (text,) = basis.support(a_basis(number(0.1, 0.05, 0.2)))

    # 94 + 9499 + 400 of 100 + 9500 + 400; all but one is not 100%.
    assert text == (
        "95% interval from resampling 12 roles; 9\u202f993 of 10\u202f000 answers about people "
        "were read (CF 94%, CA-R >99%, CA-U 100%)."
    )


def test_dimensions_that_cannot_change_are_said_and_are_not_missing() -> None:
    fixed = "1 of 21 dimensions with one label only"
    lead = replace(number(0.1, 0.05, 0.2), note=fixed)
    assert basis.support(a_basis(lead))[1:] == (
        f"Part of it is the same in every condition: {fixed}.",
    )
    both = basis.support(a_basis(replace(lead, note=f"1 of 21 dimensions missing; {fixed}")))
    assert both[1].startswith("It does not rest on all roles and dimensions: 1 of 21 dimensions m")
    assert fixed not in both[1]
    assert fixed in both[2]


def test_a_missing_interval_does_not_include_zero() -> None:
    none_asked = a_basis(number(0.1, None, None), bootstrap=0)

    assert basis.outcome(none_asked) == "no_interval"
    assert "includes 0" not in basis.sentence(none_asked)
    assert basis.support(none_asked)[0].startswith(
        "No interval, since no resampling was asked for; 12 roles; "
    )


def test_one_role_has_no_interval_and_no_finding() -> None:
    one = a_basis(number(0.1, None, None), roles=1)

    assert basis.outcome(one) == "few"
    assert basis.headline(one).startswith("Too few roles (1) to say")
    assert "includes 0" not in basis.sentence(one)
    assert basis.support(one)[0].startswith("No interval: with one role there is nothing")


def test_an_interval_from_few_roles_is_no_finding() -> None:
    few = a_basis(number(0.1, 0.05, 0.2), roles=4)

    assert basis.outcome(few) == "few"
    assert basis.outcome(replace(few, roles=5)) == "changed"
    assert "concentrated" not in basis.sentence(few)


def test_less_than_half_read_is_warned_of() -> None:
    lead = number(0.1, 0.05, 0.2)

    assert basis.warnings(a_basis(lead)) == ()
    (text,) = basis.warnings(
        a_basis(lead, answers={"CF": Answers(49, 100), "CA-U": Answers(50, 100)})
    )
    assert "read in CF 49%." not in text
    assert "(CF 49%)" in text
    half = a_basis(lead, answers={"CF": Answers(498, 1000)})  # the page says 50%
    assert basis.warnings(half) == ()


def test_a_reader_that_reads_nothing_about_people_is_named_as_the_reason() -> None:
    blind = a_basis(None, answers={"CF": Answers(0, 0), "CA-U": Answers(0, 0)})

    assert basis.sentence(blind) == (
        "Attributes of people could not be compared: the reader reads no attribute of people."
    )
    assert basis.support(blind) == ()
