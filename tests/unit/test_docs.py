"""The documentation and the examples: the site builds, and what they show is what is done."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_tools import without_compiling
from console_tools import matches
from hypothesis import given, strategies as st
from process_tools import environment, python
from workload_traces import trace

import allocsolve
from allocsolve import Job, Jobs, WorkloadProblem, solve
from allocsolve.adaptors import named_policy
from allocsolve.bench import Record
from allocsolve.cli import main
from allocsolve.cli.schema import schema_text, schemas
from allocsolve.heuristics import Conservative
from allocsolve.instances import lublin1999, read_problem, write_problem
from allocsolve.simulation import simulate

DOCS = Path(__file__).resolve().parents[2] / "docs"

#: A block of a page: its language or directive, and what it holds, options included.
BLOCK = re.compile(r"^```(\S[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = {"allocsolve": [sys.executable, "-m", "allocsolve"], "python": [sys.executable], "sed": ["sed"]}


PAGES = [page for page in sorted(DOCS.glob("*.md")) if "```console" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", [page.stem for page in PAGES])
def test_commands_print_what_a_page_shows(
    page: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a page has modules that are not only run, each in a process of its own."""
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    captions = [re.match(r":caption: (\S+)\n+", text) for _, text in blocks]
    modules = {caption[1] for caption in captions if caption and caption[1].endswith(".py")}
    has_modules = not modules <= {
        run for _, text in blocks for run in re.findall(r"^\$ python (\S+)", text, re.MULTILINE)
    }
    for (language, text), caption in zip(blocks, captions, strict=True):
        if caption:
            file = tmp_path / caption[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text[caption.end() :], encoding="utf-8")
        if language != "console":
            continue
        lines = text.replace("\\\n> ", "")
        for command, shown in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", lines, re.MULTILINE):
            program, *args = shlex.split(command)
            if program == "allocsolve" and not has_modules:
                status = main(args)
                printed = "".join(capfd.readouterr())
            else:
                done = subprocess.run(
                    [*PROGRAMS[program], *args],
                    env=environment(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    encoding="utf-8",
                    check=False,
                )
                status, printed = done.returncode, done.stdout
            printed = without_compiling(printed) + (f"[exit status {status}]\n" if status else "")
            assert matches(shown, printed), f"{page}.md: $ {command}\n{printed}"
            _loosen(tmp_path)


def _loosen(folder: Path) -> None:
    """Have baselines of the gate pass at any speed: a busy machine fails no test."""
    for path in folder.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('"time_factor": 1.5', '"time_factor": 1e6'), encoding="utf-8")


def test_only_times_and_widths_may_differ() -> None:
    assert matches("a\n...\nb 3 ms", "a\nc\nd\nb  12 us")
    assert not matches("5 s", "6 s")


def test_every_field_of_a_record_is_described() -> None:
    page = (DOCS / "formats.md").read_text(encoding="utf-8")
    described = re.findall(r"`(\w+)`", page[page.index("| field of a record") :])
    assert {field.name for field in fields(Record)} <= set(described)


