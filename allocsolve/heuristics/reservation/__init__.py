"""Heuristics of reservation."""
