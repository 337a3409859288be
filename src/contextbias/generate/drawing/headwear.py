"""Head coverings, and the order in which a whole head is drawn."""

from __future__ import annotations

from contextbias.generate.drawing import facewear
from contextbias.generate.drawing.hair import hair_behind, hair_on_head
from contextbias.generate.drawing.head import face
from contextbias.generate.drawing.look import Look
from contextbias.generate.drawing.palette import COLORS
from contextbias.generate.drawing.svg import Ink, box, darker, lighter, line, oval, path


def head_behind(ink: Ink, look: Look) -> str:
    """What lies behind neck and shoulders: hair, the back of a hood, a veil."""
    cover = _BEHIND.get(look.covering)
    return hair_behind(ink, look) + (cover(ink, look) if cover else "")


def head_in_front(ink: Ink, look: Look) -> str:
    """Face, hair on the head, glasses and head covering, in that order."""
    cover = _FRONT.get(look.covering)
    over_hair = look.hair_style not in ("long", "straight", "wavy", "curly", "bob")
    ears = facewear.ear_wear(ink, look)
    parts = [
        face(ink, look),
        facewear.facial_hair(ink, look),
        facewear.mask(ink, look),
        hair_on_head(ink, look),
        facewear.eyewear(ink, look),
        ears,
        cover(ink, look) if cover else "",
    ]
    if look.covering == "hijab" and over_hair:
        parts[5] = ""
    return "".join(parts)


def _cloth(look: Look) -> str:
    return COLORS[look.accent]


def _hat(ink: Ink, look: Look) -> str:
    role = look.role
    if any(w in role for w in ("baker", "chef", "cook", "pastry")):
        return _toque(ink)
    if any(w in role for w in ("farmer", "gardener", "rancher", "beekeeper", "florist")):
        return _straw(ink)
    if any(
        w in role for w in ("flight", "pilot", "police", "guard", "captain", "conductor", "officer")
    ):
        return _peaked_cap(ink)
    return _fedora(ink, look)


def _fedora(ink: Ink, look: Look) -> str:
    felt = "#6c5a4b" if look.accent in ("red", "teal", "navy") else "#3d4656"
    crown = "M-49 -34C-52 -74 -40 -100 -18 -100C-8 -100 -6 -94 0 -94C6 -94 8 -100 18 -100C40 -100 52 -74 49 -34Z"
    brim = "M-82 -28C-60 -44 60 -44 82 -28C60 -16 -60 -16 -82 -28Z"
    band = "M-50 -50Q0 -60 50 -50L49.500 -34Q0 -44 -49.500 -34Z"
    return (
        path(crown, ink.soft(felt))
        + path(band, darker(_cloth(look), 0.2))
        + path(brim, ink.linear(lighter(felt, 0.12), darker(felt, 0.3)))
        + line("M-14 -92C-10 -84 8 -84 14 -92", darker(felt, 0.3), 2)
    )


def _straw(ink: Ink) -> str:
    straw = "#d9b36a"
    crown = "M-48 -32C-50 -74 -34 -92 0 -92C34 -92 50 -74 48 -32Z"
    brim = "M-98 -22C-70 -46 70 -46 98 -22C66 -8 -66 -8 -98 -22Z"
    weave = "M-42 -62Q0 -70 42 -62M-46 -74Q0 -84 40 -74M-80 -22Q0 -38 80 -22M-60 -16Q0 -28 60 -16"
    return (
        path(crown, ink.soft(straw))
        + path("M-49 -50Q0 -60 49 -50L48 -36Q0 -46 -48 -36Z", "#7c3f2c")
        + path(brim, ink.linear(lighter(straw, 0.25), darker(straw, 0.2)))
        + line(weave, darker(straw, 0.3), 1.6, 'stroke-opacity="0.6"')
    )


def _toque(ink: Ink) -> str:
    puff = (
        "M-46 -52C-74 -62 -76 -104 -44 -110C-34 -132 -6 -134 2 -122C18 -136 46 -126 48 -108"
        "C76 -104 74 -62 46 -52Z"
    )
    band = "M-49 -26Q0 -38 49 -26L47 -60Q0 -70 -47 -60Z"
    folds = (
        "M-26 -70C-32 -84 -34 -94 -32 -104M0 -74C-2 -90 0 -100 2 -112M26 -70C32 -84 36 -92 36 -102"
    )
    return (
        path(puff, ink.linear("#ffffff", "#d9d5d3"))
        + line(folds, "#bdb7b8", 2.4)
        + path(band, ink.linear("#faf8f4", "#dedad6"))
    )


def _peaked_cap(ink: Ink) -> str:
    navy = COLORS["navy"]
    top = "M-58 -62C-60 -96 -24 -104 0 -104C24 -104 60 -96 58 -62Q0 -74 -58 -62Z"
    band = "M-50 -64Q0 -76 50 -64L49 -38Q0 -50 -49 -38Z"
    peak = "M-48 -40Q0 -56 48 -40C44 -24 20 -26 0 -26C-20 -26 -44 -24 -48 -40Z"
    return (
        path(top, ink.soft(navy))
        + path(band, darker(navy, 0.35))
        + path(peak, ink.linear("#34343c", "#17171c"))
        + path("M0 -72l5 7l9 1l-6 7l1 9l-9 -4l-9 4l1 -9l-6 -7l9 -1Z", "#dcb64c")
    )