#: One process builds the site, and has all tests of it.
of_the_site = pytest.mark.xdist_group("site")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site from a copy, warnings being errors."""
    for needed in ("sphinx", "sphinx_copybutton", "myst_nb", "furo"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("_build", "pictures", "reference"))
    shown = ("CHANGELOG.md", "CONTRIBUTING.md", "tests/toy_family.py", "examples/embed_loop.py")
    for name in (*shown, "examples/embed_simpy.py"):  # pages show them
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(DOCS.parent / name, folder / name)
    options = ["--builder", "html", "--quiet", "--fail-on-warning", "--keep-going"]
    options += ["--define", "nb_execution_mode=off"]  # `make docs` executes them
    python("-m", "sphinx", *options, "docs", "html", cwd=folder)
    return folder / "html"


@of_the_site
def test_the_reference_has_every_public_name_once(site: Path) -> None:
    package = Path(importlib.import_module("allocsolve").__path__[0])
    rooms = {path.stem for path in package.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert {"model", "judge", "errors", "bench"} <= rooms
    public = [
        f"allocsolve.{room}.{name}"
        for room in rooms - {"cli"}
        if not room.startswith("_")
        for name in importlib.import_module(f"allocsolve.{room}").__all__
    ]
    pages = [page.read_text(encoding="utf-8") for page in (site / "reference").glob("*.html")]
    described = Counter(
        name for page in pages for name in re.findall(r'<dt class="[^"]*" id="([^"]+)"', page)
    )
    assert {name: described[name] for name in public if described[name] != 1} == {}


def test_every_part_of_the_reference_has_names() -> None:
    conf = _module("conf")
    taken = conf.by_task()
    parts = {(task["page"], heading) for task in conf.TASKS for heading in task["parts"]}
    assert parts - {part for part, names in taken.items() if names} == set()
    assert Counter(name for names in taken.values() for name in names) == Counter([*conf.homes()])


def test_a_public_name_that_no_task_takes_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    conf = _module("conf")
    monkeypatch.setattr(conf, "TASKS", [task for task in conf.TASKS if task["page"] != "draw"])
    with pytest.raises(KeyError, match=r"takes allocsolve\.figures\.FORMATS,"):
        conf.by_task()


def _module(name: str) -> Any:
    """Load a module beside the pages; the configuration of the site needs no Sphinx until pages are built."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@of_the_site
def test_every_page_is_two_steps_from_the_index(site: Path) -> None:
    """The steps are links in the text of pages, not in the list beside it; sources are a step further."""
    near = {site / "index.html"}
    for _ in range(2):
        near |= {target for page in near for target in _linked(page)}
    pages = {
        page
        for page in site.rglob("*.html")
        if page.name not in ("genindex.html", "search.html", "py-modindex.html")
    }
    sources = {page for page in pages if page.parent == site / "_modules" or "_modules" in page.parts}
    assert {str(page.relative_to(site)) for page in pages - near - sources} == set()
    linked = {target for page in near for target in _linked(page)}
    assert {str(page.relative_to(site)) for page in sources - linked} == {"_modules/index.html"}


def _linked(page: Path) -> set[Path]:
    """Return the pages of the site to which the text of a page links."""
    text = page.read_text(encoding="utf-8")
    article = re.search(r"<article\b.*?</article>", text, re.DOTALL)
    links = re.findall(r'href="([^":#]+\.html)', article[0] if article else "")
    return {target for link in links if (target := (page.parent / link).resolve()).exists()}


#: What a page shows of what it describes: pictures drawn at each build, and pages made by its commands.
SHOWN = {
    "index": ["first-picture"],
    "problems": ["evolution", "partition", "workload", "reservation", "placement"],
    "whatif": ["whatif-waits", "whatif-time", "examples/whatif.html"],
    "report": ["report-gaps", "report-profile", "examples/report.html"],
    "when": ["when"],
    "networks": ["networks"],
    "gap": ["gaps"],
}


@of_the_site
@pytest.mark.parametrize("page", SHOWN)
def test_a_page_shows_what_it_describes(site: Path, page: str) -> None:
    text = (site / f"{page}.html").read_text(encoding="utf-8")
    for shown in SHOWN[page]:
        if shown.endswith(".html"):
            assert f'href="{shown}"' in text
            assert "</html>" in (site / shown).read_text(encoding="utf-8")
            continue
        (picture,) = re.findall(rf'src="([^"]*/{shown}\.svg)"', text)
        assert "<title>" in (site / picture).read_text(encoding="utf-8")


