"""Prepare an SVG picture for an HTML page: accessible, and with unique ids."""

import re
import xml.etree.ElementTree as ET

SVG = "http://www.w3.org/2000/svg"
_PART_ATTRIBUTES = ("role", "aria-")
_REFERENCE = re.compile(r"(url\(#|^#)")


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
