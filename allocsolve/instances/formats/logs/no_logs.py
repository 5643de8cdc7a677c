"""Files that are taken for logs and are none: what they look like, by how they begin, and what to do."""

from __future__ import annotations

import re
from typing import Final

#: The columns that a table needs which is made of a list of jobs.
_COLUMNS: Final = "the columns JobID|User|Submit|Start|End and NNodes or NCPUS"
#: Lists of jobs of systems that print them in forms of their own: what they are, and how they begin.
_OTHER_SYSTEMS: Final = {
    "jobs of Flux": (
        r"\A\s*JOBID +(?:QUEUE +)?USER +NAME +ST +NTASKS ",
        r'\A\s*[\[{][\s\S]*"t_(?:submit|depend)"\s*:',
    ),
    "objects of Kubernetes": (
        r"\A(?:NAMESPACE +)?NAME +(?:READY|STATUS|COMPLETIONS) ",
        r'\A\s*[\[{][\s\S]*"apiVersion"\s*:|(?m:^apiVersion\s*:)',
    ),
    "jobs of HTCondor": (
        r"\A\s*(?:-- .*\s+)?(?:ID +OWNER|OWNER +BATCH_NAME) |\A0\d\d \(\d+\.\d+\.\d+\) ",
        r'\A\s*[\[{][\s\S]*"(?:ClusterId|GlobalJobId)"\s*:',
        r"(?m:^(?:ClusterId|GlobalJobId|AutoClusterId|JobUniverse) *=)",
    ),
}
#: How a problem begins.
_PROBLEM: Final = re.compile(r'\A\s*\{[^[]*"format"\s*:\s*"allocsolve/')
#: What is taken for a log, by what stands at its beginning, and what it looks like.
_STRANGE: Final = (
    (re.compile(r"\APAR1"), "a Parquet file: say --format pm100, fdata or hpcopt"),
    (
        re.compile(r"\APK\x03\x04"),
        "a zip archive or a workbook of a spreadsheet: give text, which may be gzipped",
    ),
    (re.compile(r"\A(?:BZh\d|\ufffd7zXZ|\(\ufffd/\ufffd)"), "an archive that is not gzip: unpack it before"),
    (
        re.compile(r"\A={10,}\s*\n\s*qname\s"),
        "what SGE's qacct prints: give the file accounting itself, from the folder default/common of SGE",
    ),
    (
        re.compile(
            r"\A\s*(?:Accounting information about jobs|Job <\d+)|\n\s*Accounting information about jobs"
        ),
        "what LSF's bacct prints: give the file lsb.acct itself",
    ),
    (re.compile(r"\A\s*<(?:\?xml|!DOCTYPE|html|\w+>)", re.IGNORECASE), "XML or HTML: give a log as text"),
    (_PROBLEM, "a problem of allocsolve, which is no log"),
    (
        re.compile(r'\A\s*\{.*"(?:nb_res|profiles)"\s*:', re.DOTALL),
        "a workload of Batsim, which is no log: allocsolve convert reads it",
    ),
    *(
        (
            re.compile("|".join(begins)),
            f"{said}: make a table of it with {_COLUMNS}, which import sacct reads",
        )
        for said, begins in _OTHER_SYSTEMS.items()
    ),
    (
        re.compile(
            r"\A *(?:JobID|JOBID) +[^|,;\t\n]*\n|\A[^|,;:\t\n]+\n[- ]*-{3,} +-{2,}[- ]*(?:\n|\Z)"
            r"|\A *[A-Za-z_]\w*(?: {2,}[A-Za-z_]\w*){3,} *\r?\n"
        ),
        "an export in columns of fixed width: put | or commas between the columns (sacct: use sacct -P)",
    ),
)


def is_problem(head: str) -> bool:
    """Tell whether a text begins as a problem of allocsolve does."""
    return _PROBLEM.search(head) is not None


def looks_like(head: str) -> str | None:
    """Return what a text looks like that is no log but well known, and what to do; None if it is not."""
    return next((f"looks like {said}" for mark, said in _STRANGE if mark.search(head)), None)
