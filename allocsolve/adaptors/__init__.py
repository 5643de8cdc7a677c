"""Our policies and allocators inside the programs of others, and theirs inside our engine.

Pairs of pure functions, duck-typed: no program of others is imported or needed.
"""

from __future__ import annotations

__all__: list[str] = []
