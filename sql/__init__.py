"""Questions → answers: named queries as table macros, and the modules that run and export them."""
