"""Heuristics of partition shaping."""
