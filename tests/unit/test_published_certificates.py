"""The certificates in the documentation prove what is said of them, on the logs themselves."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from workload_traces import kth_problem

from allocsolve.instances import read_certificate
from allocsolve.judge import certify
from allocsolve.model import Result, Status, WorkloadSchedule
from allocsolve.model.result import terms

DOCS = Path(__file__).resolve().parents[2] / "docs"
KTH = DOCS / "certificates" / "kth-sp2-turnaround.json.gz"


def test_figures_are_those_of_the_file() -> None:
    document = json.loads(gzip.decompress(KTH.read_bytes()))
    bound, best = document["meta"]["bound"], document["meta"]["best_known"]
    readme = (KTH.parent / "README.md").read_text(encoding="utf-8")
    for figure in (f"{bound:,.3f} s", f"{best:,.3f} s", document["problem"], KTH.name):
        assert figure in readme
    page = (DOCS / "gap.md").read_text(encoding="utf-8")
    assert f"| certified bound | {bound:,.1f} s |" in page
    assert f"| best known schedule | {best:,.1f} s |" in page
    assert f"| best known | {100 * (best / bound - 1):.2f} |" in page
    assert KTH.stat().st_size < 1.5 * 2**20


def test_the_judge_recomputes_the_bound_of_kth_sp2(traces: Path) -> None:
    problem = kth_problem(traces)
    proof = read_certificate(KTH, problem)
    assert proof.objective == ("turnaround",)
    result: Result[WorkloadSchedule] = Result(Status.UNKNOWN, certificate=proof.certificate)
    (bound,) = terms(certify(problem, result, proof.objective))
    assert bound == json.loads(gzip.decompress(KTH.read_bytes()))["meta"]["bound"]
    assert bound > 9_900
