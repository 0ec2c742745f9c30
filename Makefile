# `make demo` and `make test` do all of their own set-up, and work again when run twice. They take the Python
# that is there; PYTHON=python3.12 names another.

PYTHON ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 4

export MPLBACKEND := Agg
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help setup demo test test-all test-rest matrix doctor lint build check lectures site lesson student bundle lab vendor pictures bench clean

help:
	@echo "make demo    grade an invented class, and say where to look"
	@echo "make test    lint, and the tests to run after a change: nine minutes on two cores"
	@echo "make test-all       every test: pairs of mistakes, fifty kills, browsers, a cluster, and more"
	@echo "make doctor  what this machine has, and what it lacks"
	@echo "make matrix  the tests that depend on it, with every Python that is here and the newest torch"
	@echo "make build   notebooks from the lessons' texts"
	@echo "make lectures       slides of every lesson, in lectures/: each one file, no network"
	@echo "make site    the lessons as pages to read, in site/: no network, no answers"
	@echo "make lesson N=03    the solved lesson, live, on a copy"
	@echo "make student N=03   the released lesson, as a student has it, on a copy"
	@echo "make bundle         one zip for students, in dist/"
	@echo "make lab     JupyterLab on this folder"
	@echo "make pictures       README's pictures, from the pages of make demo; needs Chromium"
	@echo "make bench   what grading costs"
	@echo "make lint    ruff, mypy and the direction of imports"
	@echo "make clean   what was made by running, not by building"

setup: $(READY)

$(READY): requirements.txt requirements-pretrained.txt pyproject.toml
	@tools/set_up.sh $(VENV) $(PYTHON)
	@touch $@

demo: $(READY)
	$(BIN)/autograder demo

test: lint
	$(PYTEST) --dist worksteal -m "not full"

# The dearest tests come last, so the workers take a few at a time, in order.
test-all: lint
	$(PYTEST) --dist load --maxschedchunk 4

# What `make test` leaves out, as far as BUDGET seconds carry.
test-rest: $(READY)
	$(PYTEST) --dist load --maxschedchunk 4 -m full $(if $(BUDGET),--budget $(BUDGET))

matrix:
	tools/matrix.sh

doctor: $(READY)
	$(BIN)/autograder doctor

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

site: $(READY)
	$(BIN)/autograder site

lesson: $(READY)
	$(BIN)/autograder open $(N)

student: $(READY)
	$(BIN)/autograder open --student $(N)

bundle: $(READY)
	$(BIN)/autograder bundle

# The scripts inside our pages, fetched again with npm and checked by hash.
vendor: $(READY)
	$(BIN)/python -m tools.vendor

# README's pictures, photographed from the invented class.
pictures: demo
	$(BIN)/python images/photograph_pages.py demo

lab: $(READY)
	$(BIN)/jupyter lab

bench: $(READY)
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf demo lectures site dist autograded feedback reports exports gradebook.db .pytest_cache .mypy_cache .ruff_cache .hypothesis
