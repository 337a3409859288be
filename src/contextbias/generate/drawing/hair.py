"""Hair: what lies behind the head, and what lies on it. Drawn about the middle of the head."""

from __future__ import annotations

from collections.abc import Callable

from contextbias.generate.drawing.look import Look
from contextbias.generate.drawing.svg import Ink, both_sides, darker, lighter, line, oval, path

HIDING = frozenset({"hijab", "hood", "turban"})
"""Head coverings under which no hair is drawn in front."""

_FLATTENING = frozenset({"hat", "helmet", "beanie", "hairnet", "turban", "veil", "hood", "hijab"})


class _Paint:
    """The tones of one head of hair."""

    def __init__(self, ink: Ink, color: str) -> None:
        self.mass = ink.linear(lighter(color, 0.20), darker(color, 0.16), 0.4, 1.0)
        self.back = ink.linear(darker(color, 0.16), darker(color, 0.34))
        self.strand = darker(color, 0.42)
        self.shine = lighter(color, 0.42)

    def strands(self, d: str, width: float = 1.8) -> str:
        return line(d, self.strand, width, 'stroke-opacity="0.5"')

    def gloss(self, d: str, width: float = 4.0) -> str:
        return line(d, self.shine, width, 'stroke-opacity="0.4"')


def hair_behind(ink: Ink, look: Look) -> str:
    """The mass of hair behind head and neck; empty for short styles and under a hijab or hood."""
    if look.covering in ("hijab", "hood") or look.hair_style not in _BEHIND:
        return ""
    flat = look.covering in _FLATTENING
    return _BEHIND[look.hair_style](_Paint(ink, look.hair), flat)


def hair_on_head(ink: Ink, look: Look) -> str:
    """Hairline, fringe and locks, drawn over the face; flattened under a head covering."""
    if look.covering in HIDING or look.hair_style == "none":
        return ""
    flat = look.covering in _FLATTENING
    return _FRONT.get(look.hair_style, _short)(_Paint(ink, look.hair), flat)


# --- behind the head -------------------------------------------------------------------------


def _long_back(p: _Paint, _flat: bool) -> str:
    d = (
        "M-50 -20C-58 -80 58 -80 50 -20C62 20 60 70 68 112C72 136 62 150 46 152"
        "L-46 152C-62 150 -72 136 -68 112C-60 70 -62 20 -50 -20Z"
    )
    return path(d, p.back)


def _straight_back(p: _Paint, _flat: bool) -> str:
    d = "M-52 -20C-58 -80 58 -80 52 -20L64 138Q0 146 -64 138Z"
    return path(d, p.back)


def _wavy_back(p: _Paint, _flat: bool) -> str:
    half = "C64 2 54 22 66 40C78 58 60 74 70 92C78 108 66 126 50 128"
    other = "L-50 128C-66 126 -78 108 -70 92C-60 74 -78 58 -66 40C-54 22 -64 2 -52 -22Z"
    return path(f"M-52 -22C-58 -82 58 -82 52 -22{half}{other}", p.back)


def _bob_back(p: _Paint, _flat: bool) -> str:
    return path(
        "M-54 -20C-60 -82 60 -82 54 -20C62 16 62 44 58 68C30 76 -30 76 -58 68C-62 44 -62 16 -54 -20Z",
        p.back,
    )


def _ponytail_back(p: _Paint, flat: bool) -> str:
    if flat:
        tail = "M10 20C50 30 70 60 66 100C64 126 54 140 46 150C44 120 30 90 6 70Z"
        return path(tail, p.back)
    tail = (
        "M18 -62C40 -86 78 -76 86 -36C92 -4 80 30 86 64C88 84 80 98 72 106"
        "C74 84 60 64 56 36C52 6 50 -24 22 -44Z"
    )
    return path(tail, p.mass) + p.strands(
        "M34 -62C66 -56 70 -20 68 20C67 44 74 66 76 88M30 -54C56 -40 60 0 62 30"
    )


def _bun_back(p: _Paint, flat: bool) -> str:
    if flat:
        return oval(0, 44, 40, 26, p.back)
    return (
        oval(0, -82, 29, 25, p.mass)
        + p.strands(
            "M-22 -84C-14 -100 14 -102 22 -86M-16 -76C-6 -90 12 -90 18 -74M-6 -70C0 -78 6 -78 10 -70"
        )
        + p.gloss("M-14 -94Q-4 -102 8 -99", 3)
    )


