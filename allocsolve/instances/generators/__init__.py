"""Generators of problems, with fixed seeds."""
