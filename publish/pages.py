"""Render HTML pages from the templates in this folder. Values are escaped."""

import math
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2


def render(template: str, **values: Any) -> str:
    """Render a template with the given values."""
    return _environment().get_template(template).render(values)


def format_number(value: Any) -> str:
    """Format a value with thousands separators, about seven digits and at most four decimals."""
    if value is None:
        return "–"
    if not isinstance(value, float | Decimal):
        return f"{value:,}" if type(value) is int else str(value)
    real = float(value)
    if not math.isfinite(real) or (real and abs(real) < 0.001):
        return f"{real:.4g}"
    decimals = max(1, min(4, 7 - len(str(int(abs(real))))))
    return f"{real:,.{decimals}f}".rstrip("0").rstrip(".")


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
