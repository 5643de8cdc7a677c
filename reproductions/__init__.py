"""Reproductions of published experiments, a folder each: part of the repository, not of the package."""
