"""Output: formats, files, charts, the report, web pages, BI tools, simulators and MCP."""