def _helmet(ink: Ink, look: Look) -> str:
    if any(w in look.role for w in ("fire", "firefighter")):
        return _fire_helmet(ink)
    shell = {"navy": "#3f73b5", "teal": "#e9e4d8", "red": "#c9473d"}.get(look.accent, "#edb32c")
    dome = "M-56 -28C-60 -82 -30 -98 0 -98C30 -98 60 -82 56 -28Q0 -42 -56 -28Z"
    brim = "M-64 -26Q0 -48 64 -26C58 -16 40 -20 0 -24C-40 -20 -58 -16 -64 -26Z"
    return (
        path(dome, ink.soft(shell))
        + path("M-9 -97Q0 -100 9 -97L12 -38Q0 -40 -12 -38Z", lighter(shell, 0.3))
        + line(
            "M-34 -86C-42 -72 -44 -58 -44 -40M34 -86C42 -72 44 -58 44 -40", darker(shell, 0.2), 2.4
        )
        + path(brim, ink.linear(lighter(shell, 0.2), darker(shell, 0.2)))
    )


def _fire_helmet(ink: Ink) -> str:
    red = "#b3322c"
    dome = "M-54 -34C-58 -84 -32 -100 0 -100C32 -100 58 -84 54 -34Z"
    brim = "M-76 -20C-64 -44 64 -44 76 -20C50 -26 -50 -26 -76 -20Z"
    ridge = line("M0 -104V-40M-28 -96Q-36 -70 -38 -40M28 -96Q36 -70 38 -40", darker(red, 0.3), 3.4)
    shield = path("M-16 -82L0 -90L16 -82L14 -52L0 -42L-14 -52Z", ink.linear("#f3d272", "#c58f27"))
    return (
        path(dome, ink.soft(red))
        + ridge
        + path(brim, ink.linear(lighter(red, 0.1), darker(red, 0.35)))
        + line("M-50 -36Q0 -48 50 -36", "#f0cf58", 4.5)
        + shield
        + path("M-6 -74h12v6h-4v12h-4v-12h-4Z", "#8f2a25")
    )


def _beanie(ink: Ink, look: Look) -> str:
    wool = _cloth(look)
    dome = "M-52 -36C-56 -84 -28 -98 0 -98C28 -98 56 -84 52 -36Z"
    ribs = "M-34 -50v-28M-18 -54v-36M0 -56v-38M18 -54v-36M34 -50v-28"
    cuff = "M-54 -22Q0 -36 54 -22L53 -48Q0 -60 -53 -48Z"
    stitches = "M-40 -27v-22M-26 -30v-22M-12 -32v-22M2 -32v-22M16 -31v-22M30 -29v-22M43 -26v-22"
    return (
        path(dome, ink.soft(wool))
        + line(ribs, _seam(wool), 2, 'stroke-opacity="0.5"')
        + path(cuff, ink.linear(lighter(wool, 0.14), darker(wool, 0.12)))
        + line(stitches, _seam(wool), 2, 'stroke-opacity="0.5"')
    )


def _seam(color: str) -> str:
    return darker(color, 0.35)


def _headband(ink: Ink, look: Look) -> str:
    cloth = _cloth(look)
    band = "M-53 -26Q0 -58 53 -26L51 -42Q0 -76 -51 -42Z"
    return path(band, ink.soft(cloth)) + line("M-50 -34Q0 -66 50 -34", darker(cloth, 0.25), 1.8)


def _hairnet(ink: Ink, _look: Look) -> str:
    dome = "M-56 -18C-64 -78 -32 -94 0 -94C32 -94 64 -78 56 -18Q0 -50 -56 -18Z"
    folds = "M-46 -34C-42 -60 -30 -78 -16 -86M-24 -38C-22 -60 -14 -76 -4 -88M0 -40V-90M24 -38C22 -60 14 -76 4 -88M46 -34C42 -60 30 -78 16 -86"
    return (
        path(dome, ink.linear("#eaf5f9", "#b4d3e0"), 'fill-opacity="0.88"')
        + line(folds, "#93b9ca", 1.8)
        + line("M-56 -20Q0 -52 56 -20", "#f8fcfd", 6)
    )


def _turban(ink: Ink, look: Look) -> str:
    cloth = _cloth(look)
    mass = "M-56 -8C-76 -62 -44 -112 4 -110C52 -110 74 -62 56 -8C48 -26 30 -38 0 -38C-30 -38 -48 -26 -56 -8Z"
    wrap = "M-58 -14C-62 -50 -30 -74 22 -98C50 -86 60 -66 62 -46C30 -60 -30 -50 -58 -14Z"
    folds = "M-60 -40C-40 -72 0 -90 34 -96M-62 -58C-44 -84 -10 -100 16 -104M58 -20C44 -44 10 -56 -24 -46M62 -38C44 -60 10 -66 -16 -58"
    return (
        path(mass, ink.soft(cloth))
        + path(wrap, ink.linear(lighter(cloth, 0.14), darker(cloth, 0.06), 1, 0.4))
        + line(folds, darker(cloth, 0.3), 2.2, 'stroke-opacity="0.65"')
    )