@of_the_site
def test_each_page_of_the_reference_begins_with_a_table_of_its_names(site: Path) -> None:
    for task in _module("conf").TASKS:
        text = (site / "reference" / f"{task['page']}.html").read_text(encoding="utf-8")
        (table,) = re.findall(r'<table class="summary.*?</table>', text, re.DOTALL)
        listed = re.findall(
            r'<tr class="row-\w+"><td>.*?href="#([^"]+)".*?<td><p>(.*?)</p>', table, re.DOTALL
        )
        described = re.findall(r'<dt class="[^"]*" id="(allocsolve\.\w+\.\w+)"', text)
        assert sorted(name for name, _ in listed) == sorted(described)
        assert [name for name, words in listed if not words] == []


@of_the_site
def test_the_first_page_has_four_cards(site: Path) -> None:
    text = (site / "index.html").read_text(encoding="utf-8")
    (cards,) = re.findall(r'<ul class="cards[^"]*">.*?</ul>', text, re.DOTALL)
    assert re.findall(r'href="(\w+)\.html"', cards) == ["heuristic", "clients", "whatif", "gate"]


@of_the_site
def test_code_has_buttons_that_copy_it_without_prompts(site: Path) -> None:
    assert "copybutton.js" in (site / "start.html").read_text(encoding="utf-8")
    prompt = re.compile(_module("conf").copybutton_prompt_text)
    for line, typed in ((">>> f(1)", "f(1)"), ("... 2)", "2)"), ("$ ls", "ls"), ("> -l", "-l")):
        assert prompt.sub("", line, count=1) == typed


def test_terms_of_the_glossary_are_used() -> None:
    """Sphinx finds a term that the glossary lacks; this one finds terms that lead nowhere from any page."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{glossary\}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    terms = {line for block in blocks for line in block.splitlines() if line and not line.startswith(" ")}
    pages = [page.read_text(encoding="utf-8") for page in DOCS.glob("*.md")]
    used = {term.lower() for page in pages for term in re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", page)}
    assert {"solution", "verifier", "maintenance window", "reconfiguration point"} <= terms
    assert used <= {term.lower() for term in terms}


@of_the_site
def test_schemas_are_part_of_the_site(site: Path) -> None:
    written = {file.name: file.read_text(encoding="utf-8") for file in (site / "schema").iterdir()}
    assert written == {f"{kind}.schema.json": schema_text(schema) for kind, schema in schemas().items()}


@of_the_site
def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    elsewhere = {
        "*.html": r"""<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=["']?(?:https?:)?//[^>]*""",
        "*.css": r"url\(['\"]?(?:https?:)?//",
    }
    for files, loaded in elsewhere.items():
        pages = list(site.rglob(files))
        assert pages
        assert [page for page in pages if re.search(loaded, page.read_text(encoding="utf-8"))] == []


def test_tables_are_those_of_schemas_and_families() -> None:
    """`python docs/format_tables.py` writes them."""
    page, tables = (DOCS / "formats.md").read_text(encoding="utf-8"), _module("format_tables")
    assert tables.written(page) == page
    assert page.count(tables.FIELDS) == 1
    page = (DOCS / "trust.md").read_text(encoding="utf-8")
    assert page.count("| certificate | problems |") == 1
    assert _module("format_tables").with_kinds(page) == page


# --- Examples -----------------------------------------------------------------------------------------


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def _output(*argv: object, cwd: Path, **variables: str) -> str:
    where = {"PYTHONPATH": str(Path(allocsolve.__file__).parents[1]), **variables}
    printed, said = python(*argv, cwd=cwd, status=0, **where)
    assert without_compiling(said) == ""
    return printed


def _shown(name: str, cwd: Path, *argv: str) -> str:
    return _output("-W", "error", EXAMPLES / name, *argv, cwd=cwd)


def _percents(line: str) -> list[float]:
    return [float(found) for found in re.findall(r"([\d.]+)%", line)]


