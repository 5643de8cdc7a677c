"""Runs: studies, tasks, the cells in which solvers run, and their records."""
