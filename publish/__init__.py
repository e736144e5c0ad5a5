"""Output: formats, files, charts, web pages, BI tools, simulators and MCP."""
