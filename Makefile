# One command each, the same on a laptop and in CI. `make demo` and `make test` need Python 3.11 or newer and make; they
# set up .venv by themselves, once. PYTHON=/path/to/python chooses the interpreter that .venv is made from.

PYTHON ?= $(shell command -v python3.11 || command -v python3 || command -v python)
EXTRAS ?= openai,fast,charts
BIN := .venv/bin
READY := .venv/.ready
DEMO := tests/data/demo-session.jsonl
# Small budgets, so that the small demo session has something to compact and its last turn is split.
DEMO_OPTIONS := --context-window 24000 --reserve-tokens 6000 --keep-recent-tokens 2000
NO_KEYS := env -u ANTHROPIC_API_KEY -u OPENAI_API_KEY

.PHONY: venv demo test check bench golden readme clean

venv: $(READY)

$(READY): pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: expected Python 3.11 or newer, found none; install python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "make: expected Python 3.11 or newer, found $$("$(PYTHON)" -V) at $(PYTHON); set PYTHON=..." >&2; exit 1; }
	@test -x $(BIN)/python || "$(PYTHON)" -m venv .venv || \
	  { echo "make: $(PYTHON) can't make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@echo "make: installing into .venv (once)" >&2
	@$(BIN)/python -m pip install --quiet 'pip>=25.1'
	@$(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]' --group dev
	@touch $@

demo: $(READY)
	@echo '$$ compactor plan $(DEMO) $(DEMO_OPTIONS)' && $(NO_KEYS) $(BIN)/compactor plan $(DEMO) $(DEMO_OPTIONS)
	@echo && echo '$$ compactor compact $(DEMO) $(DEMO_OPTIONS)' && \
	  $(NO_KEYS) $(BIN)/compactor compact $(DEMO) $(DEMO_OPTIONS)
	@echo && echo '$$ compactor compact $(DEMO) $(DEMO_OPTIONS) --json' && \
	  $(NO_KEYS) $(BIN)/compactor compact $(DEMO) $(DEMO_OPTIONS) --json

test: $(READY)
	@$(NO_KEYS) $(BIN)/python -m pytest -n 2

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --quiet tests/test_architecture.py
	$(BIN)/python tests/readme_help.py --check

bench: $(READY)
	$(NO_KEYS) $(BIN)/python -m pytest tests/bench --benchmark-only

golden: $(READY)
	COMPACTOR_WRITE_GOLDEN=1 $(NO_KEYS) $(BIN)/python -m pytest tests/test_golden.py

readme: $(READY)
	$(BIN)/python tests/readme_help.py --write

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks .coverage
