"""Exact solvers of placement on switch trees."""
