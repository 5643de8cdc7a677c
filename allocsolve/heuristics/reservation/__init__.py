"""Heuristics for reservation problems."""
