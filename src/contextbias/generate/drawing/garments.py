"""Garments worn next to the body: shirts, scrubs, dresses. Each adds its pieces to an outfit."""

from __future__ import annotations

from collections.abc import Callable

from contextbias.generate.drawing.body import Build, Sleeve, torso
from contextbias.generate.drawing.outfit import Cloth, Outfit
from contextbias.generate.drawing.svg import (
    both_sides,
    box,
    contrasting,
    darker,
    lighter,
    line,
    oval,
    path,
)


def folds(b: Build, color: str) -> str:
    """Soft folds at armpits and waist."""
    c, w = b.chest, b.waist
    d = f"M{c - 2:.1f} 250Q{c - 22:.1f} 262 {c - 34:.1f} 284M{w - 2:.1f} 356Q{w - 22:.1f} 350 {w - 36:.1f} 356M{w:.1f} 338Q{w - 16:.1f} 334 {w - 24:.1f} 336"
    return both_sides(line(d, contrasting(color, 0.28), 2.0, 'stroke-opacity="0.5"'))


def bust(b: Build, color: str, gender: str) -> str:
    """A hint of the chest under cloth."""
    x = b.chest * 0.86
    dip = {"female": 14.0, "male": 4.0}.get(gender, 8.0)
    d = f"M{x:.1f} 268Q{x * 0.55:.1f} {272 + dip:.1f} 8 {266 + dip * 0.4:.1f}"
    return both_sides(line(d, contrasting(color, 0.3), 2.2, 'stroke-opacity="0.32"'))


def trunk(c: Cloth, neckline: str, ease: float = 0.0, hem: float = 440.0) -> str:
    """Cloth over the trunk with its usual light, folds and chest."""
    shape = path(torso(c.build, neckline, ease, hem), c.color)
    return shape + folds(c.build, c.color) + bust(c.build, c.color, c.look.gender)


def _t_shirt(c: Cloth, o: Outfit) -> None:
    n = c.build.neck + 9
    o.trunk.append(trunk(c, "crew"))
    rib = f"M{-n:.1f} 157C{-n + 3:.1f} 184 {n - 3:.1f} 184 {n:.1f} 157"
    o.trunk.append(line(rib, darker(c.color, 0.22), 5))
    o.sleeve = Sleeve(c.color, 0.42, 10)


def collar(c: Cloth, color: str) -> str:
    """The two leaves of a shirt collar."""
    n = c.build.neck
    leaf = f"M{n + 6:.1f} 146C{n + 4:.1f} 160 14 178 0 188L20 210C32 194 {n + 14:.1f} 182 {n + 15:.1f} 164Z"
    paint = c.ink.linear(lighter(color, 0.22), darker(color, 0.05))
    edge = line(leaf, contrasting(color, 0.25), 1.4, 'stroke-opacity="0.6"')
    return both_sides(path(leaf, paint) + edge)


def _buttons(color: str, ys: range, x: float = 0.0) -> str:
    dots = "".join(
        f"M{x - 2.6:.1f} {y}a2.600 2.600 0 1 0 5.200 0a2.600 2.600 0 1 0 -5.200 0" for y in ys
    )
    return path(dots, contrasting(color, 0.4))


def _shirt(c: Cloth, o: Outfit) -> None:
    o.trunk.append(trunk(c, "collar"))
    o.trunk.append(
        line("M-7 196V438M7 196V438", contrasting(c.color, 0.2), 1.6, 'stroke-opacity="0.6"')
    )
    o.trunk.append(_buttons(c.color, range(222, 430, 38)))
    o.trunk.append(collar(c, c.color))
    o.sleeve = Sleeve(c.color, 0.93, 8, cuff=lighter(c.color, 0.2))


def _flannel(c: Cloth, o: Outfit) -> None:
    b = c.build
    o.trunk.append(trunk(c, "collar"))
    dark = contrasting(c.color, 0.5)
    stripes = "".join(f"M{x} 190V438" for x in range(-60, 61, 24) if abs(x) < b.waist - 4)
    bars = "".join(f"M{-_half(b, y):.1f} {y}H{_half(b, y):.1f}" for y in range(212, 440, 26))
    o.trunk.append(line(stripes + bars, dark, 7, 'stroke-opacity="0.42"'))
    thin = "".join(f"M{-_half(b, y):.1f} {y}H{_half(b, y):.1f}" for y in range(225, 440, 26))
    o.trunk.append(line(thin, "#f3e3c2", 1.8, 'stroke-opacity="0.55"'))
    o.trunk.append(
        box(-7, 196, 14, 244, darker(c.color, 0.18)) + _buttons(c.color, range(222, 430, 38))
    )
    o.trunk.append(collar(c, c.color))
    o.sleeve = Sleeve(c.color, 0.93, 10, cuff=darker(c.color, 0.25), checks=dark)


def _half(b: Build, y: float) -> float:
    if y < 262:
        return b.shoulder - 4 + (b.chest - b.shoulder) * (y - 192) / 70
    if y < 352:
        return b.chest + (b.waist - b.chest) * (y - 262) / 90
    return b.waist + (b.hip - b.waist) * (y - 352) / 88


