# Everything runs in .venv, which is made on first use and renewed when setup.py changes:
# `make demo` installs what the demo needs, the other targets add the rest.
PYTHON ?= python3
ARGS   ?=
BENCH  ?= dynamics

BIN  := .venv/bin
DEMO := .venv/.ready-demo
TEST := .venv/.ready-test

# $(call need,shell test,what to say when it fails): stops with one line.
need = $(if $(shell $(1) >/dev/null 2>&1 && echo yes),,$(error $(2)))

.DEFAULT_GOAL := help
.PHONY: help demo test bench fuzz soak lint clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(DEMO)  ## the collision demo; ARGS="…" goes to robodyn demo, e.g. --headless --duration 20
	$(BIN)/robodyn demo $(ARGS)

test: lint  ## lint, then all tests; ARGS="…" goes to pytest
	@echo "compiling the kernels: up to a minute the first time"
	$(BIN)/python test/compile_kernels.py
	OPENBLAS_NUM_THREADS=1 ROS_PYTHON_CHECK_FIELDS=1 $(BIN)/python -m pytest -n 3 $(ARGS)

bench: $(TEST)  ## figures and their bars; BENCH= a program of benchmark/, e.g. detection, ros_loop, operations
	$(BIN)/python benchmark/$(BENCH).py $(ARGS)

fuzz: $(TEST)  ## strange messages, parameters and files; ARGS="--seed 1" and how many
	$(BIN)/python -W ignore test/fuzz/long_run.py $(ARGS)

soak: $(TEST)  ## pushed, changed, restarted and watched for long; ARGS="--mode free --time 86400"
	$(BIN)/python benchmark/soak.py $(ARGS)

lint: $(TEST)  ## ruff check, ruff format, mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:  ## remove .venv, builds and caches
	rm -rf .venv build dist install log *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call install,extra): and ROS 2's wheels, into .venv, which is made first if need be.
define install
	$(call need,command -v $(PYTHON),python3 is missing: sudo apt install python3 python3-venv)
	$(call need,$(PYTHON) -c 'import sys; assert sys.version_info[1] >= 10',$(PYTHON) is older than 3.10: install a newer one and say make PYTHON=python3.12)
	$(call need,$(PYTHON) -c 'import venv; import ensurepip',python3-venv is missing: sudo apt install python3-venv)
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --no-compile --upgrade pip 2>/dev/null || true  # newer ones take half the time
	@echo "installing robodyn_ros[$(1),ros] into .venv"
	@$(BIN)/python .ci/install.py -e '.[$(1),ros]'
endef

$(DEMO): setup.py
	$(call install,demo)
	@touch $@

$(TEST): setup.py
	$(call install,test)
	@touch $(DEMO) $@
