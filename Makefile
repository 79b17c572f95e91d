# Everything runs in a virtual environment that is made on first use.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Bytecode is kept whatever the shell says: without it every start of Python compiles its libraries.
export PYTHONDONTWRITEBYTECODE :=
RUN := $(BIN)/python
PYTEST := $(RUN) -m pytest -n auto --dist worksteal -m "not long"
PIP := $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile
INSTALL := $(PIP) --editable
CORE := $(wildcard core/*)

.DEFAULT_GOAL := help
.PHONY: help demo test test-study lint types bench bench-front bench-lead bench-wide bench-errors bench-pairs bench-classes bench-multiclass bench-survival bench-counts bench-tails bench-second bench-others bench-very-wide bench-sparse bench-genotypes bench-cells bench-genomes bench-rows bench-default bench-stream bench-online bench-streams \
	bench-stability bench-cluster bench-cluster-files bench-imports bench-core bench-dependence bench-windows paper study-rivals study-streams study-mail study-hiv study-madelon study-tables battery battery-page choose-errors docs check-plays check-core check-faults check-contamination check-long check-mutations soak fuzz fuzz-million release clean

help:  ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-19s %s\n", $$1, $$2}'

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "tvselect needs Python 3.11 or newer; set PYTHON=... (this is $$($(PYTHON) --version))"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# The native core is compiled again when it has changed, by Zig where there is no other compiler.
$(VENV)/.core: $(VENV)/.made hatch_build.py $(CORE)
	@$(RUN) hatch_build.py --requirements | xargs -r $(PIP)
	$(RUN) hatch_build.py
	@touch $@

$(VENV)/.base: $(VENV)/.made pyproject.toml | $(VENV)/.core
	$(INSTALL) .
	@touch $@

$(VENV)/.study: $(VENV)/.base study/pyproject.toml
	$(INSTALL) ./study
	@touch $@

$(VENV)/.hidimstat $(VENV)/.ipss $(VENV)/.survival: $(VENV)/.%: $(VENV)/.study
	$(INSTALL) './study[$*]'
	@touch $@

$(VENV)/.%: $(VENV)/.made pyproject.toml | $(VENV)/.core
	$(INSTALL) '.[$*]'
	@touch $@

# The tests of the readers, the types and the API pages cover the study, too.
$(VENV)/.dev $(VENV)/.docs: $(VENV)/.%: $(VENV)/.made pyproject.toml study/pyproject.toml | $(VENV)/.core
	$(INSTALL) '.[$*]' --editable ./study
	@touch $(VENV)/.base $(VENV)/.study $@

demo: $(VENV)/.cli  ## Select from 10,000 columns, five of which matter; leaves a report
	$(BIN)/tvs demo

# There are as many workers as cores: one thread of linear algebra each.
test test-study: export OPENBLAS_NUM_THREADS := 1

test: $(VENV)/.dev  ## All tests but the long ones, minutes
	$(PYTEST) --doctest-glob='*.md' README.md docs tests src release hatch_build.py

test-study: $(VENV)/.dev  ## The tests of the study, a package of its own, 2 minutes; TESTS=study
	$(PYTEST) $(or $(TESTS),study)

lint: $(VENV)/.dev  ## ruff, the direction of imports, clang-format and clang-tidy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $(filter %.h %.cpp,$(CORE) $(wildcard tests/core/*))
	$(BIN)/clang-tidy --quiet core/tvselect.cpp -- -std=c++20 -Wall -Wextra -Wno-psabi

types: $(VENV)/.dev  ## mypy, strict on both packages
	$(BIN)/mypy

bench: $(VENV)/.bench $(VENV)/.ipss  ## Speed next to stochtree, bartz, ipss and Boruta, 15 minutes, recorded
	$(RUN) -m benchmarks.speed

bench-lead: $(VENV)/.study  ## The paper's lead example: accuracy and speed, recorded
	$(RUN) -m benchmarks.lead_example

bench-front: $(VENV)/.dev  ## tvs select end to end next to fit alone, 5 minutes, recorded
	$(RUN) -m benchmarks.front_door

bench-wide: $(VENV)/.base  ## Time and memory up to 1,000,000 columns, recorded
	$(RUN) -m benchmarks.wide

bench-errors: $(VENV)/.base  ## Time and memory with decoys and without, up to 1,000,000 columns, recorded
	$(RUN) -m benchmarks.error_cost

bench-pairs: $(VENV)/.base  ## Columns that matter only together, found and named, recorded; N=20
	$(RUN) -m benchmarks.pairs -n $(or $(N),20)

bench-classes: $(VENV)/.ipss  ## Two classes: errors next to DART and ipss, time, a rare class, an hour, recorded
	$(RUN) -m benchmarks.two_classes

bench-multiclass: $(VENV)/.study  ## Three classes and more, next to Boruta, 10 minutes, recorded; N=2
	$(RUN) -m benchmarks.classes -n $(or $(N),2)

bench-survival: $(VENV)/.survival  ## Survival times next to Cox-LASSO and a forest, 10 minutes, recorded; N=3
	$(RUN) -m benchmarks.survival -n $(or $(N),3)

bench-counts: $(VENV)/.study  ## Counts and grades next to numbers, 15 minutes, recorded; N=3
	$(RUN) -m benchmarks.counts -n $(or $(N),3)

bench-second: $(VENV)/.dev  ## The second opinion beside the trees; N=40 tables a row, KINDS of tables
	$(RUN) -m benchmarks.second_opinion -n $(or $(N),40) $(if $(KINDS),--kinds $(KINDS))

bench-others: $(VENV)/.study  ## Other people's benchmarks, their figures beside ours, 10 minutes each, recorded; N=6 PART=rings, bumps or half
	$(RUN) -m benchmarks.others -n $(or $(N),6) $(if $(PART),--part $(PART))

bench-rewards: $(VENV)/.study  ## Whether each reward keeps the level, half an hour, resumable, recorded; N=20 ROWS=folder
	$(RUN) -m benchmarks.reward_levels -n $(or $(N),20) --pieces $(or $(ROWS),rows/rewards)

bench-tails: $(VENV)/.study  ## Heavy tails and an outlier, 10 minutes, recorded
	$(RUN) -m benchmarks.heavy_tails

bench-very-wide: $(VENV)/.base  ## 10,000,000 columns of two values from a file, 20 minutes, recorded
	$(RUN) -m benchmarks.very_wide

bench-sparse: $(VENV)/.base  ## 20,000 x 100,000 of a sparse matrix, 5 minutes, recorded
	$(RUN) -m benchmarks.sparse

bench-genotypes: $(VENV)/.ipss $(VENV)/.genetics  ## Linked genotypes: clumps found next to others, an hour, recorded; N=5
	$(RUN) -m benchmarks.genotypes -n $(or $(N),5)

bench-cells: $(VENV)/.base $(VENV)/.cells  ## 20,000 x 30,000 of a backed AnnData file, 5 minutes, recorded
	$(RUN) -m benchmarks.single_cells

bench-genomes: $(VENV)/.base $(VENV)/.genetics  ## .bed files up to 100,000 x 800,000 (20 GB): time, memory, bytes, 40 minutes, recorded
	$(RUN) -m benchmarks.genome_scale

bench-rows: $(VENV)/.study  ## Many rows: errors and time from 2,000 to 100,000, an hour, recorded; N=2 PART=choice
	$(RUN) -m benchmarks.many_rows $(if $(N),-n $(N)) $(if $(PART),--part $(PART))

bench-default: $(VENV)/.study  ## The experiment behind the default reward, half an hour, recorded
	$(RUN) -m benchmarks.default_reward

bench-stream: $(VENV)/.stream  ## 2,000,000 x 500 Parquet: memory, bytes, rows per second, recorded
	$(RUN) -m benchmarks.stream

bench-streams: $(VENV)/.study  ## The paper's set-ups as streams, recorded
	$(RUN) -m benchmarks.streams

bench-online: $(VENV)/.study  ## Speed on a stream, recorded
	$(RUN) -m benchmarks.online_speed

bench-stability: $(VENV)/.study  ## The same data with other seeds, 30 minutes, recorded
	$(RUN) -m benchmarks.stability

bench-cluster: $(VENV)/.dev  ## One Dask worker and two, cost of a remote play, 10 minutes, recorded
	$(RUN) -m benchmarks.cluster

bench-cluster-files: $(VENV)/.dev $(VENV)/.genetics  ## Dask workers that open a .bed file themselves, 10 minutes, recorded
	$(RUN) -m benchmarks.cluster_files

bench-imports: $(VENV)/.cli  ## Until there is a selector, next to scikit-learn's base, recorded; BEFORE=folder with 0.2.0
	$(RUN) -m benchmarks.imports $(if $(BEFORE),--before $(BEFORE))

bench-core: $(VENV)/.base  ## The native core next to version 0.2.0, half an hour, recorded; PART=speed ROUNDS=5 BEFORE=folder WHEEL=1
	$(RUN) -m benchmarks.native_core $(PART:%=--part %) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(BEFORE),--before $(BEFORE)) $(if $(WHEEL),--wheel)

bench-dependence: $(VENV)/.study  ## Rows that depend on each other: noise, signals, the doubt, hours, recorded; N=200 TVSELECT_DATA=folder
	$(RUN) -m benchmarks.dependence -n $(or $(N),200)

bench-windows: $(VENV)/.study  ## Windows of plays, 1,000 slow workers, 20 minutes, recorded
	$(RUN) -m benchmarks.windows

paper: $(VENV)/.study  ## The paper figure by figure (docs/paper.md), hours, resumable; QUICK=1 N=2 HIV=folder MAIL=file
	$(RUN) -m benchmarks.paper $(or $(ROWS),rows/paper) $(if $(QUICK),--quick) $(if $(N),-n $(N)) $(if $(HIV),--hiv $(HIV)) $(if $(MAIL),--mail $(MAIL)) --jobs $(or $(JOBS),1)

study-rivals: $(VENV)/.hidimstat $(VENV)/.ipss  ## Every kind of question, every rival, days, resumable, recorded; N=3 ROWS=folder METHODS=Boruta QUESTION="Many signals"
	$(RUN) -m benchmarks.rivals --rows $(or $(ROWS),docs/results/rivals) -n $(or $(N),50) $(if $(METHODS),--method $(METHODS)) $(if $(QUESTION),--question "$(QUESTION)") --jobs $(or $(JOBS),2)

study-streams: $(VENV)/.study  ## Errors of streams at every batch, hours, resumable, recorded; STREAMS=200 ROWS=folder
	$(RUN) -m benchmarks.streams_errors --pieces $(or $(ROWS),rows/streams) --streams $(or $(STREAMS),200)

study-mail: $(VENV)/.study  ## Direct mail with decoys, recorded; MAIL=charity_mail.csv.gz
	$(RUN) -m benchmarks.mail $(MAIL)

study-hiv: $(VENV)/.study  ## HIV-1 resistance, positions found and validated, recorded; HIV=folder
	$(RUN) -m benchmarks.hiv $(HIV)

study-madelon: $(VENV)/.study  ## Madelon next to Boruta, 15 minutes, recorded; TVSELECT_DATA=folder
	$(RUN) -m benchmarks.madelon

study-tables: $(VENV)/.ipss  ## Real tables: what is selected predicts rows held back, hours, resumable, recorded; TVSELECT_DATA=folder ROWS=folder
	$(RUN) -m benchmarks.real_tables --pieces $(or $(ROWS),rows/tables)

# Real tables are looked for in TVSELECT_DATA, and left out where they are not.
BATTERY := $(RUN) -m benchmarks.battery --rows $(or $(ROWS),rows/battery)

battery: $(VENV)/.ipss  ## False selections, with ipss, days, resumable, recorded; PART=nulls METHODS=TVS-FDR N=20 COLUMNS=200 PAGE=nulls.md
	$(BATTERY) $(if $(PART),--part $(PART)) $(if $(SETUP),--setup "$(SETUP)") $(if $(COLUMNS),--columns $(COLUMNS)) --method $(METHODS) -n $(N) --jobs $(or $(JOBS),2) --page $(or $(PAGE),errors.md)

battery-page: $(VENV)/.ipss  ## Its page from the rows that are there; ROWS=folder
	$(BATTERY) --only-page

choose-errors: $(VENV)/.study  ## Variants of error control on data sets of their own, recorded; N=10
	$(RUN) -m benchmarks.errors_choice --rows $(or $(ROWS),rows/errors_choice) -n $(or $(N),10) --jobs $(or $(JOBS),2)

docs: $(VENV)/.docs  ## The documentation as HTML in docs/_build
	rm -rf docs/api  # pages of names that are gone
	$(BIN)/sphinx-build -W -q -b html docs docs/_build

check-plays: $(VENV)/.dev  ## The plays of twelve small runs next to those on record
	$(RUN) -m tests.recorded_plays

check-core: $(VENV)/.dev  ## The native core with checked bounds and with sanitizers
	$(RUN) -m tests.core.checked

check-faults: $(VENV)/.dev  ## Hostile folders, files and names, full disks, two writers, interrupts
	$(RUN) -m pytest -q tests/hardening tests/fuzz tests/cli tests/runs

check-contamination: $(VENV)/.study  ## One cell of a hundred wild: errors on the paper's set-ups, 20 minutes, recorded; N=20
	$(RUN) -m benchmarks.contamination -n $(or $(N),20)

check-long: $(VENV)/.dev  ## All long checks; exactness is recorded in docs/results/exactness.md
	$(RUN) -m pytest -m long tests src study

check-mutations: $(VENV)/.dev  ## Break the sampler on purpose: every break must be caught
	$(RUN) -m tests.exactness.mutations

soak: $(VENV)/.dev  ## An hour of streaming while things go wrong, recorded; MINUTES=60 SEED=1
	$(RUN) -m tests.hardening.soak --minutes $(or $(MINUTES),60) --seed $(or $(SEED),1)

fuzz: $(VENV)/.test $(VENV)/.study  ## Damaged files for every reader, a minute; CASES=20000 SEED=1
	$(RUN) -m fuzz --cases $(or $(CASES),20000) --seed $(or $(SEED),1)

fuzz-million: $(VENV)/.test $(VENV)/.study  ## A million of them, half an hour, recorded; SEED=1
	$(RUN) -m fuzz --cases 1000000 --seed $(or $(SEED),1) --record "make fuzz-million"

release: $(VENV)/.release  ## Build, check and try out sdist and wheels on all Pythons here, half an hour, recorded; PYTHONS="3.11 3.13"
	$(RUN) -m release.build $(PYTHONS:%=--python %)

clean:  ## Remove the environment and everything built
	rm -rf $(VENV) build dist src/tvselect/libtvselect_* docs/_build docs/gallery docs/api .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
