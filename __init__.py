"""Tracehouse: a columnar warehouse of public GPU-cluster traces."""

from importlib.metadata import version

__version__ = version("tracehouse")
