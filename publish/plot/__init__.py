"""Draws the answers of named queries as their `-- chart:` lines say, in files and in the terminal.

An answer becomes rows that can be drawn (`rows`) and texts about them (`texts`); `axes`, `marks` and `layout`
lay both out in Vega-Lite, which `pictures` turns into a PNG, SVG or PDF file without a browser. `terminal`
draws the same rows in characters.
"""
