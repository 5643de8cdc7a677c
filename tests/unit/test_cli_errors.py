"""The command line: faults of input, files that are there, the terminal, schemas."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator
from sample_records import PROBLEM, RECORD

from allocsolve.bench import RecordStore
from allocsolve.cli import main
from allocsolve.cli.files import check_outputs
from allocsolve.cli.output import LENGTH, remark, say, shortened, show_fields, show_lines, show_table
from allocsolve.cli.schema import schema_text, schemas
from allocsolve.errors import FormatError
from allocsolve.instances import PACKAGED, klein2011, write_problem
from allocsolve.pictures.chart import visible

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_a_fault_with_a_line_break_stays_one_line(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "two\nlines.json"
    write_problem(klein2011(1), path)
    assert "lines.json" in refused(capsys, "check", path, path)


def test_too_little_memory_is_one_line(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("allocsolve.cli.create.write_problem", write)
    argv = ["generate", "klein2011", "--count", "1", "--seed", "1", "--out", str(tmp_path / "d")]
    assert main(argv) == 1
    assert capsys.readouterr().err == "allocsolve: error: there is not enough memory for this\n"


TESTS = Path(__file__).resolve().parents[1]
CASES, SLICE = 2000, 1000
SLICES = range(0, CASES, SLICE)
#: What the process of a slice may hold, with all libraries, in MB.
MEMORY_MB = 500


@pytest.mark.parametrize("first", SLICES)
def test_broken_input_is_refused_in_one_line(first: int, tmp_path: Path) -> None:
    command = [sys.executable, str(TESTS / "fuzz_worker.py"), str(first), str(first + SLICE)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    faulty = [case for case in told if case["faults"]]
    assert not faulty, "\n".join(f"case {case['case']}: {case['argv']}\n{case['faults']}" for case in faulty)
    assert done.returncode == 0, f"after case {told[-1:]}:\n{done.stderr}"
    assert [case["case"] for case in told] == [*range(first, first + SLICE)]
    assert max(case["peak_mb"] for case in told) <= MEMORY_MB
    statuses = {case["status"] for case in told}
    assert {0, 1, 2} <= statuses, "some changes do no harm, and some make an answer wrong"


# --- Overwriting --------------------------------------------------------------------------------------

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


# --- Terminal -----------------------------------------------------------------------------------------

#: Clears the screen, sets the title, rings; turns the line round; looks like another line.
HOSTILE = "a\x1b[2J\x1b]0;title\x07\x9b31m\r\u202eb\u2066\u200f\u2028\x85c"

texts = st.text(st.characters(codec=None, exclude_categories=()), max_size=2 * LENGTH + 99)


def harmless(text: str) -> bool:
    return all(unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in text)


@given(texts)
def test_texts_are_harmless_and_short(text: str) -> None:
    shown = shortened(text)
    assert harmless(shown)
    assert len(shown) <= LENGTH
    assert harmless(visible(text))
    if len(visible(text)) <= LENGTH:
        assert shown == visible(text)


@given(texts)
def test_what_is_harmless_is_shown_as_it_is(text: str) -> None:
    clean = "".join(char for char in text if char.isprintable())
    assert visible(clean) == clean


def test_a_long_text_keeps_its_ends() -> None:
    shown = shortened("problem.json: " + "x" * 5_000_000 + "; did you mean cpsat?")
    assert shown.startswith("problem.json: xxx")
    assert shown.endswith("xxx; did you mean cpsat?")
    assert len(shown) == LENGTH


@pytest.mark.parametrize(
    "show",
    [
        say,
        lambda text: show_fields([(text, text)]),
        lambda text: show_table([""], [[text]], title=text),
        lambda text: show_lines([[(text, "bold")]]),
    ],
    ids=["say", "fields", "table", "lines"],
)
def test_all_that_is_printed_is_harmless(show: object, capsys: Capture) -> None:
    assert callable(show)
    show(HOSTILE)
    out = capsys.readouterr().out
    assert harmless(out.replace("\n", ""))
    assert "a\\x1b[2J" in out
    assert "\\u202eb" in out


def test_remarks_are_one_short_line(capsys: Capture) -> None:
    remark(HOSTILE * 100)
    err = capsys.readouterr().err
    assert err.endswith("\n")
    assert harmless(err[:-1])
    assert len(err) == LENGTH + 1


def test_names_of_files_and_problems_are_shown_harmless(tmp_path: Path, capsys: Capture) -> None:
    name = HOSTILE.replace("/", "")
    path = tmp_path / f"{name}.json"
    write_problem(klein2011(1, num_apps=(2, 2)), path)
    assert harmless(refused(capsys, "check", path, path)[:-1])
    assert harmless(run(capsys, "solve", path, "--solver", "noX").replace("\n", ""))


def test_options_are_shown_harmless(capsys: Capture) -> None:
    for options in (["--solver", HOSTILE], ["--solver", "noX", "--objective", HOSTILE]):
        assert harmless(refused(capsys, "solve", "x", *options)[:-1])
    assert len(refused(capsys, "solve", "x", "--solver", "y" * 100_000)) <= LENGTH + 1


def test_a_report_of_many_faults_names_what_fits(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "problem.json"
    apps = ", ".join(f'{{"steps": [[0, 1]], "{"x" * 40}{idx}": 1}}' for idx in range(50))
    path.write_text(
        f'{{"format": "allocsolve/1", "kind": "evolution", "num_nodes": 1, "applications": [{apps}]}}'
    )
    err = refused(capsys, "solve", path, "--solver", "noX")
    assert len(err) <= LENGTH + 1
    assert " more\n" in err
    assert "applications[0].steps[0][0]: duration 0 is below 1" in err


def test_the_first_fault_is_always_named() -> None:
    error = FormatError("file", ["x" * 1000, "y"])
    assert error.faults == ("x" * 1000, "y")
    assert str(error) == f"file: {'x' * 1000}; and 1 more"
    assert str(FormatError("file", ["a"] * 7)) == "file: a; a; a; a; a; and 2 more"


def test_an_error_of_a_library_is_one_short_line(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud.py").write_text(
        "from allocsolve.model import EvolutionProblem\n"
        "class Loud:\n"
        "    def __call__(self, problem: EvolutionProblem, budget):\n"
        "        raise RuntimeError('\\x1b[2J' + 'x' * 5_000_000 + '\\n' * 5)\n"
        "    def __repr__(self):\n"
        "        return 'Loud()'\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    path = tmp_path / "problem.json"
    write_problem(klein2011(1, num_apps=(2, 2)), path)
    assert main(["solve", str(path), "--solver", "loud:Loud"]) == 1
    err = capsys.readouterr().err
    assert "loud:Loud failed: RuntimeError: \\x1b[2Jxxx" in err
    assert len(err.splitlines()[-1]) <= LENGTH
    assert harmless(err.replace("\n", ""))


# --- Schema -------------------------------------------------------------------------------------------


FORMATS = Path(__file__).parents[2] / "docs" / "formats.md"


def test_kinds_are_listed_and_printed(capsys: Capture) -> None:
    known = schemas()
    listed = run(capsys, "schema")
    assert [line.split()[0] for line in listed.splitlines()[2 : 2 + len(known)]] == [*known]
    assert run_json(capsys, "schema") == {"kinds": {kind: known[kind]["title"] for kind in known}}
    assert run(capsys, "schema", "partition") == schema_text(known["partition"])
    assert run_json(capsys, "schema", "partition") == known["partition"]
    said = refused(capsys, "schema", "nonsense")
    assert said == f"allocsolve: error: unknown kind of file 'nonsense'; known: {', '.join(known)}\n"


def test_every_field_of_the_envelope_is_described() -> None:
    for kind, schema in schemas().items():
        own = {name: field for name, field in schema["properties"].items() if "const" not in field}
        bare = [name for name, field in own.items() if not {"description", "items"} & field.keys()]
        assert bare == [], kind


def test_every_field_of_a_certificate_and_of_a_study_is_described() -> None:
    known = schemas()
    bare = [
        f"{place}: {name}"
        for kind, parts in (("certificate", known["certificate"]["$defs"]), ("study", known["study"]))
        for place, name, field in _all_fields(parts, kind)
        if "description" not in field and "const" not in field
    ]
    assert bare == []


def _all_fields(schema: Any, place: str) -> Iterator[tuple[str, str, Any]]:
    """Yield all fields of a schema, at whatever depth; what a condition says of a field describes none."""
    if isinstance(schema, list):
        for part in schema:
            yield from _all_fields(part, place)
    elif isinstance(schema, dict):
        yield from ((place, name, field) for name, field in schema.get("properties", {}).items())
        for key, part in schema.items():
            if key not in ("if", "then", "else"):
                yield from _all_fields(part, f"{place}.{key}")


def test_the_page_on_formats_names_all_kinds() -> None:
    linked = re.findall(r'href="schema/([a-z-]+)\.schema\.json"', FORMATS.read_text(encoding="utf-8"))
    assert linked == [*schemas()]


def test_the_page_on_formats_names_all_fields() -> None:
    named = {*re.findall(r"[`\"]([\w$]+)[`\"]", FORMATS.read_text(encoding="utf-8"))}
    own = {kind: schema for kind, schema in schemas().items() if kind != "gate"}  # gate.md tells of it
    fields = {(kind, name) for kind, schema in own.items() for _, name, _ in _all_fields(schema, kind)}
    missing = {f"{kind}: {name}" for kind, name in fields if name not in named}
    assert missing == set()


@pytest.mark.parametrize("fields", [{}, {"#": "x"}, {"suites": []}])
def test_studies_of_the_site_keep_to_their_schema(fields: dict[str, Any]) -> None:
    """So do all files in the documentation and the examples that are studies; others do not."""
    checker = Draft202012Validator(schemas()["study"])
    blocks = [
        block
        for page in (*FORMATS.parent.glob("*.md"), FORMATS.parents[1] / "README.md")
        for block in re.findall(
            r"^```.*toml\n((?:.*\n)*?)```", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        if re.search("^suites", block, re.MULTILINE)
    ]
    assert len(blocks) >= 4
    for block in blocks:
        document = {**tomllib.loads(re.sub("^:.*$", "", block, flags=re.MULTILINE)), **fields}
        assert checker.is_valid(document) == (not fields)


@pytest.mark.parametrize("suite", ["klein-5-l1", "mesh-16x8", "lublin-256", "linnert-1000"])
def test_files_of_the_library_keep_to_their_schemas(suite: str) -> None:
    known = schemas()
    files = (
        sorted((PACKAGED / suite).glob("*.json"))[:3] + sorted((PACKAGED / suite / "solutions").glob("*"))[:2]
    )
    for file in [*files, PACKAGED / suite / "best_known.json"]:
        document = json.loads(file.read_text(encoding="utf-8"))
        Draft202012Validator(known[document.get("kind", "best-known")]).validate(document)


def test_the_index_of_the_library_keeps_to_its_schema() -> None:
    document = json.loads((PACKAGED / "library.json").read_text(encoding="utf-8"))
    Draft202012Validator(schemas()["library"]).validate(document)


def test_the_baselines_of_the_gate_keep_to_their_schema() -> None:
    for file in (FORMATS.parents[1] / ".ci").glob("gate*.json"):
        Draft202012Validator(schemas()["gate"]).validate(json.loads(file.read_text(encoding="utf-8")))
