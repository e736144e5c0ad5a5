"""The generators, one module a trace, with what they need beside them."""
