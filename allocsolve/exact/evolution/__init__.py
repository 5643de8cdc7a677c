"""Exact solvers of evolution-profile scheduling."""
