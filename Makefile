PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Pytest in as many processes as there are processors; tests that share something costly are run by one of them.
PARALLEL := --numprocesses logical --dist loadgroup --benchmark-disable

# Python keeps its byte code, whatever the shell says: tests start hundreds of processes that import everything.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: score test test-ci test-all times kernels perf lint docs verify clean

# How far is each published heuristic from the proven optimum, or from a certified bound? A few minutes.
score: $(VENV)/.installed
	$(BIN)/allocsolve score klein-5-inf --solvers rigid,noX,2X,2X+c,infX,infX+c --baseline conflict-search --seconds 20 --workers 2 --out out/klein-5
	$(BIN)/allocsolve score klein-10-l1 --solvers rigid,noX --baseline conflict-search --seconds 20 --workers 2 --out out/klein-10
	$(BIN)/allocsolve score mesh-16x8 --solvers manhattan-median,manhattan-median+swaps,growth-best,mc1x1,hilbert-first-fit,random --out out/mesh-16x8
	$(BIN)/allocsolve score lublin-256 --solvers fcfs,first-fit,easy,conservative --seconds 20 --workers 2 --out out/lublin-256
	$(BIN)/allocsolve score linnert-1000 --solvers static-count,static,static-growth,static-literal,greedy --seconds 20 --out out/linnert-1000

# For people, after each edit: what takes less than half a second, with few examples (see tests/tiers.py).
test: kernels
	$(BIN)/python -m pytest $(PARALLEL) --tier fast

# For each submission: all but what takes minutes, and what it covers.
test-ci: kernels
	$(BIN)/python -m pytest $(PARALLEL) --tier ci --cov --cov-report=term --durations=30

# Before a release: everything with full counts. Times are held to each other in tests/perf, with nothing beside them.
test-all: kernels
	$(BIN)/python -m pytest $(PARALLEL) --tier all --ignore=tests/perf --cov --cov-report=term --durations=30
	$(BIN)/python -m pytest tests/perf --benchmark-disable

# Which test is in which tier: run after tests were added that take longer than half a second.
times: kernels
	$(BIN)/python -m pytest $(PARALLEL) --ignore=tests/perf --record-times

# Compiled once and cached, side by side on all processors.
kernels: $(VENV)/.installed-dev
	$(BIN)/allocsolve warm

# Benchmarks with fixed work; see tests/perf.
perf: $(VENV)/.installed-dev
	$(BIN)/python -m pytest tests/perf --benchmark-only

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/repo-review --show err .
	$(BIN)/zizmor --offline --no-progress --quiet .github action.yml

# The site: docs/_build/html/index.html
docs: $(VENV)/.installed-dev
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going docs docs/_build/html

# All proofs, their assumptions, and the checker: verified/build/allocsolve-verified. Needs Debian's coq and ocaml-nox.
verify:
	$(MAKE) --directory verified

clean:
	$(MAKE) --directory verified clean
	rm -rf $(VENV) .coverage out docs/_build docs/pictures docs/reference .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

# Dependency groups need pip 25.1.
$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "pybatsim>=3.2.1"
	touch $@ $(VENV)/.installed