def test_each_is_run_here_and_named_in_the_readme() -> None:
    scripts = {path.name for path in EXAMPLES.glob("*.py")}
    here = set(re.findall(r'"(\w+\.py)"', Path(__file__).read_text(encoding="utf-8")))
    assert scripts <= here
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(\w+\.py)`", text)) == scripts


def test_my_heuristic_is_between_the_optimum_and_the_published_one(tmp_path: Path) -> None:
    first, _, *table = _shown("my_heuristic.py", tmp_path).splitlines()
    assert first == "LongestFirst keeps the contract of solvers."
    gaps = {line.split()[0]: _percents(line) for line in table}
    assert gaps["cpsat"] == [0, 0]
    assert 0 < gaps["my_heuristic:LongestFirst"][0] < gaps["noX"][0]


def test_event_loop_trades_waste_for_waiting(tmp_path: Path) -> None:
    lines = _shown("event_loop.py", tmp_path).splitlines()
    assert re.match(r" *\d+ s  job 0 arrives, starts in 0 s", lines[0])
    rows = [line.split() for line in lines[-4:]]
    assert [row[0] for row in rows] == ["1", "1.5", "2", "inf"]
    wasted = [_percents(row[-1])[0] for row in rows]
    assert wasted[0] == 0 < wasted[1] < wasted[2] < wasted[3]
    assert float(rows[2][1]) < float(rows[0][1])


def test_spreading_jobs_over_nodes_costs_most(tmp_path: Path) -> None:
    _, _, *rows = _shown("places.py", tmp_path, "--jobs", "3000", "--load", "1.0").splitlines()
    waits = {row.split()[0]: float(row[18:30].replace(",", "")) for row in rows}
    assert waits["counted"] < max(waits.values()) == waits["least-loaded"]


def test_settings_of_backfill_wait_no_less_than_the_bound(tmp_path: Path) -> None:
    """At times when many jobs wait, a pass that looks at few of them makes jobs wait longer."""
    jobs = [
        f"{job} {600 * (job // 60) * 60 + job} -1 {300 + 37 * (job % 11)} {1 + 5 * job % 13} -1 -1 -1 "
        f"{900 + 600 * (job % 7)} -1 1 1 1 -1 -1 -1 -1 -1"
        for job in range(1800)
    ]
    (tmp_path / "small.swf").write_text("\n".join(["; MaxNodes: 16", *jobs]), "utf-8")
    shown = _shown("backfill_settings.py", tmp_path, "small.swf", "--seconds", "0.5")
    head, bounds, _, _, _, *rows = shown.splitlines()
    assert head == "small.swf: 1,800 jobs on 16, 2 weeks"
    bound, best = (float(found) for found in re.findall(r"([\d.]+) min", bounds))
    cells = [row.split(" | ") for row in rows if row]
    means = {name.removeprefix("| "): float(mean.split()[0]) for name, mean, *_ in cells}
    assert len(means) == 19
    assert 0 <= bound <= best <= min(means.values())
    assert means["bf_max_job_test=10"] > means["Slurm's defaults"]
    assert means["bf_max_job_test=2000"] == means["Slurm's defaults"]
    assert re.search(r"\| [+-][\d.]+ % \([+-][\d.]+ to [+-][\d.]+\) \| (yes|no) \|$", rows[1])


def test_the_page_on_backfill_shows_what_its_example_prints(traces: Path, tmp_path: Path) -> None:
    names = ("KTH-SP2-1996-2.1-cln.swf.gz", "KIT-FH2-2016-1-first25326.swf.gz")
    logs = [str(trace(traces, name)) for name in names]
    page = (DOCS / "backfill.md").read_text(encoding="utf-8").replace("`", "")
    printed = _shown("backfill_settings.py", tmp_path, *logs, "--seconds", "0.5")
    shown, rows = ([line for line in text.splitlines() if line[:1] == "|"] for text in (page, printed))
    assert shown == rows


