"""Heuristics of evolution-profile scheduling."""
