"""Declarations of the traces, one module each: description, source, tables and columns."""

import pkgutil


def trace_names() -> list[str]:
    """Return the name of every trace, in alphabetical order, without importing their modules."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))
