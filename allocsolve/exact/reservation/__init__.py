"""Exact solvers of reservations, and the baseline: a schedule and a certified bound together."""
