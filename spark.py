"""The Spark interface: `from tracehouse.spark import register`, then `register(session, warehouse)`."""

from tracehouse.engines.spark.register import register

__all__ = ["register"]
