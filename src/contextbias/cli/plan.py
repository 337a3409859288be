"""`contextbias plan`: what a study takes and what it can find, before any spend."""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Target(StrEnum):
    """What the answer is about."""

    INVARIANT = "invariant"
    SHIFT = "shift"


_Target = Annotated[
    Target,
    typer.Option(
        help="What the answer is about: showing that a label is invariant, or finding a shift."
    ),
]
_Prevalence = Annotated[
    float, typer.Option(metavar="PCT", help="Of the label, in percent of the images.")
]
_Range = Annotated[
    float, typer.Option("--range-pp", metavar="PP", help="The shift to be found (--target shift).")
]
_Power = Annotated[
    float, typer.Option(metavar="X", help="Wanted probability of finding it, 0.5 or more.")
]
_Alpha = Annotated[
    float | None, typer.Option(metavar="X", help="Level of the tests; the study's own if left out.")
]
_Margin = Annotated[
    float | None,
    typer.Option(
        "--margin-pp",
        metavar="PP",
        help="Largest range that counts as no change; the study's own if left out.",
    ),
]
_Share = Annotated[
    float,
    typer.Option(
        metavar="X",
        help="Share of all labels that truly shift: the fewer they are, the more adjusting for "
        "many tests costs.",
    ),
]
_Roles = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Roles; the study's own if left out.")
]
_Seeds = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Seeds a prompt; the study's own if left out."),
]
_Likeness = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="How alike images of one context are, 0 to 1: their intraclass correlation. Left "
        "out: from the estimates of the pilot or the study, else 0.05.",
    ),
]
_Effect = Annotated[
    float | None,
    typer.Option(metavar="X", help="In place of --icc: images / effective images, from 1 on."),
]
_RoleSpread = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="Spread over roles of a difference of Bias Intensity (standard deviation). Left out: "
        "as --icc.",
    ),
]
_Pilot = Annotated[
    Path | None,
    typer.Option(
        metavar="STUDY",
        help="Another study, whose estimates say how alike images and how unlike roles are.",
        show_default=False,
    ),
]


def plan(
    study: Annotated[
        Path | None,
        typer.Argument(
            metavar="[STUDY]",
            help="A study folder, run or not. Left out: the whole of ContextBench, 10 images a "
            "prompt.",
            show_default=False,
        ),
    ] = None,
    target: _Target = Target.INVARIANT,
    prevalence: _Prevalence = 90.0,
    range_pp: _Range = 10.0,
    power: _Power = 0.8,
    alpha: _Alpha = None,
    margin_pp: _Margin = None,
    shifted_share: _Share = 0.1,
    role_count: _Roles = None,
    images_per_prompt: _Seeds = None,
    icc: _Likeness = None,
    design_effect: _Effect = None,
    role_sd: _RoleSpread = None,
    pilot: _Pilot = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a study takes and what it can find, before any spend. Changes nothing.

    How many images are needed to show that a label is invariant, or that it shifts; what this study
    can find as it is; how wide its intervals of Bias Intensity will be; and what is still to be
    generated and read: images, calls, time, disk.
    """
    import json

    from contextbias.cli.plan_text import plan_lines
    from contextbias.pipeline.planning import Assumptions
    from contextbias.pipeline.planning import plan as make_plan
    from contextbias.pipeline.sizes import Aims
    from contextbias.store import Study

    _check_options(prevalence, range_pp, power, alpha, margin_pp, shifted_share)
    _check_assumptions(icc, design_effect, role_sd)
    with ExitStack() as stack:
        opened = None if study is None else stack.enter_context(Study.open(study))
        known = None if pilot is None else stack.enter_context(Study.open(pilot))
        own = None if opened is None else opened.config.measure
        aims = Aims(
            target=target.value,
            power=power,
            alpha=alpha or (own.alpha if own else 0.05),
            margin_pp=margin_pp or (own.margin_pp if own else 5.0),
            prevalence=prevalence / 100,
            range_pp=range_pp,
            shifted_share=shifted_share,
        )
        assumptions = Assumptions(
            roles=role_count,
            images_per_prompt=images_per_prompt,
            correlation=icc,
            design_effect=design_effect,
            role_sd=role_sd,
        )
        found = make_plan(opened, aims, assumptions, known)
    if as_json:
        print(json.dumps(found, indent=2, allow_nan=False))
    else:
        print("\n".join(plan_lines(found)))


def _check_options(
    prevalence: float,
    range_pp: float,
    power: float,
    alpha: float | None,
    margin_pp: float | None,
    shifted_share: float,
) -> None:
    """Refuse numbers outside their range.

    Raises:
        InputError: Names the option, its value and its range.
    """
    _check("--prevalence", prevalence, 0 <= prevalence <= 100, "0 to 100 percent of the images")
    if 0 < prevalence < 1:
        typer.echo(
            f"--prevalence {prevalence:g} is taken as {prevalence:g}% of the images; for "
            f"{100 * prevalence:g}%, give {100 * prevalence:g}",
            err=True,
        )
    room = max(prevalence, 100 - prevalence)
    _check(
        "--range-pp",
        range_pp,
        0 < range_pp <= room,
        f"above 0 and at most {room:g}, since the label stands in {prevalence:g}% of the images",
    )
    _check("--power", power, 0.5 <= power < 1, "0.5 or more, and below 1, such as 0.8")
    _check("--alpha", alpha, alpha is None or 0 < alpha < 0.5, "between 0 and 0.5")
    _check("--margin-pp", margin_pp, margin_pp is None or 0 < margin_pp < 100, "between 0 and 100")
    _check("--shifted-share", shifted_share, 0 < shifted_share <= 1, "above 0 and at most 1")


def _check_assumptions(
    icc: float | None, design_effect: float | None, role_sd: float | None
) -> None:
    from contextbias.errors import InputError

    _check("--icc", icc, icc is None or 0 <= icc <= 1, "0 to 1")
    fine = design_effect is None or 1 <= design_effect < float("inf")
    _check("--design-effect", design_effect, fine, "1 or more")
    _check("--role-sd", role_sd, role_sd is None or 0 < role_sd <= 1, "above 0 and at most 1")
    if icc is not None and design_effect is not None:
        raise InputError("--icc and --design-effect say the same thing", "give one of them")


def _check(option: str, value: float | None, fine: bool, meaning: str) -> None:
    from contextbias.errors import InputError

    if not fine:
        raise InputError(f"{option} {value:g} is out of range", f"it is {meaning}")
