"""Renders pages of HTML from the templates beside this module; whatever is put into them is escaped."""

import math
from decimal import Decimal
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracehouse.core.errors import not_installed

if TYPE_CHECKING:
    import jinja2


def check_installed(extra: str, *modules: str) -> None:
    """Raise UserError where one of the modules that an extra brings is not installed."""
    for module in modules:
        try:
            import_module(module)
        except ModuleNotFoundError:
            raise not_installed("this needs", module, extra) from None


def rendered(template: str, **values: Any) -> str:
    """A page of a template, with these values."""
    return _environment().get_template(template).render(values)


def number(value: Any) -> str:
    """A value for people: thousands apart, about seven digits, at most four of them decimals."""
    if value is None:
        return "–"
    if not isinstance(value, float | Decimal):
        return f"{value:,}" if type(value) is int else str(value)
    real = float(value)
    if not math.isfinite(real) or (real and abs(real) < 0.001):
        return f"{real:.4g}"
    places = max(1, min(4, 7 - len(str(int(abs(real))))))
    return f"{real:,.{places}f}".rstrip("0").rstrip(".")


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
    environment.filters["number"] = number
    return environment
