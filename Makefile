# evenpace: `make demo` and `make test` set up what they need in .venv and run on Linux with Python 3.11 or newer.

PYTHON ?= python3
# The job brings its own torch in real use; demo, tests and benches take this one.
TORCH ?= torch==2.13.0
VENV := .venv
BIN := $(VENV)/bin
# Failure logs with right answers, one folder each.
CASES ?= tests/diagnose/cases
# Quiet twice: errors only.
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test lint docs reference bench-audit bench-cases bench-diagnose bench-failslow bench-faults bench-library bench-overhead bench-recovery bench-zero-touch clean

help:
	@echo "make demo              set up, train a small GPT on four emulated nodes, disturb it, show the report"
	@echo "make test              set up and run linters, type checker and tests"
	@echo "make lint              ruff, mypy and import-linter only"
	@echo "make docs              build the documentation into site/"
	@echo "make reference         write docs/reference/ anew from the code"
	@echo "make bench-audit       an audit of 7,100 nodes and 40,000 pods, beside kubectl get of the same objects"
	@echo "make bench-cases       diagnoses of failure logs against the right answers (CASES=folder of cases)"
	@echo "make bench-diagnose    how fast a gigabyte of logs over 512 files is read"
	@echo "make bench-failslow    slow GPUs and links: found, measured, eased, taken back (half an hour; links need root)"
	@echo "make bench-faults      every fault at many seeds: verdicts, times, false alarms"
	@echo "make bench-library     search over 100,000 synthetic incidents, and how fast the real library opens"
	@echo "make bench-overhead    iteration time with and without evenpace, in interleaved pairs"
	@echo "make bench-recovery    how soon training goes on after a crash or a hang, and what is repeated"
	@echo "make bench-zero-touch  iteration times against the timers of unchanged scripts in four layouts"
	@echo "make clean             remove .venv and everything that was built"

demo: $(VENV)/ready
	$(BIN)/evenpace demo

test: lint
	$(BIN)/python -m pytest

lint: $(VENV)/ready-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/ready-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

reference: $(VENV)/ready
	$(BIN)/python scripts/generate_reference.py
	$(BIN)/python scripts/generate_rbac.py

bench-audit: $(VENV)/ready
	$(BIN)/python benchmarks/audit.py --write

bench-cases: $(VENV)/ready
	$(BIN)/python benchmarks/diagnose_cases.py $(CASES) --write

bench-diagnose: $(VENV)/ready
	$(BIN)/python benchmarks/diagnose.py --write

FAILSLOW := detection reaction validation microbatches topology story replay
bench-failslow: $(VENV)/ready-dev
	@missed=; for part in $(FAILSLOW); do \
	  echo "== $$part"; $(BIN)/python benchmarks/failslow/$$part.py --write || missed="$$missed $$part"; \
	done; test -z "$$missed" || { echo "bars missed in:$$missed"; exit 1; }

bench-faults: $(VENV)/ready
	$(BIN)/python benchmarks/faults.py --write

bench-library: $(VENV)/ready
	$(BIN)/python benchmarks/library.py --write

bench-overhead: $(VENV)/ready
	$(BIN)/python benchmarks/overhead.py --write

bench-recovery: $(VENV)/ready
	$(BIN)/python benchmarks/recovery.py --write

bench-zero-touch: $(VENV)/ready
	$(BIN)/python benchmarks/zero_touch.py --write

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# Set-up: one stamp a stage, made again when the dependencies change.

OLD := import sys; sys.exit(sys.version_info < (3, 11))
HINT := choose another, as in: make $(MAKECMDGOALS) PYTHON=python3.12

$(VENV)/made:
	@command -v $(PYTHON) >/dev/null || { echo "there is no $(PYTHON) here; $(HINT)" >&2; exit 1; }
	@$(PYTHON) -c '$(OLD)' || { echo "evenpace needs Python 3.11 or newer, $(PYTHON) is older; $(HINT)" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "$(PYTHON) has no venv module; install it, as in: apt-get install python3-venv" >&2; exit 1; }
	@echo "setting up $(VENV); the first time takes minutes"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/ready: $(VENV)/made pyproject.toml
	$(PIP) install --editable . "$(TORCH)"
	@touch $@

$(VENV)/ready-dev: $(VENV)/ready
	$(PIP) install --editable ".[dev]"
	@touch $@

$(VENV)/ready-docs: $(VENV)/made pyproject.toml
	$(PIP) install --editable ".[docs]"
	@touch $@
