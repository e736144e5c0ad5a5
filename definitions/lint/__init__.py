"""Static rules on declarations, views, queries and figures: what `traces lint` reports.

Each rule is a function that yields findings. The tests call the same functions.
"""
