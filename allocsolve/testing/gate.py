"""The regression gate as a fixture for the test suites of other packages.

pytest finds it by itself wherever allocsolve is installed::

    def test_my_solver_has_not_got_worse(allocsolve_gate):
        allocsolve_gate(solvers=[MySolver()], suite="tiny", baseline="gate.json")

The first time, and whenever a change is meant, write the baseline with ``pytest --allocsolve-update-gate``
and commit it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

    from allocsolve.bench import GateReport, SolverLike

_OPTION = "--allocsolve-update-gate"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes baselines."""
    group = parser.getgroup("allocsolve")
    group.addoption(_OPTION, action="store_true", help="write the baselines of the fixture allocsolve_gate")


@dataclass(frozen=True, slots=True)
class Gate:
    """What the fixture `allocsolve_gate` is."""

    folder: Path  #: of the test module
    update: bool  #: whether baselines are written

    def __call__(
        self, solvers: Sequence[SolverLike], *, baseline: str | os.PathLike[str], suite: str = "tiny"
    ) -> GateReport:
        """Fail the test if a solver has changed; see `allocsolve.bench.run_gate`.

        Parameters
        ----------
        solvers
            Solvers, or names of registered ones; each gets the problems of the suite that the annotation of
            its first parameter names. A solver is known by its repr, a function by its name.
        baseline
            A file; relative to the folder of the test module.
        suite
            A suite of allocsolve, or a folder of problems; relative to the folder of the test module.
        """
        from allocsolve.bench import run_gate  # noqa: PLC0415 - a plugin is loaded by every run of pytest
        from allocsolve.errors import AllocsolveError  # noqa: PLC0415 - a plugin is loaded by every run of pytest

        __tracebackhide__ = True
        path = self.folder / baseline
        if not self.update and not path.exists():
            pytest.fail(f"there is no baseline {path}: write it with pytest {_OPTION}", pytrace=False)
        try:
            chosen = folder if (folder := self.folder / suite).is_dir() else suite
            report = run_gate(path, update=self.update, suite=chosen, solvers=solvers)
        except AllocsolveError as error:
            pytest.fail(str(error), pytrace=False)
        if not report.passed:
            lines = [f"changed from {path}:", *(f"  {change}" for change in report.changes)]
            lines += [f"Where that is meant, accept it with pytest {_OPTION}."]
            pytest.fail("\n".join(lines), pytrace=False)
        return report


@pytest.fixture
def allocsolve_gate(request: pytest.FixtureRequest) -> Gate:
    """Hold solvers to a baseline: results, proofs, gaps and times."""
    return Gate(request.path.parent, bool(request.config.getoption(_OPTION)))
