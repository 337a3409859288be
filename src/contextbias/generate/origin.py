"""What a master says about where it comes from: its XMP packet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from xml.sax.saxutils import quoteattr

from contextbias import __version__

Kind = Literal["png", "webp"]
"""File formats of masters; both lossless."""

SOURCE_TYPES = "http://cv.iptc.org/newscodes/digitalsourcetype/"
"""IPTC's vocabulary of digital source types; a type's address is this and its name."""

TRAINED = "trainedAlgorithmicMedia"
"""Source type of pictures by a trained model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a master says about where it comes from: never the prompt, the role or the condition."""

    image_id: str
    """The image's id."""
    generator: str
    """Name in study.toml."""
    seed: int
    """The seed that was used."""
    model: str | None = None
    """The model, as the backend calls it."""
    revision: str | None = None
    """Which version of the model."""
    source_type: str = TRAINED
    """Name in IPTC's vocabulary."""


def packet(origin: Origin) -> str:
    """The XMP packet (ISO 16684-1) of a master.

    IPTC's ``DigitalSourceType`` says what kind of thing made the picture, ``AISystemUsed`` and
    ``AISystemVersionUsed`` which model (IPTC Photo Metadata Standard 2025.1).
    """
    fields = {
        "xmp:CreatorTool": f"contextbias {__version__}",
        "Iptc4xmpExt:DigitalSourceType": SOURCE_TYPES + origin.source_type,
        "Iptc4xmpExt:AISystemUsed": origin.model,
        "Iptc4xmpExt:AISystemVersionUsed": origin.revision,
        "contextbias:imageId": origin.image_id,
        "contextbias:generator": origin.generator,
        "contextbias:seed": str(origin.seed),
    }
    lines = [f"   {name}={_quoted(value)}" for name, value in fields.items() if value is not None]
    return "\n".join(
        (
            '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>',
            '<x:xmpmeta xmlns:x="adobe:ns:meta/">',
            ' <rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
            '  <rdf:Description rdf:about=""',
            '   xmlns:xmp="http://ns.adobe.com/xap/1.0/"',
            '   xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"',
            '   xmlns:contextbias="urn:contextbias:provenance#"',
            *lines[:-1],
            f"{lines[-1]}/>",
            " </rdf:RDF>",
            "</x:xmpmeta>",
            '<?xpacket end="r"?>',
        )
    )


def _quoted(value: str) -> str:
    return quoteattr("".join(char if char.isprintable() else " " for char in value))
