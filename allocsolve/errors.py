"""What can go wrong, as a tree.

::

    AllocsolveError
    ├── InvalidProblem (ValueError)    a problem that contradicts itself
    ├── InvalidAnswer (ValueError)     an answer that is malformed, or a claim that the judge does not confirm
    ├── InvalidOption (ValueError)     options that contradict each other or the problem
    │   └── UnsupportedProblem         a solver is not made for a problem of this sort
    ├── FormatError (ValueError)       a file that cannot be read as what it says it is
    ├── UnknownName (LookupError)      no solver, suite or objective has this name
    ├── Deadlock (RuntimeError)        running jobs wait for each other for ever
    ├── PluginError                    a solver of a third party cannot be used
    └── SolverUnavailable              a backend is missing

Every message is one line that names the place and the value. What follows holds of every function; its
``Raises`` lists what holds of it besides:

* Problems, and the parts that they are made of, refuse values that are out of range or do not belong
  together (`InvalidProblem`). A function of a mask ``free`` and a size refuses a mask that is none over the
  nodes, and a size below 1 or above the number of free nodes (`InvalidProblem`). Answers refuse arrays of
  other shapes, and what takes a problem and an answer refuses one that cannot answer this problem
  (`InvalidAnswer`).
* Solvers, rules and generators refuse options that are out of range and objectives with a repeated term
  (`InvalidOption`), words that an option does not take and unknown terms (`UnknownName`). When called, a
  solver refuses a problem that it is not made for (`UnsupportedProblem`), a ``start`` that is not feasible
  and a ``certificate`` that is none of the problem (`InvalidAnswer`), or says that a package is missing
  (`SolverUnavailable`).
* What takes a name refuses an unknown one, with the nearest ones there are (`UnknownName`), and that of a
  plug-in which cannot be used (`PluginError`).
* Readers refuse a file that cannot be read or is not of its form, with every faulty field; writers, one
  that cannot be written (`FormatError`). What reads a single word of a file refuses it by ``ValueError``,
  and its caller adds the place.
* The judge refuses a certificate that is not of the form described, not of the problem and objective, or
  proves less than it says (`InvalidAnswer`).
"""

from __future__ import annotations

import difflib
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AllocsolveError",
    "Deadlock",
    "FormatError",
    "InvalidAnswer",
    "InvalidOption",
    "InvalidProblem",
    "PluginError",
    "SolverUnavailable",
    "UnknownName",
    "UnsupportedProblem",
    "near_names",
    "require_packages",
]


class AllocsolveError(Exception):
    """The root: catching it catches everything that allocsolve raises on purpose."""


class InvalidProblem(AllocsolveError, ValueError):  # noqa: N818 - the name says what is wrong
    """A problem that contradicts itself, such as a step with more nodes than the cluster."""


class InvalidAnswer(AllocsolveError, ValueError):  # noqa: N818 - the name says what is wrong
    """An answer that is malformed, or whose claims the judge does not confirm.

    Parameters
    ----------
    message
        What is wrong.
    breaks_schema
        Whether a certificate has not the fields of its kind, as its JSON Schema shows, too: one is missing,
        of another type or out of its range. All else is what a certificate fails to prove.
    """

    def __init__(self, message: str, *, breaks_schema: bool = False) -> None:
        self.breaks_schema = breaks_schema
        super().__init__(message)


class InvalidOption(AllocsolveError, ValueError):  # noqa: N818 - the name says what is wrong
    """An option out of its range, or options that contradict each other."""


class UnsupportedProblem(InvalidOption):
    """A sound problem of its family that a solver, with these options, is not made for."""


class Deadlock(AllocsolveError, RuntimeError):  # noqa: N818 - the name says what is wrong
    """Running jobs wait for nodes for ever under a policy: the message says who holds what and asks whom."""


class FormatError(AllocsolveError, ValueError):
    """A file that cannot be read as what it says it is.

    Parameters
    ----------
    source
        The file, as the user named it.
    faults
        All that is wrong, each with its place (line and column, or the path of the field).
    breaks_schema
        Whether a fault is one that the JSON Schema of this kind of file shows, too: a field that is missing,
        unknown, of another type or out of its range. Faults between fields are none of these.
    """

    #: How many faults the message names at most, and in how many characters, the first whatever its length;
    #: the rest is counted.
    SHOWN = 5
    LENGTH = 280

    def __init__(self, source: str, faults: Iterable[str], *, breaks_schema: bool = False) -> None:
        self.source = source
        self.faults = tuple(faults)
        self.breaks_schema = breaks_schema
        shown = min(len(self.faults), self.SHOWN)
        while shown > 1 and len(self._message(shown)) > self.LENGTH:
            shown -= 1
        super().__init__(self._message(shown))

    def _message(self, shown: int) -> str:
        more = len(self.faults) - shown
        rest = [f"and {more} more"] if more else []
        return f"{self.source}: {'; '.join([*self.faults[:shown], *rest])}"


def near_names(name: str, choices: Iterable[str]) -> list[str]:
    """Return up to three names that somebody may have meant."""
    folded = {choice.lower(): choice for choice in choices}
    return [folded[key] for key in difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.5)]


class UnknownName(AllocsolveError, LookupError):  # noqa: N818 - the name says what is wrong
    """No solver, suite or objective has this name; the message offers the nearest ones."""

    #: How many names the message lists when none is near.
    SHOWN = 12

    def __init__(self, what: str, name: str, choices: Iterable[str], *, shown: int = SHOWN) -> None:
        choices = list(choices)
        near = near_names(name, choices)
        more = f" and {len(choices) - shown} more" if len(choices) > shown else ""
        listed = f"known: {', '.join(choices[:shown])}{more}"
        hint = f"did you mean {' or '.join(near)}?" if near else listed
        super().__init__(f"unknown {what} {name!r}; {hint}")


class PluginError(AllocsolveError):
    """A solver of a third party cannot be used.

    Parameters
    ----------
    name
        The plug-in, as the user named it.
    reason
        What is wrong with it; made one line.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        super().__init__(f"plug-in {name!r}: {' '.join(reason.split())}")


class SolverUnavailable(AllocsolveError):  # noqa: N818 - the name says what is wrong
    """A backend is missing or does not work; the message says how to install it."""


def require_packages(user: str, packages: Iterable[str]) -> None:
    """Refuse what cannot run in a light installation.

    Parameters
    ----------
    user
        What needs the packages, as messages call it.
    packages
        Their names, to import and to install.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        names, verb = " and ".join(missing), "are" if len(missing) > 1 else "is"
        msg = f"{user} needs {names}, which {verb} not installed: pip install {' '.join(missing)}"
        raise SolverUnavailable(msg)
