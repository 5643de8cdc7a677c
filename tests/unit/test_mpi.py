"""A study on the ranks of a real MPI program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_tools import refused

from allocsolve.bench import RecordStore, read_study

#: Open MPI asks before it runs as root, or more ranks than there are processors.
_OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}


def test_a_study_without_mpiexec_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study.toml"
    study.write_text('suites = ["klein-5-inf"]\nsolvers = ["noX"]\n')
    expected = "--executor mpi goes with: mpiexec -n N python -m mpi4py.futures -m allocsolve ..."
    told = refused(capsys, "study", "run", study, "--executor", "mpi")
    assert told == f"allocsolve: error: {expected}\n"


def test_a_study_under_mpiexec_has_every_row_once(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="mpi4py is not installed", exc_type=ImportError)
    beside = Path(sys.executable).parent
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join([str(beside), os.environ.get("PATH", "")]))
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    study = tmp_path / "study.toml"
    study.write_text('suites = ["klein-5-inf"]\nsolvers = ["noX", "infX"]\nseeds = [0, 1]\n')
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", "-m", "allocsolve"]
    done = subprocess.run(
        [*command, "study", "run", str(study), "--executor", "mpi"],
        env={**_OPEN_MPI, **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with RecordStore(study.with_suffix(".sqlite"), read_only=True) as store:
        rows = list(store)
    tasks = read_study(study).tasks()
    assert sorted(row.key for row in rows) == sorted(task.key for task in tasks)
    assert not [row.error for row in rows if row.error]
