"""Write synthetic raw files in the publishers' formats, drawn from the declarations of the tables."""
