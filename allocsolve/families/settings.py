"""Problems with other values of the fields that their family allows to set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.errors import InvalidOption
from allocsolve.families.table import families, family_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import Problem


def with_settings(
    problem: Problem, values: Mapping[str, object], source: str, *, tighten: bool = False
) -> Problem:
    """Return the problem with these values of its fields.

    Parameters
    ----------
    values
        By the names of `Family.settings`; a value is a text, or as a TOML file has it.
    tighten
        Whether to refuse a value under which an answer need not answer the problem as it is.

    Raises
    ------
    InvalidOption
        If the family has no such field, the value is not allowed, or it is looser than that of the problem.
    """
    family = family_of(problem)
    for name, value in values.items():
        setting = family.settings.get(name)
        if setting is None:
            msg = f"{name}={value} does not go with {source}, a problem of the kind {family.kind}"
            raise InvalidOption(msg)
        try:
            parsed = setting.read(value)
        except ValueError as error:
            raise InvalidOption(f"{name}: {error}") from None
        if tighten and not setting.tightens(problem, parsed):
            raise InvalidOption(f"{name}={value} is looser than the {name} of {source}")
        problem = setting.apply(problem, parsed)
    return problem


def setting_fault(name: str, value: object) -> str:
    """Return why no family lets a field of this name be set to this value; empty if one does."""
    named = {field: family for family in families() for field in family.settings}
    if name not in named:
        return f"there is no field {name!r} to set; there is {', '.join(named) or 'none'}"
    faults = []
    for family in families():
        if name in family.settings:
            try:
                family.settings[name].read(value)
            except ValueError as error:
                faults.append(str(error))
            else:
                return ""
    return f"{name}: {faults[0]}"
