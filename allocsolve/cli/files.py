"""Files in and out, refused in one line before any long work."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from allocsolve.errors import FormatError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_writable", "make_folder"]


def check_writable(path: Path) -> None:
    """Refuse a file that could not be written, without touching it.

    Raises
    ------
    FormatError
        If its folder does not exist, it is a folder itself, or there is no permission.
    """
    fault = ""
    if path.is_dir():
        fault = "is a directory"
    elif not path.parent.is_dir():
        fault = f"there is no directory {path.parent}"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        fault = "permission denied"
    if fault:
        raise FormatError(str(path), [f"cannot be written: {fault}"])


def make_folder(path: Path) -> None:
    """Make a folder to write into, and those above it.

    Raises
    ------
    FormatError
        If that is not possible.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fault = "is not a directory" if path.exists() else error.strerror or str(error)
        raise FormatError(str(path), [fault]) from None
    if not os.access(path, os.W_OK | os.X_OK):
        raise FormatError(str(path), ["cannot be written: permission denied"])
