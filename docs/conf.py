"""Configure Sphinx for the pages that `site.py` writes."""

from importlib import metadata

project = "Tracehouse"
release = metadata.version("tracehouse")
html_title = f"Tracehouse {release}"
extensions = ["myst_parser"]
myst_enable_extensions = ["attrs_block", "attrs_inline", "fieldlist"]
myst_heading_anchors = 3
smartquotes = False
# Blocks of SQL with Jinja fail to be highlighted, and are shown without colors.
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "furo"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_copy_source = False
html_show_copyright = False