def test_who_knows_more_of_the_future_waits_less(tmp_path: Path) -> None:
    options = ("--jobs", "40", "--loads", "0.8", "--seconds", "0.5")
    head, *rows, proven = _shown("knowing.py", tmp_path, *options).splitlines()
    assert head.endswith("of 1 problems")
    assert proven.startswith("0 of 1 ")
    seconds = {row[:24].strip(): float(row[24:].split()[0]) for row in rows}
    reserved, following, planned = (
        seconds[name] for name in ("reserved, no step", "reserved, next step", "planned, all steps")
    )
    assert seconds["bound"] < min(seconds["offline"], planned) <= planned < following < reserved
    assert seconds["safe, all steps"] < reserved


@pytest.mark.parametrize(
    ("options", "firsts"),
    [
        (("--walls", "0", "0.3"), ["1.2, 0%", "1.2, 30%"]),
        (("--resources", "1", "2", "--windows", "2"), ["1, 2, 1.2", "2, 2, 1.2"]),
    ],
    ids=["plain", "machines"],
)
def test_bounds_are_below_the_optimum_and_schedules_above(
    options: tuple[str, ...], firsts: list[str], tmp_path: Path
) -> None:
    small = ("--jobs", "6", "--nodes", "8", "--loads", "1.2", "--seeds", "1", *options)
    head, _, *rows, versions = _shown("gap_to_optimum.py", tmp_path, *small).splitlines()
    names = [name.strip() for name in head.strip("|").split("|")][1:]
    assert [row.split("|")[1].strip() for row in rows] == firsts
    for row in rows:
        for name, cell in zip(names, row.strip("|").split("|")[1:], strict=True):
            mean, worst = (float(part.strip(" ()")) for part in cell.split("("))
            assert worst <= mean <= 1 if name.startswith("bound") else 1 <= mean <= worst
    assert "ortools" in versions


def test_no_rule_is_nearer_than_the_nearest_nodes(tmp_path: Path) -> None:
    options = ("--machines", "nvl72", "--occupancies", "u.5", "--snapshots", "3", "--turnovers", "2")
    gaps, *left, domains, dragonflies = _shown("placement_rules.py", tmp_path, *options).strip().split("\n\n")
    rows = {row[:26].strip(): row[26:].split() for row in gaps.splitlines()[2:]}
    assert float(rows["random"][0]) > float(rows["lowest switch, best fit"][0]) >= 0
    assert all(float(mean) >= 0 for mean, *_ in rows.values() if mean != "all")
    assert len(left) == 2
    for table in left:
        for row in table.splitlines()[2:]:
            share, *costs = row[26:].split()
            assert share.endswith("%")
            assert all(float(cost) >= 1 for cost in costs)
    assert len(domains.splitlines()) == 6
    assert all(float(row.split("mean ")[1].split()[0]) >= 0 for row in dragonflies.splitlines()[1:])


def test_an_allocator_by_distance_has_closer_jobs(tmp_path: Path) -> None:
    head, *rows = _shown("simulator_mask.py", tmp_path).splitlines()
    assert "mean pairwise distance" in head
    listed, nearest = (float(re.findall(r"([\d.]+) hops", row)[0]) for row in rows)
    assert 0 < nearest < listed
    assert _percents(rows[0]) == _percents(rows[1])


def test_an_agent_learns_and_is_judged_on_later_jobs(tmp_path: Path) -> None:
    """The same weights each time; on jobs that it has not seen it is better than the head and EASY."""
    lines = _shown("learning.py", tmp_path, "--ppo", "0").splitlines()
    assert [line.split(":")[0] for line in lines[:8]] == [f"generation {one}" for one in range(1, 9)]
    assert lines[8].startswith("weights: nodes ")
    assert lines[9] == "MaskablePPO: skipped, no steps"
    assert lines[10].startswith("jobs 1500 to 1999: ")
    bound = float(re.findall(r"below (\d+) s", lines[10])[0])
    values = {row[:14].strip(): float(row[14:].split()[0]) for row in lines[11:]}
    assert bound < values["linear agent"] < min(values[name] for name in ("fcfs", "first-fit", "easy"))


