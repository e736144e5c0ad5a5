"""Named queries as table macros, and the modules that parse and list them."""
