"""Measure the cost of ingests, queries and commands, and compare it with other tools."""
