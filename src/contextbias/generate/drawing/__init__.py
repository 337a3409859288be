"""Pictures of people at work, drawn from an attribute record: the simulated generator's brush.

::

    draw(record, setting="bakery", role="baker", seed=7) -> PIL image
    encode_png(image) -> bytes
    shows() -> {dimension: labels that change the picture}
    palette_colors(setting, seed), is_indoor(setting) -> what the background will be

The picture is a vector drawing (a person, what they hold, what lies about) over a background that
is drawn once a process and kept. Equal arguments give equal bytes in any process and order.
"""

from contextbias.generate.drawing.composition import draw, encode_png
from contextbias.generate.drawing.settings import is_indoor, palette_colors
from contextbias.generate.drawing.visible import DRAWING_VERSION, shows

__all__ = ["DRAWING_VERSION", "draw", "encode_png", "is_indoor", "palette_colors", "shows"]
