"""Garments worn over others: coats, suits, robes, aprons. Each adds its pieces to an outfit."""

from __future__ import annotations

from collections.abc import Callable

from contextbias.generate.drawing.body import Build, Sleeve, torso
from contextbias.generate.drawing.garments import BASE, collar, folds, tie
from contextbias.generate.drawing.look import Look
from contextbias.generate.drawing.outfit import (
    Cloth,
    Outfit,
    named_garments,
    paints,
    plain_outfit,
)
from contextbias.generate.drawing.palette import COLORS
from contextbias.generate.drawing.svg import (
    Ink,
    both_sides,
    box,
    contrasting,
    darker,
    lighter,
    line,
    mix,
    oval,
    path,
)


def dress(ink: Ink, look: Look, build: Build) -> Outfit:
    """Put every garment of the record on, innermost first."""
    worn = named_garments(look)
    colors, trousers = paints(look, worn)
    outfit = plain_outfit(look, trousers)
    trim = colors[worn[0]]
    for garment in worn:
        put_on = BASE.get(garment) or _OUTER[garment]
        put_on(Cloth(ink, look, build, colors[garment], trim), outfit)
    return outfit


def _open_front(c: Cloth, gap: float, hem: float, ease: float = 7.0) -> str:
    """Two halves of an open coat, `gap` half-wide at the hem, meeting the neck at the collar."""
    b = c.build
    n, s, ch, w, h = (
        b.neck + 9,
        b.shoulder + ease * 0.5,
        b.chest + ease,
        b.waist + ease,
        b.hip + ease,
    )
    half = (
        f"M{n - 3:.1f} 152C{n + 16:.1f} 168 {s - 22:.1f} 167 {s:.1f} 194C{s + 3:.1f} 216 {ch + 2:.1f} 232 {ch:.1f} 262"
        f"C{ch:.1f} 300 {w:.1f} 318 {w:.1f} 352C{w:.1f} 384 {h:.1f} 404 {h:.1f} 440L{h + (hem - 440) * 0.06:.1f} {hem:.1f}"
        f"L{gap:.1f} {hem:.1f}L{gap:.1f} 330C{gap:.1f} 280 {n - 6:.1f} 210 {n - 3:.1f} 152Z"
    )
    lit = path(half, lighter(c.color, 0.04))
    shaded = path(half, darker(c.color, 0.05))
    return shaded + f'<g transform="scale(-1 1)">{lit}</g>' + folds(b, c.color)


def _lapels(c: Cloth, color: str, low: float) -> str:
    n = c.build.neck
    d = f"M{n + 7:.1f} 144C{n + 16:.1f} 158 {n + 24:.1f} 170 {n + 22:.1f} 186L{n + 30:.1f} 196L{n + 16:.1f} 206C{n + 8:.1f} 240 16 {low - 24:.1f} 7 {low:.1f}C4 270 {n - 12:.1f} 220 {n + 7:.1f} 144Z"
    edge = line(d, contrasting(color, 0.35), 1.6, 'stroke-opacity="0.65"')
    return both_sides(path(d, c.ink.linear(lighter(color, 0.12), darker(color, 0.14))) + edge)


def _suit(c: Cloth, o: Outfit) -> None:
    o.trunk.append(_open_front(c, 4, 448))
    o.trunk.append(path("M-6 326L6 326V446H-6Z", c.color))
    if c.look.gender != "female" and "tie" not in c.look.accessories:
        tone = {"navy": "#a33a3a", "teal": "#2f6f73"}.get(c.look.accent, "#5a3f6b")
        o.trunk.insert(-2, tie(c, tone))
    o.trunk.append(_lapels(c, c.color, 328))
    o.trunk.append(
        line(
            "M3 330V446M38 392H66M-38 392H-66",
            contrasting(c.color, 0.35),
            1.8,
            'stroke-opacity="0.7"',
        )
    )
    o.trunk.append(
        oval(-1, 346, 3.6, 3.6, darker(c.color, 0.5))
        + oval(-1, 378, 3.6, 3.6, darker(c.color, 0.5))
    )
    o.trunk.append(path("M36 262L60 256L58 264L38 269Z", "#f6f2ea"))
    o.sleeve = Sleeve(c.color, 0.92, 12, cuff=None)
    o.bottom.shoes = "#2b2427"


def _blazer(c: Cloth, o: Outfit) -> None:
    o.trunk.append(_open_front(c, 30, 446))
    o.trunk.append(_lapels(c, c.color, 322))
    o.trunk.append(
        line("M44 392H72M-44 392H-72", contrasting(c.color, 0.35), 2, 'stroke-opacity="0.7"')
    )
    o.trunk.append(oval(33, 352, 3.6, 3.6, "#cfae62"))
    o.sleeve = Sleeve(c.color, 0.92, 12)