def _updo_back(p: _Paint, flat: bool) -> str:
    if flat:
        return oval(0, 44, 44, 30, p.back)
    return path("M-56 -14C-70 -60 -46 -104 0 -106C46 -104 70 -60 56 -14Z", p.back)


def _curly_back(p: _Paint, flat: bool) -> str:
    rim = [(-50, -34, 19), (-58, -6, 20), (-60, 24, 20), (-54, 52, 18), (0, 44, 44)]
    top = [] if flat else [(-36, -58, 20), (-13, -70, 21), (14, -70, 21), (38, -56, 20)]
    mirrored = [(-x, y, r) for x, y, r in rim]
    return "".join(oval(x, y, r, r, p.back) for x, y, r in [*rim, *mirrored, *top])


def _afro_back(p: _Paint, flat: bool) -> str:
    if flat:
        return oval(-46, 6, 24, 30, p.mass) + oval(46, 6, 24, 30, p.mass)
    d = (
        "M0 -112Q20 -116 36 -102Q56 -102 66 -82Q84 -72 86 -50Q100 -32 94 -10Q100 10 86 26"
        "Q84 44 66 48Q56 56 44 48L-44 48Q-56 56 -66 48Q-84 44 -86 26Q-100 10 -94 -10"
        "Q-100 -32 -86 -50Q-84 -72 -66 -82Q-56 -102 -36 -102Q-20 -116 0 -112Z"
    )
    return path(d, p.mass)


def _braids_back(p: _Paint, _flat: bool) -> str:
    return path("M-50 -20C-56 -78 56 -78 50 -20L46 40L-46 40Z", p.back)


_BEHIND: dict[str, Callable[[_Paint, bool], str]] = {
    "long": _long_back,
    "straight": _straight_back,
    "wavy": _wavy_back,
    "bob": _bob_back,
    "ponytail": _ponytail_back,
    "bun": _bun_back,
    "updo": _updo_back,
    "curly": _curly_back,
    "afro": _afro_back,
    "braids": _braids_back,
}


# --- on the head -----------------------------------------------------------------------------


def _short(p: _Paint, flat: bool) -> str:
    crown = "C-57 -42 -46 -72 -4 -75C14 -82 40 -74 48 -52C56 -40 55 -14 50 6"
    d = f"M-50 6{crown}L45 5C46 -10 42 -22 35 -31C16 -25 -6 -30 -20 -45C-26 -36 -40 -28 -44 -12L-45 5Z"
    fine = p.strands(
        "M-20 -45C-16 -56 -8 -64 2 -68M4 -32C12 -42 22 -50 34 -54M22 -29C30 -36 38 -42 46 -44"
    )
    return path(d, p.mass) + ("" if flat else fine + p.gloss("M-34 -52Q-24 -64 -8 -67"))


def _pulled_back(p: _Paint, flat: bool) -> str:
    d = "M-50 8C-58 -44 -34 -76 0 -76C34 -76 58 -44 50 8L46 2C46 -24 30 -46 0 -47C-30 -46 -46 -24 -46 2Z"
    fine = p.strands(
        "M-40 -26C-34 -48 -20 -62 -6 -70M40 -26C34 -48 20 -62 6 -70M-18 -43C-14 -56 -6 -64 0 -70M18 -43C14 -56 6 -64 0 -70"
    )
    return path(d, p.mass) + ("" if flat else fine + p.gloss("M-32 -50Q-22 -64 -6 -68"))


def _side_part(p: _Paint, flat: bool) -> str:
    d = (
        "M-51 14C-60 -44 -40 -78 0 -78C40 -78 60 -44 51 14C47 2 46 -10 44 -16"
        "C30 -20 2 -30 -16 -52C-22 -38 -38 -24 -44 -12C-46 -4 -48 4 -51 14Z"
    )
    fine = p.strands(
        "M-16 -52C-14 -62 -8 -70 0 -74M8 -36C16 -50 26 -58 40 -60M26 -25C34 -36 42 -42 50 -42"
    )
    return path(d, p.mass) + ("" if flat else fine + p.gloss("M-38 -46Q-30 -60 -20 -66"))


