# Everything runs in a virtual environment of its own, .venv; nothing else is touched.
# Plain enough for GNU make 3.81, the one macOS ships.

PYTHON = python3
PYTEST_ARGS = -n 2 --dist worksteal
BENCH_ARGS =
MUTATION_ARGS =
DOCS_ARGS =
FUZZ_COUNT = 2000
FUZZ_SEED = 0
BIN = .venv/bin
LOWEST = .venv-lowest/bin
NIGHTLY = .venv-nightly/bin
EXTRAS = app,dask,encoder,excel,plot,report,sc
KERNELS = CMakeLists.txt $(wildcard src/cofactor/engine/kernels/native/*.[ch])

# Tests that need more than this process and a moment; the markers are explained in pyproject.toml.
QUICK = -m "not (subprocess or cluster or browser or slow or conformance)" --ignore tests/estimators/test_conformance.py
# Fewer drawn problems for the test that no iteration raises the objective, and at most four cases of
# each test; `make test` runs all.
QUICKLY = COFACTOR_EXAMPLES=10 COFACTOR_CASES=4
# scikit-learn's checks, the commands of the README, two pages of the documentation, a cluster, a report and figures.
PAGES = 'tests/docs/test_pages.py::test_the_blocks_of_a_page_run[five_minutes.md]' 'tests/docs/test_pages.py::test_the_blocks_of_a_page_run[guide/beyond_memory.md]'
END_TO_END = -m "not conformance" tests/estimators/test_conformance.py tests/test_readme.py $(PAGES) tests/distributed/test_bits.py tests/report/test_html.py tests/experiments/test_quick.py

export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help demo docs quick test conformance mutations lowest coverage fuzz lint format native sanitize bench nightly wheels test-wheel clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: .venv/installed ## fit a partly labelled corpus, print its topics, write demo/report.html
	@$(BIN)/cofactor demo --report demo/report.html

docs: native .venv/installed-gallery ## build the documentation into docs/_build/html (DOCS_ARGS="-D plot_gallery=0" runs no example)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --jobs auto $(DOCS_ARGS) docs docs/_build/html
	@echo "Open docs/_build/html/index.html."

quick: native ## run the quick tests only: about a minute
	$(QUICKLY) $(BIN)/python -m pytest $(PYTEST_ARGS) $(QUICK)

test: lint native ## lint, then run all tests but the conformance product
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m "not conformance"

conformance: native ## run scikit-learn's checks on every estimator, loss and solver
	$(BIN)/python -m pytest $(PYTEST_ARGS) tests/estimators/test_conformance.py

mutations: native ## put known defects into the sources; the tests must notice each
	$(BIN)/python tests/mutations.py $(MUTATION_ARGS)

fuzz: native ## use damaged row blocks, checkpoints, models, encoders and requests (FUZZ_COUNT, FUZZ_SEED)
	$(BIN)/python tests/fuzz.py rowblocks --count $(FUZZ_COUNT) --seed $(FUZZ_SEED) --jobs 2
	$(BIN)/python tests/fuzz.py checkpoints --count $(FUZZ_COUNT) --seed $(FUZZ_SEED) --jobs 2
	$(BIN)/python tests/fuzz.py models --count $(FUZZ_COUNT) --seed $(FUZZ_SEED) --jobs 2
	$(BIN)/python tests/fuzz.py encoders --count $(FUZZ_COUNT) --seed $(FUZZ_SEED) --jobs 2
	$(BIN)/python tests/fuzz.py requests --count $(FUZZ_COUNT) --seed $(FUZZ_SEED)

lowest: .venv-lowest/installed ## run quick and end-to-end tests with the lowest versions declared
	$(QUICKLY) $(LOWEST)/python -m pytest $(PYTEST_ARGS) $(QUICK)
	$(LOWEST)/python -m pytest $(PYTEST_ARGS) $(END_TO_END)

coverage: native ## measure which lines the tests reach (not those of C)
	$(BIN)/python -m pytest $(PYTEST_ARGS) -m "not conformance" --cov --cov-report=term --cov-report=html

lint: .venv/installed-dev ## check format, lint, types and the layers of the package
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/installed-dev ## format the code and mend what the linter can mend
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

native: .venv/installed-dev build/native/CMakeCache.txt ## compile the kernels again if their C sources changed
	@$(BIN)/cmake --build build/native -- --quiet
	@touch .venv/installed

sanitize: native ## run the kernels' tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(BIN)/python .ci/sanitize.py

bench: .venv/installed ## run the benchmarks (BENCH_ARGS goes to them)
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

nightly: .venv-nightly/installed ## run quick and end-to-end tests with nightly builds of numpy, scipy and scikit-learn (NIGHTLY_INDEX)
	@test -n "$(NIGHTLY_INDEX)" || { echo "Set NIGHTLY_INDEX to the address of the index of nightly builds." >&2; exit 2; }
	$(NIGHTLY)/python -m pip install --quiet --upgrade --pre --extra-index-url "$(NIGHTLY_INDEX)" numpy scipy scikit-learn
	$(QUICKLY) $(NIGHTLY)/python -m pytest $(PYTEST_ARGS) $(QUICK)
	$(NIGHTLY)/python -m pytest $(PYTEST_ARGS) $(END_TO_END)

wheels: .venv/installed-wheels ## build the wheels of all platforms and the source archive into dist; check them
	rm -rf dist
	$(BIN)/python .ci/wheels.py

test-wheel: .venv/installed-dev ## install a wheel of dist, then the archive, in empty environments; test both
	$(BIN)/python .ci/test_wheel.py dist/*.whl
	$(BIN)/python .ci/test_wheel.py dist/*.tar.gz

clean: ## remove the virtual environments, caches and built files
	rm -rf .venv .venv-lowest .venv-nightly build dist docs/_build docs/gallery htmlcov .coverage .coverage.* .pytest_cache .ruff_cache .mypy_cache .import_linter_cache .hypothesis
	rm -f src/cofactor/engine/kernels/native/kernels*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: a change of pyproject.toml or of a kernel installs again, a second run does not.
# Each install first looks for a compiler, and fetches one if the machine has none.

.venv/installed: .venv/bin/python pyproject.toml $(KERNELS)
	@CC=$$(.ci/compiler $(BIN)/python) && export CC && \
	  echo "Installing cofactor into .venv (the first time takes a minute or two)" && \
	  $(BIN)/python -m pip install --quiet --editable '.[report]'
	@touch $@

# The tools that build the kernels stay in .venv, so that `make native` compiles only what changed.
.venv/installed-dev: .venv/bin/python pyproject.toml
	@CC=$$(.ci/compiler $(BIN)/python) && export CC && \
	  echo "Installing cofactor and its development tools into .venv (the first time takes a minute or two)" && \
	  $(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' && \
	  $(BIN)/python -m pip install --quiet scikit-build-core cmake ninja && \
	  $(BIN)/python -m pip install --quiet $(INCREMENTAL) --editable '.[$(EXTRAS)]' --group dev
	@touch .venv/installed $@

.venv/installed-wheels .venv/installed-gallery: .venv/installed-dev
	@$(BIN)/python -m pip install --quiet --group $(patsubst .venv/installed-%,%,$@)
	@touch $@

INCREMENTAL = --no-build-isolation --config-settings build-dir=build/native

build/native/CMakeCache.txt: | .venv/installed-dev
	@CC=$$(.ci/compiler $(BIN)/python) && export CC && \
	  $(BIN)/python -m pip install --quiet --no-deps $(INCREMENTAL) --editable .

.venv-lowest/installed: .venv-lowest/bin/python pyproject.toml .ci/lowest.py $(KERNELS)
	@CC=$$(.ci/compiler $(LOWEST)/python) && export CC && \
	  echo "Installing cofactor with the lowest versions it declares into .venv-lowest" && \
	  $(LOWEST)/python .ci/lowest.py > .venv-lowest/constraints.txt && \
	  $(LOWEST)/python -m pip install --quiet --upgrade 'pip>=25.1' && \
	  $(LOWEST)/python -m pip install --quiet --constraint .venv-lowest/constraints.txt --editable '.[$(EXTRAS)]' --group test
	@touch $@

.venv-nightly/installed: .venv-nightly/bin/python pyproject.toml $(KERNELS)
	@CC=$$(.ci/compiler $(NIGHTLY)/python) && export CC && \
	  $(NIGHTLY)/python -m pip install --quiet --upgrade 'pip>=25.1' && \
	  $(NIGHTLY)/python -m pip install --quiet --editable '.[$(EXTRAS)]' --group test
	@touch $@

.venv/bin/python .venv-lowest/bin/python .venv-nightly/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "cofactor needs Python 3.11 or newer: install one and name it, for example 'make test PYTHON=python3.12'." >&2; \
	  exit 1; }
	@folder=$$(dirname $$(dirname $@)); $(PYTHON) -m venv $$folder >/dev/null 2>&1 || { \
	  rm -rf $$folder; $(PYTHON) -m virtualenv --quiet $$folder 2>/dev/null; } || { \
	  rm -rf $$folder; \
	  echo "$(PYTHON) cannot create a virtual environment: run 'sudo apt install python3-venv' (Debian, Ubuntu) or '$(PYTHON) -m pip install --user virtualenv' (elsewhere), then make again." >&2; \
	  exit 1; }
