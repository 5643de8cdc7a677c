"""Scores of solvers and the statistics behind them, from records only."""