def _sweater(c: Cloth, o: Outfit) -> None:
    b, n = c.build, c.build.neck + 8
    o.trunk.append(trunk(c, "crew", 5, 436))
    seam = contrasting(c.color, 0.25)
    knit = "".join(
        f"M{-_half(b, y) + 14:.1f} {y}q8 7 16 0t16 0t16 0t16 0t16 0t16 0" for y in (306, 330)
    )
    o.trunk.append(
        line(knit, lighter(c.color, 0.35), 3, 'stroke-opacity="0.55"') if b.waist > 50 else ""
    )
    rib = f"M{-n:.1f} 150C{-n + 2:.1f} 180 {n - 2:.1f} 180 {n:.1f} 150L{n + 7:.1f} 158C{n:.1f} 196 {-n:.1f} 196 {-n - 7:.1f} 158Z"
    o.trunk.append(path(rib, darker(c.color, 0.14)))
    h = b.hip + 5
    o.trunk.append(box(-h, 420, 2 * h, 22, darker(c.color, 0.16), 6))
    ticks = "".join(f"M{x} 423v15" for x in range(-int(h) + 10, int(h) - 4, 13))
    o.trunk.append(line(ticks, seam, 1.8, 'stroke-opacity="0.6"'))
    o.sleeve = Sleeve(c.color, 0.95, 14, cuff=darker(c.color, 0.16))


def _hoodie(c: Cloth, o: Outfit) -> None:
    n = c.build.neck
    hood = f"M{-n - 34:.1f} 176C{-n - 40:.1f} 110 {-n - 10:.1f} 96 0 96C{n + 10:.1f} 96 {n + 40:.1f} 110 {n + 34:.1f} 176Z"
    o.collar_behind.append(path(hood, darker(c.color, 0.3)))
    o.trunk.append(trunk(c, "crew", 8, 442))
    roll = f"M{-n - 30:.1f} 168C{-n - 10:.1f} 150 {-n:.1f} 152 -10 196L0 204L10 196C{n:.1f} 152 {n + 10:.1f} 150 {n + 30:.1f} 168C{n + 20:.1f} 200 20 222 0 224C-20 222 {-n - 20:.1f} 200 {-n - 30:.1f} 168Z"
    o.trunk.append(path(roll, c.ink.linear(lighter(c.color, 0.12), darker(c.color, 0.16))))
    strings = "M-12 214C-14 240 -12 252 -14 268M12 214C14 236 12 250 13 262"
    o.trunk.append(line(strings, "#f2ede3", 3.4))
    pocket = "M-40 360H40L56 412V426H-56V412Z"
    o.trunk.append(
        path(pocket, darker(c.color, 0.12))
        + line(pocket, contrasting(c.color, 0.3), 1.6, 'stroke-opacity="0.6"')
    )
    o.sleeve = Sleeve(c.color, 0.95, 16, cuff=darker(c.color, 0.2))


def _dress(c: Cloth, o: Outfit) -> None:
    b = c.build
    o.bottom.kind, o.bottom.color = "skirt", c.color
    o.trunk.append(trunk(c, "scoop"))
    w = b.waist
    o.trunk.append(path(f"M{-w - 1:.1f} 344H{w + 1:.1f}V358H{-w - 1:.1f}Z", darker(c.color, 0.3)))
    o.over_legs.append(_skirt_fall(c))
    o.sleeve = Sleeve(c.color, 0.26, 9)


def _skirt_fall(c: Cloth) -> str:
    w, h = c.build.waist + 1, c.build.hip
    d = f"M{-w:.1f} 352L{w:.1f} 352C{w + 12:.1f} 400 {h + 26:.1f} 470 {h + 46:.1f} 600Q0 626 {-h - 46:.1f} 600C{-h - 26:.1f} 470 {-w - 12:.1f} 400 {-w:.1f} 352Z"
    pleats = f"M-30 372C-40 440 -50 520 -54 604M0 372V616M30 372C40 440 50 520 54 604M{w - 4:.1f} 372C{w + 16:.1f} 440 {h + 10:.1f} 520 {h + 16:.1f} 600"
    return path(d, c.color) + line(pleats, contrasting(c.color, 0.3), 2.2, 'stroke-opacity="0.45"')


def _leotard(c: Cloth, o: Outfit) -> None:
    o.bottom.kind, o.bottom.color = "tights", lighter(c.look.skin.base, 0.25)
    o.bottom.shoes = "#e6b3b0"
    o.trunk.append(trunk(c, "scoop"))
    h = c.build.hip + 3
    brief = f"M{-h:.1f} 434L{h:.1f} 434C{h:.1f} 452 34 480 12 500Q0 506 -12 500C-34 480 {-h:.1f} 452 {-h:.1f} 434Z"
    o.over_legs.append(path(brief, darker(c.color, 0.1)))
    wrap = f"M{-h - 2:.1f} 398Q0 428 {h + 2:.1f} 398L{h + 26:.1f} 486Q40 516 0 512Q-40 516 {-h - 26:.1f} 486Z"
    o.details.append(path(wrap, lighter(c.color, 0.3), 'fill-opacity="0.55"'))
    o.details.append(
        line(f"M{-c.build.waist:.1f} 372Q0 388 {c.build.waist:.1f} 372", lighter(c.color, 0.35), 3)
    )
    o.sleeve = Sleeve(c.color, 0.0)


