"""Heuristics of workloads."""