def test_a_search_finds_a_policy(tmp_path: Path) -> None:
    """It begins at the best of the known ones, and what it writes can be evaluated again."""
    options = ("--generations", "1", "--windows", "2", "--jobs", "50", "--held-out", "2")
    first, *generations, heads, found, easy, _, _, _, f2, _, _ = _shown(
        "evolve_policy.py", tmp_path, *options
    ).splitlines()
    assert first.startswith("begins at easy(order=")
    assert [line.split(":")[0] for line in generations] == ["generation 1"]
    assert heads.startswith("on 2 held-out windows")
    assert (found.split()[0], easy.split()[0], f2.split()[0]) == ("best_policy.py", "easy", "easy(order=f2)")
    assert 0 < float(found.split()[1]) <= 1
    assert re.search(r"[012] of 2 +\S+$", f2)
    assert "LIMIT, NODES, AGE, TRUST = " in (tmp_path / "best_policy.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("order", ["f2", "f3", "f4", "shortest-estimate", "smallest-area"])
def test_the_formula_holds_known_policies(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The points at which the search may begin decide as the policies that they are said to be."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    evolved, evolve = (importlib.import_module(name) for name in ("evolved_policy", "evolve_policy"))
    name = f"easy(order={order})"
    for constant, value in zip(("LIMIT", "NODES", "AGE", "TRUST"), evolve.POINTS[name], strict=True):
        monkeypatch.setattr(evolved, constant, value)
    rng = np.random.default_rng(1)
    runtimes = rng.integers(10, 5000, 150)
    log = WorkloadProblem(
        16, Jobs(np.cumsum(rng.integers(0, 500, 150)), rng.integers(1, 17, 150), runtimes, 2 * runtimes)
    )
    found = simulate(log, evolved.policy)
    assert found.starts.tolist() == simulate(log, named_policy(name)).starts.tolist()
    assert found.starts.tolist() != simulate(log, named_policy("easy")).starts.tolist()


def test_a_search_for_programs_is_given_numbers(tmp_path: Path) -> None:
    """Without OpenEvolve they come as the dict that it takes as well."""
    (tmp_path / "logs").mkdir()
    write_problem(lublin1999(1, num_jobs=2400), tmp_path / "logs" / "log.json")
    program = (EXAMPLES / "openevolve_evaluator.py", EXAMPLES / "evolved_policy.py")
    metrics = ast.literal_eval(_output(*program, cwd=tmp_path, POLICY_LOGS=str(tmp_path / "logs")))
    assert 0 < metrics["worst_window"] <= metrics["combined_score"] <= 1 == metrics["finished"]


@pytest.mark.skipif(importlib.util.find_spec("sb3_contrib") is not None, reason="sb3-contrib is installed")
def test_without_a_learner_the_example_says_so(tmp_path: Path) -> None:
    sys.path.insert(0, str(EXAMPLES))
    code = "import learning; print(learning.network(None, 9))"
    printed = _output("-c", code, cwd=tmp_path, PYTHONPATH=os.pathsep.join(sys.path))
    expected = "MaskablePPO: skipped, sb3-contrib is not installed (pip install sb3-contrib)"
    assert printed.splitlines() == [expected, "None"]


@pytest.mark.parametrize("name", ["embed_loop.py", "embed_simpy.py"])
def test_simulators_start_jobs_when_the_engine_does(name: str, tmp_path: Path) -> None:
    printed = _shown(name, tmp_path)
    assert f"```text\n{printed}```" in (DOCS / "embed.md").read_text(encoding="utf-8")
    started = re.findall(r"(\d+) of (\d+) (?:jobs )?start as in the engine\n", printed)
    assert started
    assert all(same == of for same, of in started)


def test_simpy_starts_jobs_when_the_engine_does(tmp_path: Path) -> None:
    first, second = _shown("simpy_cluster.py", tmp_path).splitlines()
    assert first.startswith("500 jobs, mean wait ")
    assert second == "500 start when they do in the engine under 'conservative'"


def test_a_broker_that_gives_nodes_back_refuses_fewer(tmp_path: Path) -> None:
    kept, given_back = (
        [int(number) for number in re.findall(r"(\d+) ", line)]
        for line in _shown("simpy_broker.py", tmp_path).splitlines()
    )
    assert sum(kept) == sum(given_back) == 1000
    assert given_back[0] > kept[0]
    assert given_back[2] < kept[2]


def test_a_person_in_the_loop_shortens_the_longest_wait(tmp_path: Path) -> None:
    *steps, _, _, impatient, _, _, alone = _shown("engine_steps.py", tmp_path).splitlines()
    assert len(steps) == 6
    assert all(re.search(r" s  \d+ wait, \d+ nodes are free: start \[", step) for step in steps)
    shown = [
        [float(number) for number in re.findall(r"([\d.]+) [sh]", row[8:])] for row in (impatient, alone)
    ]
    assert shown[0][0] > shown[1][0]
    assert shown[0][1] < shown[1][1]


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no Rscript")
def test_r_gets_a_schedule_back(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "allocsolve"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m allocsolve "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    where = environment(PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    command = ["Rscript", str(EXAMPLES / "schedule.R")]
    printed = subprocess.run(command, cwd=tmp_path, env=where, check=True, stdout=subprocess.PIPE, text=True)
    assert printed.stdout.splitlines()[:2] == ["noX makespan 6300 s", "cpsat makespan 5100 s"]


def test_the_table_of_the_r_example_is_read(tmp_path: Path) -> None:
    """The columns that R writes, as far as they can be known without it."""
    text = (EXAMPLES / "schedule.R").read_text(encoding="utf-8")
    frame = text[text.index("data.frame(") : text.index("write.csv")]
    columns = {
        name: [cell.strip(' "') for cell in cells.split(",")]
        for name, cells in re.findall(r"(\w+) = c\(([^)]*)\)", frame)
    }
    assert "num_nodes = 12" in frame
    rows = [",".join([*cells, "12"]) for cells in zip(*columns.values(), strict=True)]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join([",".join([*columns, "num_nodes"]), *rows]), encoding="utf-8")
    assert solve(read_problem(path), "noX").objective == 6300


EXAMPLE: dict[str, Any] = runpy.run_path(str(EXAMPLES / "backfilling.py"), run_name="example")
times = st.integers(1, 9)
jobs = st.lists(st.tuples(st.integers(0, 12), times, times, st.integers(1, 4)), min_size=1, max_size=8)


@given(jobs)
def test_jobs_start_when_the_engine_says(drawn: list[tuple[int, int, int, int]]) -> None:
    rows = sorted((submit, run, max(run, asked), nodes) for submit, run, asked, nodes in drawn)
    starts, _ = EXAMPLE["simulate"](4, [EXAMPLE["Job"](*row) for row in rows])
    problem = WorkloadProblem(4, [Job(submit, nodes, run, asked) for submit, run, asked, nodes in rows])
    assert starts == simulate(problem, Conservative()).first_starts.tolist()


def test_random_jobs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALLOCSOLVE_TRACES", raising=False)
    assert EXAMPLE["main"](["--jobs", "80"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("random jobs: 80 jobs, 128 nodes, ")
    assert out.endswith("violations: 0\n")


def test_a_real_log(traces: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = traces / EXAMPLE["LOG"]
    if not path.is_file():
        pytest.skip(f"no {path.name} among the real logs")
    assert EXAMPLE["main"]([str(path), "--jobs", "1000"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{path.name}: 1000 jobs, 100 nodes, ")
    assert out.endswith("violations: 0\n")


def test_what_cannot_be_read_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["none.swf"], "none.swf: cannot be read"),
        (["--jobs", "0"], "--jobs 0 is below"),
    ):
        with pytest.raises(SystemExit) as stop:
            EXAMPLE["main"](arguments)
        assert stop.value.code == 2
        assert message in capsys.readouterr().err