def _jacket(c: Cloth, o: Outfit) -> None:
    n = c.build.neck
    o.trunk.append(_open_front(c, 18, 436, 9))
    stand = f"M{n + 3:.1f} 136C{n + 14:.1f} 146 {n + 22:.1f} 160 {n + 20:.1f} 180C{n + 4:.1f} 190 22 214 18 236C14 206 {n - 6:.1f} 170 {n + 3:.1f} 136Z"
    o.trunk.append(
        both_sides(path(stand, lighter(c.color, 0.12)) + line("M18 236V436", "#c9cdd2", 3))
    )
    pocket = "M40 300L66 296L68 304L42 308ZM36 372H70V380H36Z"
    o.trunk.append(both_sides(path(pocket, darker(c.color, 0.3))))
    h = c.build.hip + 9
    o.trunk.append(both_sides(path(f"M18 424H{h:.1f}V440H18Z", darker(c.color, 0.25))))
    o.sleeve = Sleeve(c.color, 0.94, 18, cuff=darker(c.color, 0.25))


def _lab_coat(c: Cloth, o: Outfit) -> None:
    o.over_legs.append(_tails(c, 20, 600))
    o.trunk.append(_open_front(c, 20, 446, 9))
    o.trunk.append(_lapels(c, c.color, 318))
    edge = contrasting(c.color, 0.22)
    o.trunk.append(line("M38 264H72V304H38ZM42 384H78M-42 384H-78M20 330V444M-20 330V444", edge, 2))
    o.trunk.append(line("M48 256V276", "#3d6fb0", 3.6) + line("M57 258V276", "#2a2a30", 3))
    o.sleeve = Sleeve(c.color, 0.93, 16)


def _tails(c: Cloth, gap: float, hem: float) -> str:
    h = c.build.hip + 9
    half = f"M{gap:.1f} 430L{h:.1f} 430C{h + 6:.1f} 480 {h + 10:.1f} 540 {h + 12:.1f} {hem:.1f}Q{h - 20:.1f} {hem + 8:.1f} {gap + 10:.1f} {hem + 2:.1f}Z"
    fold = f"M{h - 24:.1f} 460L{h - 18:.1f} {hem - 10:.1f}"
    return both_sides(path(half, darker(c.color, 0.05)) + line(fold, contrasting(c.color, 0.2), 2))


_REFLECT, _NEON = "#e9ecea", "#e6e04a"


def _turnout(c: Cloth, o: Outfit) -> None:
    b, n = c.build, c.build.neck
    o.trunk.append(path(torso(b, "collar", 13, 462), c.color) + folds(b, c.color))
    h, w = b.hip + 12, b.waist + 12
    for y, half in ((282, b.chest + 11), (408, (h + w) / 2 + 2)):
        o.trunk.append(
            box(-half, y, 2 * half, 24, _NEON) + box(-half, y + 8, 2 * half, 8, _REFLECT)
        )
    o.trunk.append(box(-13, 196, 26, 266, darker(c.color, 0.16), 3))
    clasp = "".join(
        box(-17, y, 34, 12, "#33323a", 3) + box(-5, y + 3, 10, 6, "#b9bec4", 2)
        for y in (222, 262, 330, 376)
    )
    o.trunk.append(clasp)
    stand = f"M{-n - 14:.1f} 170C{-n - 12:.1f} 140 {-n - 4:.1f} 130 {-n - 4:.1f} 130Q0 158 {n + 4:.1f} 130C{n + 4:.1f} 130 {n + 12:.1f} 140 {n + 14:.1f} 170Q0 214 {-n - 14:.1f} 170Z"
    o.trunk.append(path(stand, darker(c.color, 0.22)))
    o.sleeve = Sleeve(c.color, 0.93, 22, cuff="#38363c", band=_NEON)
    o.bottom.shoes = "#2f2b2c"


def _robe(c: Cloth, o: Outfit) -> None:
    b, n = c.build, c.build.neck
    s, h = b.shoulder + 12, b.hip + 46
    fall = f"M{-s:.1f} 196C{-s - 4:.1f} 300 {-h + 10:.1f} 420 {-h:.1f} 690Q0 716 {h:.1f} 690C{h - 10:.1f} 420 {s + 4:.1f} 300 {s:.1f} 196Z"
    o.over_legs.append(path(fall, c.color))
    pleats = (
        "M-34 330L-56 690M-12 330L-18 700M34 330L56 690M12 330L18 700M-66 360L-94 680M66 360L94 680"
    )
    o.over_legs.append(line(pleats, contrasting(c.color, 0.22), 2.4, 'stroke-opacity="0.5"'))
    o.trunk.append(path(torso(b, "collar", 16, 470), c.color))
    gathers = f"M-{b.shoulder - 22:.1f} 190L-44 470M-40 204L-22 470M40 204L22 470M{b.shoulder - 22:.1f} 190L44 470"
    o.trunk.append(line(gathers, contrasting(c.color, 0.24), 2.6, 'stroke-opacity="0.55"'))
    o.trunk.append(line("M0 196V690", contrasting(c.color, 0.3), 2.6))
    o.trunk.append(collar(c, "#f6f3ec"))
    bands = "M-4 186H-20L-24 262L-2 262ZM4 186H20L24 262L2 262Z"
    o.details.append(
        path(bands, c.ink.linear("#ffffff", "#d9d6d2"))
        + line(f"M{-n - 12:.1f} 168L-4 192M{n + 12:.1f} 168L4 192", darker(c.color, 0.1), 4)
    )
    o.sleeve = Sleeve(c.color, 0.9, 26, flare=34)


