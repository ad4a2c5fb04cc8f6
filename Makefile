# make run     build .venv from nothing, simulate Robosimian's jump, draw it
# make test    lint, types and tests, the same way
# PYTHON=...   the Python to build .venv with (3.11 or later)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT := out
# The matrices are small: more threads only get in each other's way.
export OMP_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help run test lint format types bench clean

help:
	@sed -n '/^#/!q; s/^# //p' Makefile
	@echo "also: lint, format, types, bench, clean"

run: $(VENV)/run.stamp
	@mkdir -p $(OUT)
	$(BIN)/nmdp-pin run robosimian-jump --integrator ne-nmdp --dt 0.05 \
	  --out $(OUT)/robosimian-jump.npz --plot $(OUT)/robosimian-jump.png \
	  --html $(OUT)/robosimian-jump.html
	@echo "open $(OUT)/robosimian-jump.html in a browser"

test: lint types
	$(BIN)/python -m pytest --cov --cov-report=term-missing:skip-covered --cov-fail-under=90

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/test.stamp
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/test.stamp
	$(BIN)/mypy nmdp_pin viz experiments

bench: $(VENV)/test.stamp
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) $(OUT) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .coverage

# A stamp is newer than pyproject.toml when what it lists is installed.
$(VENV)/run.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[plots]'
	@touch $@

$(VENV)/test.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/run.stamp

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or later is needed, but '$(PYTHON)' is not; try: make PYTHON=python3.12" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' || { \
	  echo "'$(PYTHON)' has no venv: apt install python3-venv" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
