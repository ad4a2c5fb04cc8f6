# make run     build .venv from nothing, simulate Robosimian's jump, draw it
# make check   lint, types and the quick tests: before every commit
# make test    lint, types and all tests; what .ci/run calls
# make docs    the documentation as a site in out/site; fails on broken links and gaps
# make results   all of docs/results anew; a second call goes on (6 hours, a part a minute to an hour)
# make campaign MINUTES=10   attempts to break the program: docs/reliability.md
# PYTHON=...   the Python to build .venv with (3.11 or later)
# WORKERS=...  how many processes run tests at once (3: on two cores one waits for its programs)

PYTHON ?= python3
WORKERS := 3
MINUTES := 10
VENV := .venv
BIN := $(VENV)/bin
OUT := out
PYTEST := $(BIN)/python -m pytest --numprocesses $(WORKERS) --dist worksteal
# The matrices are small: more threads slow each other down.
export OMP_NUM_THREADS := 1
# Hundreds of programs that tests start would each compile all modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run check test coverage slow lint format types docs bench results campaign clean environment

help:
	@sed -n '/^#/!q; s/^# //p' Makefile
	@echo "also: lint, format, types, coverage, slow, bench, clean"

run: $(VENV)/run.stamp
	@mkdir -p $(OUT)
	$(BIN)/nmdp-pin run robosimian-jump \
	  --force --out $(OUT)/robosimian-jump.npz --plot $(OUT)/robosimian-jump.png \
	  --html $(OUT)/robosimian-jump.html
	@echo "open $(OUT)/robosimian-jump.html in a browser"

check: lint types
	$(PYTEST) -m "not slow"

test: lint types
	$(PYTEST)

# Python 3.12 and later count lines at little cost, 3.11 takes half as long again.
coverage: $(VENV)/test.stamp
	COVERAGE_CORE=$$($(BIN)/python -c 'import sys; print("sysmon" if sys.version_info >= (3, 12) else "ctrace")') \
	  $(PYTEST) --cov --cov-report=term-missing:skip-covered --cov-fail-under=90

# Measures all tests and lists the slow ones.
slow: $(VENV)/test.stamp
	@mkdir -p $(OUT)
	$(PYTEST) --costs $(OUT)/costs.txt
	$(BIN)/python tools/slow_tests.py --anew $(OUT)/costs.txt

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/test.stamp
	$(BIN)/mypy nmdp_pin

docs: $(VENV)/test.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: $(VENV)/test.stamp
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Continues the last call; PARTS="pbad sand" makes those whose names begin so.
results: $(VENV)/test.stamp
	$(BIN)/python -m tools.results $(PARTS) --out $(OUT)/results

# Continues the last call.
campaign: $(VENV)/test.stamp
	$(BIN)/python -m tools.campaigns --minutes $(MINUTES) --out $(OUT)/campaigns

clean:
	rm -rf $(VENV) $(OUT) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .coverage

# A stamp is newer than pyproject.toml when its packages are installed.
$(VENV)/run.stamp: pyproject.toml | environment
	$(BIN)/python -m pip install --quiet --editable '.[plots]'
	@touch $@

$(VENV)/test.stamp: pyproject.toml | environment
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/run.stamp

# Packages are installed into a virtual environment only.
environment: $(BIN)/python
	@test -f $(VENV)/pyvenv.cfg || { \
	  echo "'$(VENV)' is no virtual environment (no pyvenv.cfg): move it away" >&2; exit 1; }

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or later is needed, but '$(PYTHON)' is not; try: make PYTHON=python3.12" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' || { \
	  echo "'$(PYTHON)' has no venv: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
