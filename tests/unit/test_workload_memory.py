"""How much memory a large workload takes, from nothing to a judged schedule."""

from __future__ import annotations

import os
import subprocess
import sys

CODE = """
from memory_tools import peak_mb
from allocsolve import Budget
from allocsolve.heuristics import Easy
from allocsolve.instances import lublin1999
from allocsolve.judge import confirm

problem = lublin1999(0, num_jobs=300_000)
generated = peak_mb()
result = confirm(problem, Easy()(problem, Budget()), ("turnaround",))
print(result.objective is not None, generated, peak_mb())
"""


def test_easy_on_300_000_jobs_takes_less_than_1_gb() -> None:
    """About .2 GB for the problem, .3 GB with the run and the judge."""
    where = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, env=where)
    judged, generated, peak = done.stdout.split()
    assert judged == "True"
    assert float(generated) < 500
    assert float(peak) < 1000
