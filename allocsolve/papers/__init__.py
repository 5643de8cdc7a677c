"""Reproductions of published experiments, each a module or a folder named after the paper."""

__all__: list[str] = []
