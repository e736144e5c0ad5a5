"""Questions → answers: named queries as table macros, and the modules that read and list them."""
