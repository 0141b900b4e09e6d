# `make run` and `make test` do all the set-up that they need on a fresh Debian or Ubuntu machine.

PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$name && break; done)
# Debian and Ubuntu keep what venv needs in a package of its own, named after the Python that it serves.
VENV_PACKAGE = $(shell $(PYTHON) -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
VENV := .venv
BIN := $(VENV)/bin
# Tests of one module share what they start, so they stay together.
TWO_AT_ONCE := --numprocesses=2 --dist=loadscope
SUDO := $(shell if [ "$$(id -u)" = 0 ]; then :; elif sudo -n true 2>/dev/null; then echo sudo -n; fi)
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
	--no-emit-index-url --no-emit-find-links
MAY_INSTALL := $(shell command -v apt-get >/dev/null && { [ "$$(id -u)" = 0 ] || sudo -n true 2>/dev/null; } && echo yes)

export DO_NOT_TRACK := 1
export PREFECT_SERVER_ANALYTICS_ENABLED := false

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run serve setup test test-all lint types check audit licences bench soak lambda lock fuse chromium clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

run: $(VENV)/runtime fuse  ## Measure in the local lab and print the report
	$(BIN)/s3bench run lab

serve: $(VENV)/runtime fuse  ## Serve the nightly run and runs by hand with the Prefect UI, until Ctrl-C
	@$(BIN)/python -m deployments

setup: $(VENV)/runtime fuse  ## Install what `make run` needs

test: $(VENV)/dev fuse  ## Run the tests, except the slow ones
	$(BIN)/pytest $(TWO_AT_ONCE)

test-all: $(VENV)/dev fuse chromium  ## Run all tests, the slow ones too
	$(BIN)/pytest $(TWO_AT_ONCE) -m ""

check: lint types  ## Lint and check types

lint: $(VENV)/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/dev
	$(BIN)/mypy

audit: $(VENV)/dev  ## Ask an advisory service for known flaws of what is locked; AUDIT="--osv-url URL" asks another
	@$(BIN)/python -m deployments.audit $(AUDIT)

licences: $(VENV)/dev  ## Write requirements/licences.md, the licences of all that is locked
	$(BIN)/python -m deployments.licences

bench: $(VENV)/dev fuse  ## Print the figures of the README as ratios; ONLY=name runs one, BENCH_JSON=path writes them
	$(BIN)/python tests/bench/run.py $(ONLY)

soak: $(VENV)/dev fuse  ## Serve 20 runs, a kill in each third (ROUNDS=n, EVERY_MINUTES=n); takes 45 minutes
	$(BIN)/python tests/soak/run.py

lambda: $(VENV)/runtime  ## Make the zips of the Lambda functions, in .lambda, and say what is in them
	@for architecture in arm64 x86_64; do \
		$(BIN)/python -m deployments.lambda_package --architecture $$architecture \
			--output .lambda/$$architecture.zip || exit 1; \
	done

lock:  ## Resolve the dependencies anew (needs uv)
	for name in runtime dev; do \
		groups="--group build"; [ $$name = dev ] && groups="$$groups --group dev"; \
		$(COMPILE) $(UPGRADE) pyproject.toml $$groups -o requirements/$$name.txt || exit 1; \
	done
	$(COMPILE) --group lambda --constraints requirements/runtime.txt -o requirements/lambda.txt
	$(MAKE) licences  # in a make of its own, which installs what is locked now

clean:  ## Stop the lab and remove everything that was made here, results and the served runs in .serve excepted
	[ ! -x $(BIN)/s3bench ] || $(BIN)/s3bench lab down
	rm -rf $(VENV) .lab .lambda .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The mark comes last: a half-made environment, of a full disk or a kill, is made again.
$(VENV)/made:
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed: sudo apt-get install python3" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { $(call apt,$(VENV_PACKAGE),Python's venv module is missing); }
	rm -rf $(VENV)
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/runtime: requirements/runtime.txt pyproject.toml | $(VENV)/made
	$(call install,runtime)

$(VENV)/dev: requirements/dev.txt pyproject.toml | $(VENV)/made
	$(call install,dev)
	@touch $(VENV)/runtime

define install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/$(1).txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
endef

fuse:
	@command -v fusermount3 >/dev/null || { $(call apt,fuse3,no mount can be made); } || \
		echo "Going on without a mount: its cells will be skipped." >&2

chromium:
	@command -v chromium >/dev/null || { $(call apt,chromium,no browser can be driven); } || \
		echo "Going on without a browser: its tests will be skipped." >&2

# $(call apt,package,what is wrong): install a Debian package where it may, else say what would help.
define apt
[ "$(MAY_INSTALL)" = yes ] && echo "Installing $(1)" >&2 && { \
	$(SUDO) apt-get install -y -qq $(1) >/dev/null 2>&1 || \
	{ $(SUDO) apt-get update -qq && $(SUDO) apt-get install -y -qq $(1) >/dev/null; }; } || \
	{ echo "$(2): sudo apt-get install $(1)" >&2; false; }
endef
