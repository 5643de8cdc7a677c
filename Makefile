PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: score test perf lint docs clean

# How far is each published heuristic from the proven optimum? Small instances, a minute or two.
score: $(VENV)/.installed
	$(BIN)/allocsolve score klein-5-inf --solvers rigid,noX,2X,2X+c,infX,infX+c --seconds 20 --workers 2 --out out/klein-5
	$(BIN)/allocsolve score klein-10-l1 --solvers rigid,noX --seconds 20 --workers 2 --out out/klein-10
	$(BIN)/allocsolve score mesh-16x8 --solvers manhattan-median,manhattan-median+swaps,growth-best,mc1x1,hilbert-first-fit,random --out out/mesh-16x8

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

# Benchmarks with fixed work; see tests/perf.
perf: $(VENV)/.installed-dev
	$(BIN)/python -m pytest tests/perf --benchmark-only

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The site: docs/_build/html/index.html
docs: $(VENV)/.installed-dev
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going docs docs/_build/html

clean:
	rm -rf $(VENV) out docs/_build docs/reference .mypy_cache .pytest_cache .ruff_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

# Dependency groups need pip 25.1.
$(VENV)/.installed-dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	touch $@ $(VENV)/.installed
