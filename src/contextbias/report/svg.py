"""From a chart to an inline SVG that follows the page's colours and can be read aloud."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import vl_convert as vlc

from contextbias.report.figures import Spec

_SVG = "http://www.w3.org/2000/svg"
_DROPPED = re.compile(r"^(role|class|aria-.*|pointer-events|version|font-family)$")
_EMPTY_PATHS = {"", "M0,0h0v0h0Z"}

ET.register_namespace("", _SVG)


def to_svg(chart: Spec, *, ident: str, title: str, description: str) -> str:
    """Render `chart` to SVG text for an HTML page.

    Colours are CSS variables (``var(--ink)``), so that light, dark and print follow the page. The
    drawing is one image to a screen reader, named by `title` and described by `description`; its
    inner roles are removed because they would be read as noise.

    Args:
        chart: A Vega-Lite specification.
        ident: Unique on the page; ids of title and description derive from it.
        title: Name of the image.
        description: What is shown, in a sentence.

    Returns:
        One ``<svg>`` element.
    """
    text = vlc.vegalite_to_svg(chart)
    root = ET.fromstring(text)
    _strip(root)
    for name, words, tag in ((f"{ident}-d", description, "desc"), (f"{ident}-t", title, "title")):
        element = ET.Element(f"{{{_SVG}}}{tag}", {"id": name})
        element.text = words
        root.insert(0, element)
    root.set("role", "img")
    root.set("class", "chart")
    root.set("aria-labelledby", f"{ident}-t {ident}-d")
    return ET.tostring(root, encoding="unicode")


def _strip(element: ET.Element) -> None:
    """Remove inner roles, invisible paths and empty groups, from the leaves up."""
    for name in [name for name in element.attrib if _DROPPED.match(name)]:
        del element.attrib[name]
    for child in list(element):
        _strip(child)
        if _is_invisible(child):
            element.remove(child)


def _is_invisible(element: ET.Element) -> bool:
    if element.get("display") == "none":
        return True
    kind = element.tag.rsplit("}", 1)[-1]
    if kind == "path":
        return element.get("d", "") in _EMPTY_PATHS
    if kind == "rect" and element.get("fill") == "transparent":
        return True
    return kind == "g" and len(element) == 0
