"""Samplers: one module per trace, and modules of Acme's telemetry."""
