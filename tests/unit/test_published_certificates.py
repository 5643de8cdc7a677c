"""Certificates that are out in the world prove what they proved: those of the documentation, and of records.

Those in the documentation are held against the logs themselves.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from workload_traces import kth_problem

from allocsolve.bench import RecordStore
from allocsolve.bench.runs.verify import verify_records
from allocsolve.families import family_named
from allocsolve.instances import read_certificate
from allocsolve.judge import certificate_kind, certified_bound
from allocsolve.model.result import terms

DOCS = Path(__file__).resolve().parents[2] / "docs"
KTH = DOCS / "certificates" / "kth-sp2-turnaround.json.gz"
GOLDEN = Path(__file__).resolve().parents[1] / "golden"


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
    bound = certified_bound(problem, proof.certificate, proof.objective)
    assert bound == json.loads(gzip.decompress(KTH.read_bytes()))["meta"]["bound"]
    assert bound > 9_900


@pytest.mark.parametrize(("version", "kinds"), [(3, 12), (4, 13)])
def test_records_of_older_versions_prove_what_they_proved(version: int, kinds: int, tmp_path: Path) -> None:
    """The file is what a version of that format wrote, with every kind of certificates that it had.

    That of format 3 took times of exact problems for rounded ones, so the judge of today proves more of some.
    """
    path, met = tmp_path / "records.sqlite", set()
    with closing(sqlite3.connect(path)) as base:
        base.executescript((GOLDEN / f"records-{version}.sql").read_text(encoding="utf-8"))
    with RecordStore(path, read_only=True) as store:
        for record in store:
            certificate, objective = store.certificate(record.key), (record.objective,)
            assert certificate is not None
            met.add((record.kind, certificate_kind(family_named(record.kind), certificate).name))
            proven = certified_bound(store.problem(record.digest), certificate, objective)
            (recorded,) = terms(record.certified_bound)
            assert proven == recorded or (version == 3 and proven > recorded), record
        assert len(met) == kinds
        assert [*verify_records(store)] == []
