# Everything runs in .venv, which is made on first use and renewed when setup.py changes:
# `make demo` installs what the demo needs, the other targets add the rest.
PYTHON ?= python3
ARGS   ?=
BENCH  ?= dynamics

# .pyc files are written at the first import, not at installation: some environments forbid that,
# and every process would read all its modules anew.
unexport PYTHONDONTWRITEBYTECODE

BIN  := .venv/bin
DEMO := .venv/.ready-demo
TEST := .venv/.ready-test
DOCS := .venv/.ready-docs

# Other versions: a part of the tests, in an environment of its own.
SYSTEM_PYTHON ?= /usr/bin/python3
OLDEST := numba numpy rich scipy typer yaml
TOOLS  := catkin_pkg hypothesis matplotlib mujoco pin pytest pytest-rerunfailures pytest-xdist
PART   := $(addprefix test/,control detection dynamics model nodes sensing simulation trajectory test_cli.py)

# $(call test_part,environment): with a kernel cache of its own.
define test_part
	NUMBA_CACHE_DIR=$(CURDIR)/$(1)/numba $(1)/bin/python test/compile_kernels.py
	NUMBA_CACHE_DIR=$(CURDIR)/$(1)/numba OPENBLAS_NUM_THREADS=1 ROS_PYTHON_CHECK_FIELDS=1 \
	  $(1)/bin/python -m pytest -n 2 -m "not long" $(PART) $(ARGS)
endef

comma := ,

# $(call need,shell test,what to say when it fails): stops with one line.
need = $(if $(shell $(1) >/dev/null 2>&1 && echo yes),,$(error $(2)))

.DEFAULT_GOAL := help
.PHONY: help demo docs test test-long test-oldest test-kilted bench fuzz soak lint kernels clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(DEMO)  ## the collision demo; ARGS="…" goes to robodyn demo, e.g. --headless --duration 20
	$(BIN)/robodyn demo $(ARGS)

# Three workers for two cores: one of them waits most of the time, for nodes that keep real time.
test: $(TEST)  ## lint, then all tests but the long ones; ARGS="…" goes to pytest
	@$(MAKE) --no-print-directory -j 2 lint kernels
	OPENBLAS_NUM_THREADS=1 ROS_PYTHON_CHECK_FIELDS=1 $(BIN)/python -m pytest -n 3 -m "not long" $(ARGS)

test-long: $(TEST)  ## tests that need minutes, or a machine of their own, one after the other
	@$(MAKE) --no-print-directory kernels
	ROS_PYTHON_CHECK_FIELDS=1 $(BIN)/python -m pytest -m long --durations 0 $(ARGS)

test-oldest: .venv-oldest/.ready  ## a part of the tests with Debian's own numba, numpy, scipy, typer, rich
	$(call test_part,.venv-oldest)

test-kilted: .venv-kilted/.ready  ## a part of the tests with ROS 2 Kilted
	$(call test_part,.venv-kilted)

bench: $(TEST)  ## figures and their bars; BENCH= a program of benchmark/, e.g. detection, ros_loop, operations
	$(BIN)/python benchmark/$(BENCH).py $(ARGS)

fuzz: $(TEST)  ## strange messages, parameters and files; ARGS="--seed 1" and how many
	$(BIN)/python -W ignore test/fuzz/long_run.py $(ARGS)

soak: $(TEST)  ## pushed, changed, restarted and watched for long; ARGS="--mode free --time 86400"
	$(BIN)/python benchmark/soak.py $(ARGS)

docs: $(DOCS)  ## this documentation as a site in build/site, with search; links are checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict $(ARGS)
	@echo "open build/site/index.html"

lint: $(TEST)  ## ruff check, ruff format, mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

kernels: $(TEST)
	@echo "compiling the kernels: up to a minute the first time"
	$(BIN)/python test/compile_kernels.py

clean:  ## remove .venv, builds and caches
	rm -rf .venv .venv-* build dist install log *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call install,environment,packages): made first if need be. uv takes a third of pip's time and says
# what it downloads; where it cannot be had, or knows less of the machine's indexes, pip does the same.
define install
	@test -x $(1)/bin/pip || $(PYTHON) -m venv $(1)
	@echo "installing into $(1):" $(2)
	@$(1)/bin/python -m pip install --quiet uv 2>/dev/null && \
	  $(1)/bin/python -m uv pip install --python $(1)/bin/python $(2) || \
	  $(1)/bin/python -m pip install --no-compile $(2)
endef

define need_python
	$(call need,command -v $(PYTHON),python3 is missing: sudo apt install python3 python3-venv)
	$(call need,$(PYTHON) -c 'import sys; assert sys.version_info[1] >= 10',$(PYTHON) is older than 3.10: install a newer one and say make PYTHON=python3.12)
	$(call need,$(PYTHON) -c 'import venv; import ensurepip',python3-venv is missing: sudo apt install python3-venv)
endef

$(DEMO): setup.py
	$(need_python)
	$(call install,.venv,-e '.[demo$(comma)ros]')
	@touch $@

$(TEST): setup.py
	$(need_python)
	$(call install,.venv,-e '.[test$(comma)ros]')
	@touch $(DEMO) $@

$(DOCS): setup.py
	$(need_python)
	$(call install,.venv,-e '.[docs]')
	@touch $@

.venv-kilted/.ready: setup.py
	$(need_python)
	$(call install,.venv-kilted,-e '.[ros_kilted]' $(TOOLS))
	@touch $@

.venv-oldest/.ready: setup.py
	$(call need,$(SYSTEM_PYTHON) -c '$(OLDEST:%=import %;)',Debian packages are missing: sudo apt install python3-venv $(OLDEST:%=python3-%))
	@test -x .venv-oldest/bin/pip || $(SYSTEM_PYTHON) -m venv --system-site-packages .venv-oldest
	@$(SYSTEM_PYTHON) -c 'from importlib.metadata import version; print(*(f"{name}=={version(name)}" for name in "$(OLDEST:yaml=pyyaml)".split()), sep="\n")' > .venv-oldest/as_installed.txt
	.venv-oldest/bin/python -m pip install --no-compile -c .venv-oldest/as_installed.txt -e '.[ros]' $(TOOLS)
	@touch $@
