"""Write synthetic raw files in the publishers' formats."""