def _hi_vis(c: Cloth, o: Outfit) -> None:
    b = c.build
    bright = (
        mix(c.color, "#ff9a1f", 0.35)
        if c.color == COLORS["orange"]
        else mix(c.color, "#f2f04a", 0.18)
    )
    vivid = Cloth(c.ink, c.look, b, bright, c.trim)
    o.trunk.append(_open_front(vivid, 7, 440, 6))
    for y, half in ((296, b.chest + 3), (384, (b.waist + b.hip) / 2 + 4)):
        o.trunk.append(
            both_sides(box(8, y, half - 8, 24, "#f4f1a0") + box(8, y + 6, half - 8, 12, _REFLECT))
        )
    n = b.neck
    strap = f"M{n + 18:.1f} 168L{n + 34:.1f} 172L{n + 22:.1f} 300L{n + 6:.1f} 300Z"
    o.trunk.append(both_sides(path(strap, _REFLECT)))
    o.trunk.append(line("M0 236V440", "#55565c", 3))


def _overalls(c: Cloth, o: Outfit) -> None:
    b = c.build
    w, h, n = b.waist, b.hip + 2, b.neck
    o.bottom.color = c.color
    o.bottom.shoes = "#6a4a33"
    seam = lighter(c.color, 0.45)
    bib = f"M-44 246H44L50 330C56 350 {w:.1f} 352 {w:.1f} 364L{h:.1f} 446H{-h:.1f}L{-w:.1f} 364C{-w:.1f} 352 -56 350 -50 330Z"
    strap = f"M{n + 16:.1f} 168L{n + 32:.1f} 174L44 254L28 254Z"
    o.details.append(both_sides(path(strap, darker(c.color, 0.1))))
    o.details.append(path(bib, c.color))
    o.details.append(
        line(
            "M-40 251H40M-27 276H27V310Q0 322 -27 310ZM0 276V314",
            seam,
            1.8,
            'stroke-dasharray="4 3"',
        )
    )
    o.details.append(
        both_sides(
            oval(36, 254, 6, 6, "#d7b25a")
            + line(f"M{w - 8:.1f} 376Q{w - 30:.1f} 396 {w - 26:.1f} 424", seam, 1.8)
        )
    )


def _apron(c: Cloth, o: Outfit) -> None:
    b = c.build
    w, h, n = b.waist - 2, b.hip + 2, b.neck
    bib = f"M-40 232H40C42 290 {w - 10:.1f} 330 {w:.1f} 350L{h:.1f} 446H{-h:.1f}L{-w:.1f} 350C{-w + 10:.1f} 330 -42 290 -40 232Z"
    skirt = f"M{-h:.1f} 440H{h:.1f}L{h + 4:.1f} 604Q0 618 {-h - 4:.1f} 604Z"
    o.over_legs.append(
        path(skirt, darker(c.color, 0.06))
        + line("M-40 470L-42 600M36 470L40 602", contrasting(c.color, 0.2), 2)
    )
    straps = f"M-38 236L{-n - 8:.1f} 158M38 236L{n + 8:.1f} 158"
    o.details.append(line(straps, darker(c.color, 0.16), 9))
    o.details.append(path(bib, c.color))
    pocket = "M-34 372H34V408Q34 418 24 418H-24Q-34 418 -34 408Z"
    o.details.append(
        path(pocket, darker(c.color, 0.08))
        + line(f"{pocket}M0 372V418M-36 240H36", contrasting(c.color, 0.24), 2)
    )
    o.details.append(line(f"M{-w - 3:.1f} 356Q0 372 {w + 3:.1f} 356", darker(c.color, 0.24), 5))


def _leather_apron(c: Cloth, o: Outfit) -> None:
    _apron(c, o)
    stitch = lighter(c.color, 0.4)
    o.details.append(
        line("M-35 238V326M35 238V326M-35 238H35", stitch, 1.8, 'stroke-dasharray="5 4"')
    )
    rivets = "".join(
        oval(x, y, 4.2, 4.2, "#d9b565") for x, y in ((-34, 240), (34, 240), (-32, 376), (32, 376))
    )
    o.details.append(
        rivets
        + path(
            "M-20 268Q-6 262 4 270Q14 280 -4 284Q-18 284 -20 268Z",
            darker(c.color, 0.35),
            'fill-opacity="0.5"',
        )
    )


_OUTER: dict[str, Callable[[Cloth, Outfit], None]] = {
    "overalls": _overalls,
    "blazer": _blazer,
    "suit": _suit,
    "jacket": _jacket,
    "lab coat": _lab_coat,
    "turnout coat": _turnout,
    "judicial robe": _robe,
    "hi-vis vest": _hi_vis,
    "apron": _apron,
    "leather apron": _leather_apron,
}
