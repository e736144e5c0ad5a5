"""Tracehouse: a columnar warehouse of public GPU-cluster traces."""
