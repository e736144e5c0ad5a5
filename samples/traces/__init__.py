"""Samplers, one module per trace, and their helpers."""
