"""Bender et al. 2008: the tight family of the median method, and heuristics beside optima."""
