"""Render HTML pages from the templates in this folder, and the pictures in them. Values are escaped."""

import math
import re
import xml.etree.ElementTree as ET
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracehouse.publish.columns import rounded

if TYPE_CHECKING:
    import jinja2

SVG = "http://www.w3.org/2000/svg"
_PART_ATTRIBUTES = ("role", "aria-")
_REFERENCE = re.compile(r"(url\(#|^#)")


def render(template: str, **values: Any) -> str:
    """Render a template with the given values."""
    return _environment().get_template(template).render(values)


def format_number(value: Any) -> str:
    """Format a value with thousands separators, about seven digits and at most four decimals."""
    if value is None:
        return "–"
    if not isinstance(value, float | Decimal):
        return f"{value:,}" if type(value) is int else str(value)
    return rounded(float(value), ",") if math.isfinite(value) else f"{value:.4g}"


def inline_svg(svg: str, key: str, title: str, description: str) -> str:
    """The picture as an HTML element that scales with its container. `key` is a prefix of its ids.

    Screen readers read the title and the description instead of the elements of the picture.
    """
    ET.register_namespace("", SVG)
    root = ET.fromstring(svg)
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            if name.startswith(_PART_ATTRIBUTES):
                del element.attrib[name]
            elif name == "id":
                element.set(name, f"{key}-{value}")
            elif name.rpartition("}")[2] == "href" or "url(#" in value:
                element.set(name, _REFERENCE.sub(rf"\g<1>{key}-", value))
    root.attrib.pop("height", None)
    root.set("role", "img")
    root.set("aria-labelledby", f"{key}-title {key}-description")
    for index, (name, text) in enumerate((("title", title), ("desc", description))):
        label = ET.Element(f"{{{SVG}}}{name}", id=f"{key}-{'title' if name == 'title' else 'description'}")
        label.text = text
        root.insert(index, label)
    return ET.tostring(root, encoding="unicode")


@cache
def _environment() -> "jinja2.Environment":
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = format_number
    return environment