def _scrubs(c: Cloth, o: Outfit) -> None:
    n = c.build.neck + 9
    o.trunk.append(trunk(c, "v", 5))
    edge = f"M{-n:.1f} 156L0 234L{n:.1f} 156"
    o.trunk.append(line(edge, darker(c.color, 0.25), 6))
    o.trunk.append(line(edge, lighter(c.color, 0.25), 1.4, 'transform="translate(0 6)"'))
    pocket = "M22 262h40v34q0 8 -8 8h-24q-8 0 -8 -8Z"
    o.trunk.append(
        path(pocket, darker(c.color, 0.1)) + line("M22 262h40", darker(c.color, 0.32), 2.4)
    )
    o.trunk.append(line("M34 258v18", "#f3efe4", 3.4) + line("M42 256v20", "#c2514d", 3))
    o.sleeve = Sleeve(c.color, 0.45, 14)
    o.bottom.shoes = "#e9e6e0"


def _uniform(c: Cloth, o: Outfit) -> None:
    b = c.build
    _shirt(c, o)
    seam = contrasting(c.color, 0.35)
    flap = "M20 252h38v12l-19 8l-19 -8ZM22 262v26h34v-26"
    o.trunk.append(both_sides(line(flap, seam, 1.8)))
    s = b.shoulder
    bar = f"M{s - 32:.1f} 176L{s + 2:.1f} 188L{s - 2:.1f} 200L{s - 38:.1f} 188Z"
    o.details.append(
        both_sides(
            path(bar, darker(c.color, 0.3))
            + line(f"M{s - 8:.1f} 187l-4 10M{s - 15:.1f} 184l-4 10", "#dcb64c", 2.6)
        )
    )
    o.details.append(
        path("M-46 232l8 -6l8 6l2 12l-10 12l-10 -12Z", c.ink.linear("#f3d985", "#b98a2d"))
    )
    if "flight" in c.look.role or "attendant" in c.look.role:
        scarf = "M-30 156Q0 186 30 156L34 172Q0 204 -34 172Z"
        o.details.append(
            path(scarf, "#c0453f")
            + path("M6 186L34 204L22 226L2 198Z", "#a53a36")
            + oval(2, 190, 9, 8, "#cf5650")
        )
    else:
        o.details.append(_tie(c, darker(c.color, 0.45)))


def _tie(c: Cloth, color: str) -> str:
    knot = "M-9 186H9L6 204H-6Z"
    blade = "M-6 204H6L13 330L0 350L-13 330Z"
    return path(blade, c.ink.linear(lighter(color, 0.1), darker(color, 0.2), 1, 0)) + path(
        knot, lighter(color, 0.12)
    )


def tie(c: Cloth, color: str) -> str:
    """A knotted tie down the front."""
    return _tie(c, color)


def _chef(c: Cloth, o: Outfit) -> None:
    b, n = c.build, c.build.neck
    o.trunk.append(trunk(c, "collar", 5, 452))
    edge = contrasting(c.color, 0.22)
    flap = f"M-{n + 8:.1f} 166L18 200L34 236V450"
    o.trunk.append(
        path(
            f"M{-n - 9:.1f} 158L18 198L36 236V452H{-b.hip - 2:.1f}V440L{-b.waist:.1f} 352L-40 250Z",
            lighter(c.color, 0.25),
            'fill-opacity="0.35"',
        )
    )
    o.trunk.append(line(flap, edge, 2.2))
    dots = "".join(
        f"M{x - 4} {y}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0" for y in range(238, 420, 36) for x in (-18, 22)
    )
    o.trunk.append(path(dots, "#3b3440" if c.color != "#2a2830" else "#e8e2d6"))
    stand = f"M{-n - 9:.1f} 158C{-n - 8:.1f} 146 {-n:.1f} 140 {-n:.1f} 140L4 178L{n:.1f} 140C{n:.1f} 140 {n + 8:.1f} 146 {n + 9:.1f} 158L10 196L-2 196Z"
    o.trunk.append(
        path(stand, darker(c.color, 0.06))
        + line(f"M{-n - 9:.1f} 158L2 197L{n + 9:.1f} 158", edge, 2)
    )
    o.sleeve = Sleeve(c.color, 0.93, 12, cuff=darker(c.color, 0.10))


BASE: dict[str, Callable[[Cloth, Outfit], None]] = {
    "t-shirt": _t_shirt,
    "shirt": _shirt,
    "flannel shirt": _flannel,
    "sweater": _sweater,
    "hoodie": _hoodie,
    "dress": _dress,
    "leotard": _leotard,
    "scrubs": _scrubs,
    "uniform": _uniform,
    "chef jacket": _chef,
}
"""Garment -> the function that puts it on."""