def _curtain(p: _Paint, flat: bool) -> str:
    d = (
        "M-52 16C-60 -44 -40 -78 0 -78C40 -78 60 -44 52 16C49 0 46 -12 38 -22"
        "C24 -30 8 -42 0 -58C-8 -42 -24 -30 -38 -22C-46 -12 -49 0 -52 16Z"
    )
    fine = p.strands("M0 -58C-8 -50 -24 -46 -40 -36M0 -58C8 -50 24 -46 40 -36M0 -58V-74")
    return path(d, p.mass) + ("" if flat else fine + p.gloss("M-38 -46Q-28 -62 -14 -67"))


def _fringe(p: _Paint, flat: bool) -> str:
    d = (
        "M-54 20C-62 -44 -42 -80 0 -80C42 -80 62 -44 54 20L44 20C46 4 45 -8 42 -15"
        "C26 -20 -26 -20 -42 -15C-45 -8 -46 4 -44 20Z"
    )
    fine = p.strands(
        "M-26 -18C-24 -36 -18 -54 -8 -66M-4 -19C-4 -38 0 -54 2 -66M22 -18C22 -34 16 -54 8 -66M36 -17C38 -34 34 -48 28 -58"
    )
    return path(d, p.mass) + ("" if flat else fine + p.gloss("M-40 -44Q-30 -62 -14 -68"))


def _long(p: _Paint, flat: bool) -> str:
    lock = "M44 -18C58 4 52 44 60 80C66 106 62 132 54 150C40 140 34 120 40 92C46 62 40 30 44 -18Z"
    fine = "M50 10C52 50 46 80 52 130"
    return both_sides(path(lock, p.mass) + p.strands(fine)) + _side_part(p, flat)


def _straight(p: _Paint, flat: bool) -> str:
    lock = "M44 -18C54 0 56 60 62 140L34 142C36 90 38 40 43 4Z"
    return both_sides(path(lock, p.mass) + p.strands("M48 10L52 136M44 30L42 138")) + _curtain(
        p, flat
    )


def _wavy(p: _Paint, flat: bool) -> str:
    lock = (
        "M43 -20C60 -4 46 16 58 34C70 54 52 68 62 86C68 100 62 118 50 128"
        "C38 116 46 100 40 86C32 70 48 56 40 38C34 22 46 8 43 -20Z"
    )
    fine = "M52 6C46 20 56 36 56 50C56 66 48 72 52 92"
    return both_sides(path(lock, p.mass) + p.strands(fine)) + _side_part(p, flat)


def _bob(p: _Paint, flat: bool) -> str:
    lock = "M42 -18C60 0 60 40 56 66C48 72 38 70 36 62C44 40 44 10 42 -18Z"
    return both_sides(path(lock, p.mass) + p.strands("M50 4C52 30 50 48 47 64")) + _fringe(p, flat)


def _pixie(p: _Paint, flat: bool) -> str:
    d = (
        "M-49 16C-58 -42 -38 -78 2 -78C40 -78 58 -46 49 10L44 -2C42 -14 40 -20 38 -24C20 -22 -2 -20 -24 -8"
        "C-22 -14 -24 -18 -22 -22C-34 -14 -40 -8 -43 2Z"
    )
    fine = p.strands(
        "M-24 -9C-10 -28 12 -42 34 -48M-22 -22C-12 -40 4 -54 22 -60M38 -24C42 -34 46 -38 50 -38"
    )
    return path(d, p.mass) + ("" if flat else fine + p.gloss("M-36 -46Q-28 -60 -14 -66"))


def _ponytail(p: _Paint, flat: bool) -> str:
    wisp = "M-44 -14C-50 6 -48 24 -42 34C-46 18 -42 4 -40 -12Z"
    return _pulled_back(p, flat) + path(wisp, p.mass)


def _updo(p: _Paint, flat: bool) -> str:
    if flat:
        return _pulled_back(p, flat)
    d = (
        "M-50 6C-66 -34 -52 -96 -4 -100C48 -104 70 -46 50 6L45 -2C44 -22 34 -36 16 -42"
        "C-4 -46 -18 -46 -30 -36C-42 -28 -46 -14 -45 -2Z"
    )
    fine = p.strands(
        "M-28 -38C-34 -64 -14 -86 12 -84M-8 -44C-16 -62 0 -76 18 -72M18 -42C10 -54 20 -62 28 -56M38 -30C44 -52 34 -74 12 -84"
    )
    tendril = "M46 0C54 14 46 24 52 38"
    return (
        path(d, p.mass)
        + fine
        + both_sides(line(tendril, p.strand, 3))
        + p.gloss("M-40 -56Q-34 -80 -12 -88")
    )


