"""Reproductions of published experiments, each a module or a folder named after the paper."""

from __future__ import annotations

__all__: list[str] = []
