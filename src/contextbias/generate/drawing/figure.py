"""A whole person: legs, trunk, arms, head and what is held, in drawing order."""

from __future__ import annotations

from contextbias.generate.drawing import accessories, body, facewear, headwear
from contextbias.generate.drawing.head import neck
from contextbias.generate.drawing.items import Item
from contextbias.generate.drawing.look import Look
from contextbias.generate.drawing.outerwear import dress
from contextbias.generate.drawing.outfit import Outfit
from contextbias.generate.drawing.svg import Ink, box, darker, moved


def figure(
    ink: Ink, look: Look, held: Item | None, *, whole: bool, lift: float, stethoscope: bool
) -> str:
    """One person in figure coordinates.

    Args:
        ink: The document's gradients.
        look: Who.
        held: What is in the hands; None for empty hands.
        whole: True when the legs are in the picture.
        lift: How far hands are raised, for pictures that end at the chest.
        stethoscope: True to hang one round the neck.
    """
    build = body.build_of(look)
    outfit = dress(ink, look, build)
    sitting = look.pose == "sitting"
    parts = [
        _chair(build, whole=whole) if sitting else "",
        moved(headwear.head_behind(ink, look), 0, body.HEAD_Y, look.tilt),
        *outfit.collar_behind,
        accessories.behind(ink, look, build),
        body.legs(look, build, outfit.bottom, sitting=sitting)
        if whole
        else body.hips(build, outfit.bottom),
        "" if sitting else "".join(outfit.over_legs),
        moved(neck(ink, look), 0, body.HEAD_Y),
        *outfit.trunk,
        *outfit.details,
        accessories.on_trunk(ink, look, build, stethoscope=stethoscope),
        moved(facewear.neck_wear(ink, look), 0, body.HEAD_Y),
        _arms(look, build, outfit, held, lift),
        moved(headwear.head_in_front(ink, look), 0, body.HEAD_Y, look.tilt),
    ]
    return "".join(parts)


def _arm_kinds(look: Look, held: Item | None) -> tuple[str, str]:
    """The postures of the picture's right and left arm."""
    if held is not None:
        return held.hold, "both" if held.hold == "both" else "relaxed"
    if look.pose == "hands_on_hips":
        return "hip", "hip"
    if look.pose == "arms_crossed":
        return "crossed_under", "crossed_over"
    if look.pose == "sitting":
        return "lap", "lap"
    if look.accessories & _AT_THE_WRIST:
        return "hug", "relaxed"
    return "relaxed", "relaxed"


_AT_THE_WRIST = frozenset({"watch", "bracelet", "gloves"})


def _arms(look: Look, build: body.Build, outfit: Outfit, held: Item | None, lift: float) -> str:
    right_kind, left_kind = _arm_kinds(look, held)
    if look.pose == "sitting" and left_kind == "relaxed":
        left_kind = "lap"
    apart = min(held.half * 0.94, 84.0) if held else 0.0
    right = body.arm_for(build, right_kind, lift, apart)
    left = body.arm_for(build, left_kind, lift, apart)
    right_arm = body.arm(look, build, outfit.sleeve, right)
    right_arm += accessories.on_wrist(look, build, right)
    left_arm = body.arm(look, build, outfit.sleeve, left)
    back, front = body.hand(look, right)
    left_back, left_front = body.hand(look, left)
    thing = _held(held, right, lift) if held else ""
    mirror = '<g transform="scale(-1 1)">'
    if held is not None and held.hold == "both":
        return f"{right_arm}{mirror}{left_arm}{left_back}</g>{back}{thing}{front}{mirror}{left_front}</g>"
    first = f"{right_arm}{back}{thing}{front}"
    return f"{first}{mirror}{left_arm}{left_back}{left_front}</g>"


def _held(held: Item, pose: body.Arm, lift: float) -> str:
    x, y = pose.wrist
    drawn = held.svg
    if held.hold == "grip":
        return moved(drawn, x, y - 20, held.turn)
    if held.hold == "hang":
        return moved(drawn, x, y + 22)
    if held.hold == "hug":
        return moved(drawn, 26, 292 - lift, held.turn)
    return moved(drawn, 0, 342 - lift)


def _chair(build: body.Build, *, whole: bool) -> str:
    half = build.shoulder + 38
    wood = "#8a6a52"
    rest = box(-half, 196, 2 * half, 236, darker(wood, 0.1), 26)
    inner = box(-half + 12, 208, 2 * half - 24, 212, "#b98c6c", 18)
    if not whole:
        return rest + inner
    seat = box(-half + 4, 430, 2 * half - 8, 54, darker(wood, 0.22), 16)
    feet = "".join(
        box(x, 478, 13, body.SITTING_FLOOR - 474, darker(wood, 0.4), 4)
        for x in (-half + 12, half - 25)
    )
    return feet + rest + inner + seat
