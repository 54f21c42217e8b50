# Everything runs in .venv, which any target makes when it is missing or out of date.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# The first interpreter that is there, runs and is new enough; make PYTHON=... decides otherwise.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
  $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
STAMP := .venv/.made
TWO := --numprocesses=2 --dist=loadscope
CODE := src papers benchmarks tests examples

.PHONY: help env java demo test test-fast test-papers explore lint format docs bench lock clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | \
	  while IFS='|' read -r name text; do printf '  make %-12s %s\n' "$$name" "$$text"; done

env: $(STAMP) ## make the environment in .venv

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || \
	  { echo "Rheostat needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python3.11" >&2; exit 1; }
	"$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

java: $(STAMP)
	@.ci/java $(BIN)/python -c 'from rheostat.spark.java import main; main()'

demo: java ## watch a promise about latency kept under a surge, on local Spark (under two minutes)
	$(BIN)/rheostat demo

test: lint java ## lint, types, import directions, the docs build, and all tests but the papers' (under 15 minutes)
	$(BIN)/python -m pytest -m "not papers" $(TWO) --no-loadscope-reorder

test-fast: $(STAMP) ## the tests without Spark and simulator (under 2 minutes)
	$(BIN)/python -m pytest -m "not slow and not spark and not simulated and not papers" $(TWO) --hypothesis-profile=fast

test-papers: $(STAMP) ## the tests that run the papers' evaluations
	$(BIN)/python -m pytest -m papers $(TWO)

explore: $(STAMP) ## the tests without Spark, with random examples that are new in every run
	$(BIN)/python -m pytest -m "not slow and not spark and not papers" $(TWO) --hypothesis-profile=explore

lint: $(STAMP) ## ruff, mypy and import-linter
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## let ruff put the code in order
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

docs: $(STAMP) ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: java ## all benchmarks, as JSON (about six hours)
	for overlap in 60 12 1; do $(BIN)/rheostat bench windows --overlap $$overlap --json; done
	$(BIN)/rheostat bench multiwindow --json
	for kind in append update keyed; do $(BIN)/rheostat bench growth --kind $$kind --json; done
	$(BIN)/rheostat bench state --json
	$(BIN)/rheostat bench rescale --json
	$(BIN)/rheostat bench skew --json
	$(BIN)/rheostat bench shuffle --json
	$(BIN)/rheostat bench law --json
	$(BIN)/rheostat bench slo --json
	$(BIN)/rheostat bench floor --json
	$(BIN)/rheostat bench observations --json
	$(BIN)/rheostat bench nexmark --json
	$(BIN)/rheostat bench layouts --json
	$(BIN)/rheostat bench fusion --json
	$(BIN)/rheostat bench migration --json
	$(BIN)/rheostat bench homes --json
	$(BIN)/rheostat bench autoscale --json

lock: ## resolve the dependencies of pyproject.toml anew into requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --extra dev --extra docs --no-header --no-emit-index-url \
	  --no-annotate pyproject.toml -o requirements.lock

# Compiled loops are cached as *.nbi and *.nbc; a cache does not notice a change in a function of another file.
# Reports stay: they are results of yours, not leftovers of a build.
clean: ## remove everything that make and the tests left
	find $(CODE) -name '*.nb[ic]' -delete
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
	find src -name '*.egg-info' -type d -prune -exec rm -rf {} +
	rm -rf .venv site build dist spark-warehouse metastore_db derby.log
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
