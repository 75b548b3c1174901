# Everything runs in a virtual environment of its own, .venv; nothing else is touched.
# Plain enough for GNU make 3.81, the one macOS ships.

PYTHON = python3
PYTEST_ARGS = -n 2 --dist worksteal
BENCH_ARGS =
BIN = .venv/bin

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help demo test lint format bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: .venv/installed ## fit a partly labelled corpus, print its topics, write demo/report.html
	@$(BIN)/cofactor demo --report demo/report.html

test: lint ## lint, then run the tests (PYTEST_ARGS replaces the options of pytest)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: .venv/installed-dev ## check format, lint, types and the layers of the package
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/installed-dev ## format the code and mend what the linter can mend
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: .venv/installed ## run the benchmarks (BENCH_ARGS goes to them)
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

clean: ## remove the virtual environment, caches and built files
	rm -rf .venv build dist .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: a change of pyproject.toml installs again, a second run does not.

.venv/installed: .venv/bin/python pyproject.toml
	@echo "Installing cofactor into .venv (the first time takes a minute or two)"
	@$(BIN)/python -m pip install --quiet --editable '.[report]'
	@touch $@

.venv/installed-dev: .venv/bin/python pyproject.toml
	@echo "Installing cofactor and its development tools into .venv (the first time takes a minute or two)"
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch .venv/installed $@

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "cofactor needs Python 3.11 or newer: install one and name it, for example 'make test PYTHON=python3.12'." >&2; \
	  exit 1; }
	@$(PYTHON) -m venv .venv >/dev/null 2>&1 || { \
	  rm -rf .venv; $(PYTHON) -m virtualenv --quiet .venv 2>/dev/null; } || { \
	  rm -rf .venv; \
	  echo "$(PYTHON) cannot create a virtual environment: run 'sudo apt install python3-venv' (Debian, Ubuntu) or '$(PYTHON) -m pip install --user virtualenv' (elsewhere), then make again." >&2; \
	  exit 1; }
