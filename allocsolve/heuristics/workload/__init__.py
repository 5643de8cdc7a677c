"""Heuristics of workloads: queue policies."""
