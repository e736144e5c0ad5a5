"""Raw formats, one module each. Each module binds `READER`; the contract is in `ingest.readers`."""
