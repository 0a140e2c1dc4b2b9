# Two commands matter: `make run` serves, `make test` tests. Both do all set-up.
PYTHON ?= python3
BIN := .venv/bin
TESTS ?= tests

.PHONY: run test check format lock bench clean

run: .venv/.installed
	$(BIN)/fanion serve

test: .venv/.installed-dev
	$(BIN)/pytest $(TESTS)

check: .venv/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/.installed-dev
	$(BIN)/python -m bench

# Rewrites both lock files from pyproject.toml; needs uv on the PATH.
lock:
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate pyproject.toml --extra build -o requirements.lock
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate pyproject.toml --extra build --extra dev -c requirements.lock \
	  -o requirements-dev.lock

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Fanion needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/.installed: .venv/bin/python requirements.lock pyproject.toml
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

.venv/.installed-dev: .venv/.installed requirements-dev.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.lock
	touch $@

clean:
	rm -rf .venv