def _curly(p: _Paint, flat: bool) -> str:
    side = [(50, -8, 14), (54, 16, 14), (53, 40, 14), (46, 60, 12)]
    top = [(-42, -36, 16), (-24, -52, 18), (0, -58, 19), (24, -52, 18), (42, -36, 16)]
    fringe = [(-32, -34, 13), (-12, -42, 14), (10, -42, 14), (31, -34, 13)]
    rings = [*side, *[(-x, y, r) for x, y, r in side], *([] if flat else [*top, *fringe])]
    balls = "".join(oval(x, y, r, r, p.mass) for x, y, r in rings)
    curls = "".join(
        f"M{x - r * 0.5:.1f} {y:.1f}a{r * 0.5:.1f} {r * 0.5:.1f} 0 1 1 {r * 0.8:.1f} {r * 0.3:.1f}"
        for x, y, r in rings
    )
    return balls + p.strands(curls, 2.0)


def _afro(p: _Paint, flat: bool) -> str:
    if flat:
        return ""
    d = (
        "M-50 12C-60 -20 -46 -58 0 -62C46 -58 60 -20 50 12C46 4 46 -8 43 -14Q40 -24 32 -30Q24 -40 12 -40"
        "Q0 -46 -12 -40Q-24 -40 -32 -30Q-40 -24 -43 -14C-46 -8 -46 4 -50 12Z"
    )
    coils = "".join(
        f"M{x} {y}q4 -6 8 0t8 0" for x, y in
        [(-60, -60), (-34, -84), (-6, -92), (24, -84), (48, -62), (62, -34), (-80, -30), (-24, -60), (8, -66), (34, -52), (-50, -36), (66, 0), (-82, 0)]
    )  # fmt: skip
    return path(d, p.back) + p.strands(coils, 2.2)


def _shaved(p: _Paint, _flat: bool) -> str:
    d = "M-48 2C-54 -42 -32 -69 0 -69C32 -69 54 -42 48 2L45 -6C44 -20 38 -34 26 -40C10 -45 -10 -45 -26 -40C-38 -34 -44 -20 -45 -6Z"
    return path(d, p.strand, 'fill-opacity="0.62"')


def _mohawk(p: _Paint, flat: bool) -> str:
    crest = "M-17 -40C-26 -70 -24 -96 -12 -112L-6 -100L0 -120L6 -100L13 -112C25 -94 26 -70 17 -40Q0 -50 -17 -40Z"
    if flat:
        return _shaved(p, flat)
    fine = p.strands("M-10 -46C-14 -70 -12 -90 -8 -100M0 -48V-106M10 -46C14 -70 12 -90 8 -100")
    return _shaved(p, flat) + path(crest, p.mass) + fine


def _braid(p: _Paint) -> str:
    knots = []
    for step in range(7):
        y, x = 32 + step * 19, 50 + (step % 2) * 3 + step * 0.8
        r = 11.5 - step * 0.5
        knots.append(oval(x, y, r, 12.5, p.mass))
        knots.append(
            p.strands(
                f"M{x - r + 2:.1f} {y - 4:.1f}Q{x:.1f} {y + 8:.1f} {x + r - 2:.1f} {y - 4:.1f}"
            )
        )
    tie = path("M49 160h15l3 22q-10 6 -20 0Z", p.mass) + line("M49 160h14", "#c2514d", 5)
    return "".join(knots) + tie


def _braids(p: _Paint, flat: bool) -> str:
    side = path("M40 -20C54 -6 54 14 46 34C42 18 44 0 40 -20Z", p.mass)
    return both_sides(side + _braid(p)) + _curtain(p, flat)


_FRONT: dict[str, Callable[[_Paint, bool], str]] = {
    "short": _short,
    "long": _long,
    "bob": _bob,
    "pixie": _pixie,
    "ponytail": _ponytail,
    "braids": _braids,
    "bun": _pulled_back,
    "curly": _curly,
    "wavy": _wavy,
    "straight": _straight,
    "updo": _updo,
    "shaved": _shaved,
    "afro": _afro,
    "mohawk": _mohawk,
}
