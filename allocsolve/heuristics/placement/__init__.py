"""Heuristics of placement on switch trees: the rules of schedulers."""
