"""Exact solvers of partition shaping."""
