"""Documents as JSON can hold them."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from typing import Any


def plain(value: object) -> Any:  # noqa: ANN401 - what json.dumps takes
    """Return a value as JSON can hold it: dataclasses as objects, infinite and undefined numbers as null."""
    import numpy as np  # noqa: PLC0415 - it takes longer than all of a help text

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
