"""Draw the answers of named queries as their `-- chart:` lines specify, in files and in the terminal.

`rows` selects the rows to draw and `texts` describes them. `axes`, `marks` and `layout` build a specification
in Vega-Lite, which `pictures` renders as PNG, SVG or PDF without a browser. `terminal` draws characters.
"""
