"""The commands of `traces`, one module per group: parse, call one function, print."""
