"""No command replaces a file unasked, and none its own input."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_tools import Capture, refused, run
from sample_records import PROBLEM, RECORD

from allocsolve.bench import RecordStore
from allocsolve.cli.files import check_outputs
from allocsolve.errors import FormatError
from allocsolve.instances import write_problem

LOG = "; MaxProcs: 4\n" + "".join(f"{n} {n} 0 5 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n" for n in (1, 2))
OLD = "the user's own\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A problem, a log, the records of a study, and a file of the user's."""
    write_problem(PROBLEM, tmp_path / "problem.json")
    (tmp_path / "log.swf").write_text(LOG)
    (tmp_path / "own.csv").write_text(OLD)
    with RecordStore(tmp_path / "study.sqlite") as store:
        store.append(RECORD, PROBLEM, None)
    return tmp_path


SOLVE = ("solve", "problem.json", "--solver", "noX")
SWF = ("import", "log.swf", "--num-jobs", "2")
EXPORT = ("study", "export", "study.sqlite")
REPORT = ("study", "report", "study.sqlite")
WRITERS = [
    (*SOLVE, "--out"),
    (*SOLVE, "--plot"),
    (*SWF, "--out"),
    (*SWF, "--out", "new.json", "--recorded"),
    (*EXPORT, "--out"),
    (*REPORT, "--out"),
    (*REPORT, "--figures", "figures", "--out"),
]


def _ids(argv: tuple[str, ...]) -> str:
    return " ".join((*argv[:2], argv[-1]))


@pytest.mark.parametrize("argv", WRITERS, ids=_ids)
def test_a_file_that_is_there_is_replaced_by_force_only(
    argv: tuple[str, ...], folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    assert refused(capsys, *argv, "own.csv").endswith("own.csv: exists; --force replaces it\n")
    assert Path("own.csv").read_text() == OLD
    assert sorted(folder.iterdir()) == before, "nothing else is written either"
    run(capsys, *argv, "own.csv", "--force")
    assert Path("own.csv").read_text() != OLD


@pytest.mark.parametrize("argv", WRITERS, ids=_ids)
def test_no_force_replaces_what_the_command_reads(
    argv: tuple[str, ...], folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    source = Path(argv[2] if argv[0] == "study" else argv[1])
    alias = Path("alias.csv")
    alias.symlink_to(source)
    content = source.read_bytes()
    own = source.rename(source.with_suffix(".csv"))
    alias.unlink()
    alias.symlink_to(own)
    renamed = [str(own) if part == str(source) else part for part in argv]
    for name in (own, alias, Path("..") / folder.name / own):
        err = refused(capsys, *renamed, name, "--force")
        assert err.endswith(f"{name}: cannot be written: this command reads it\n")
    assert own.read_bytes() == content


def test_two_outputs_are_two_files(folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    err = refused(capsys, *SOLVE, "--out", "x", "--plot", "./x", "--force")
    assert err.endswith("x: cannot be written: this command writes it twice\n")
    assert not Path("x").exists()


def test_problems_are_not_drawn_over_others(folder: Path, capsys: Capture) -> None:
    out = folder / "drawn"
    draw = ["generate", "klein2011", "--count", 2, "--seed", 1, "--out", out]
    run(capsys, *draw, "--num-jobs", 2)
    files = {path: path.read_bytes() for path in sorted(out.iterdir())}
    err = refused(capsys, *draw, "--num-jobs", 3)
    assert err.endswith(f"{min(files)}: exists; --force replaces it\n")
    assert {path: path.read_bytes() for path in out.iterdir()} == files
    run(capsys, *draw[:-4], "--seed", 2, "--out", out)
    assert len(list(out.iterdir())) == 4, "others go beside them"
    run(capsys, *draw, "--num-jobs", 3, "--force")
    assert all(path.read_bytes() != content for path, content in files.items())


@pytest.mark.parametrize(("option", "ending"), [("--figures", "svg"), ("--latex", "tex")])
def test_figures_and_tables_of_a_report_are_not_replaced(
    option: str, ending: str, folder: Path, capsys: Capture
) -> None:
    own = folder / option / f"own.{ending}"
    own.parent.mkdir()
    own.write_text(OLD)
    argv = ["study", "report", folder / "study.sqlite", "--out", folder / "r.html", f"{option}={own.parent}"]
    assert f"{own}: exists; --force replaces it" in refused(capsys, *argv)
    assert not (folder / "r.html").exists()
    run(capsys, *argv, "--force")
    assert own.read_text() == OLD, "the report has nothing of this name"


def test_a_baseline_is_not_written_over_anything_else(folder: Path, capsys: Capture) -> None:
    for name in ("own.csv", "problem.json"):
        content = (folder / name).read_bytes()
        assert name in refused(capsys, "gate", "--baseline", folder / name, "--update", "--solvers", "noX")
        assert (folder / name).read_bytes() == content


def test_devices_are_written_to(tmp_path: Path) -> None:
    null = Path("/dev/null")
    check_outputs(null, null, None, inputs=[null], force=False)
    with pytest.raises(FormatError, match="is a directory"):
        check_outputs(tmp_path, force=True)