def _hijab_back(ink: Ink, look: Look) -> str:
    cloth = _cloth(look)
    paint = ink.linear(darker(cloth, 0.22), darker(cloth, 0.36))
    d = "M-60 -20C-64 -90 64 -90 60 -20C64 30 76 90 96 130L-96 130C-76 90 -64 30 -60 -20Z"
    return path(d, paint)


def _hijab(ink: Ink, look: Look) -> str:
    cloth = _cloth(look)
    outer = (
        "M-58 -6C-66 -60 -38 -84 0 -84C38 -84 66 -60 58 -6C58 30 60 60 84 104C60 140 20 152 -6 152"
        "C-40 152 -72 136 -86 106C-62 62 -58 30 -58 -6Z"
    )
    hole = "M-41 -12C-40 -44 -22 -56 0 -56C22 -56 40 -44 41 -12C41 22 36 66 0 68C-36 66 -41 22 -41 -12Z"
    folds = "M-42 20C-46 60 -20 82 26 96M-50 40C-46 84 -10 112 40 120M44 10C50 40 40 70 10 84M-54 -20C-50 -52 -34 -70 -10 -76"
    return (
        path(outer + hole, ink.soft(cloth), 'fill-rule="evenodd"')
        + line(hole, darker(cloth, 0.25), 2.6)
        + line(folds, darker(cloth, 0.28), 2.4, 'stroke-opacity="0.6"')
    )


def _veil_back(ink: Ink, look: Look) -> str:
    edge = lighter(_cloth(look), 0.75)
    d = "M-54 -40C-60 -92 60 -92 54 -40C78 30 92 110 104 176Q0 210 -104 176C-92 110 -78 30 -54 -40Z"
    return path(d, ink.linear(edge, "#d9cfd0"), 'fill-opacity="0.92"')


def _veil(ink: Ink, _look: Look) -> str:
    cap = (
        "M-54 0C-64 -66 -36 -88 0 -88C36 -88 64 -66 54 0C50 -30 36 -52 0 -54C-36 -52 -50 -30 -54 0Z"
    )
    fall = "M52 -10C64 40 78 100 86 160C72 120 56 60 46 6ZM-52 -10C-64 40 -78 100 -86 160C-72 120 -56 60 -46 6Z"
    return (
        path(fall, "#fffdf8", 'fill-opacity="0.6"')
        + path(cap, ink.linear("#fffdf8", "#e3d9d8"), 'fill-opacity="0.94"')
        + line("M-50 -14C-44 -40 -28 -54 0 -56C28 -54 44 -40 50 -14", "#d8c08a", 3)
    )


def _hood_back(ink: Ink, look: Look) -> str:
    cloth = _hood_cloth(look)
    return path(
        "M-64 0C-72 -96 72 -96 64 0C70 50 80 84 90 120L-90 120C-80 84 -70 50 -64 0Z",
        ink.linear(darker(cloth, 0.3), darker(cloth, 0.5)),
    )


def _hood_cloth(look: Look) -> str:
    return COLORS.get(look.colors[0], _cloth(look)) if look.colors else _cloth(look)


def _hood(ink: Ink, look: Look) -> str:
    cloth = _hood_cloth(look)
    outer = "M-66 20C-78 -70 -40 -96 0 -98C40 -96 78 -70 66 20C66 60 50 96 30 118L-30 118C-50 96 -66 60 -66 20Z"
    hole = "M-45 10C-52 -46 -26 -64 0 -66C26 -64 52 -46 45 10C44 44 30 74 12 92L-12 92C-30 74 -44 44 -45 10Z"
    return (
        path(outer + hole, ink.soft(cloth), 'fill-rule="evenodd"')
        + line(hole, darker(cloth, 0.4), 4)
        + line("M-56 -30C-50 -66 -28 -82 -4 -84", lighter(cloth, 0.25), 2.6, 'stroke-opacity="0.6"')
        + box(-12, 92, 24, 22, darker(cloth, 0.22), 4)
        + line("M-10 96C-14 120 -12 134 -12 142M10 96C14 120 12 130 12 138", "#efe9dd", 3.2)
        + oval(-12, 144, 2.6, 4, "#efe9dd")
    )


_BEHIND = {"hijab": _hijab_back, "veil": _veil_back, "hood": _hood_back}
_FRONT = {
    "hat": _hat,
    "helmet": _helmet,
    "hood": _hood,
    "hijab": _hijab,
    "turban": _turban,
    "veil": _veil,
    "headband": _headband,
    "beanie": _beanie,
    "hairnet": _hairnet,
}
