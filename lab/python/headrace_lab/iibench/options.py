"""The options of a run of the insert benchmark: one dataclass, which the command line is made from."""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from headrace_lab.databases import of_url

if TYPE_CHECKING:
    from headrace_lab._iibench import IibenchRows

CLIENTS: Final = ("overlap", "inline", "producer", "pregen")
"""How rows are made: while the server works, before each block is sent, in a process of their own, before the run."""
STRATEGIES: Final = ("text", "executemany", "prepared", "copy")
"""How rows get in: one INSERT with all values as text; the driver's ``executemany``; a prepared INSERT with places for
all values; COPY or LOAD DATA."""
GENERATORS: Final = ("rust", "python")
STEPS: Final = ("l.i0", "l.x", "l.i1", "l.i2", "qr100", "qr500", "qr1000", "qp100", "qp500", "qp1000")
CELLS: Final = {
    "1000/0": 1_000_000, "100/0": 1_000_000, "1000/3": 400_000, "100/3": 400_000, "50/3": 400_000, "5/3": 150_000,
}  # fmt: skip
"""The cells in which clients are compared, by rows per commit and secondary indexes, and the rows of a run in each."""

PREGEN_BYTES_MAX: Final = 4 << 30
"""Bytes of statements made beforehand that a client may hold."""
ROW_BYTES: Final = 80
"""Bytes of a row's text without its data, for that limit."""
CLIENTS_MAX: Final = 1_024
VALUES: Final = 6
"""Values of a row."""
PLACES_MAX: Final = 65_535
"""Places that a prepared statement can have: the protocols count them with 16 bits."""


class OptionError(ValueError):
    """Options that contradict each other or are out of range; the message has what would be right."""


def _group(name: str, *, default: Any, help: str, **more: Any) -> Any:
    return field(default=default, metadata={"group": name, "help": help, **more})


@dataclass(frozen=True)
class BenchmarkOptions:
    """Every option, by the name that it has on the command line. The defaults are iibench.py's, where it has them."""

    # what to run
    step: str = _group("steps", default="", help=f"steps by name, with commas: {', '.join(STEPS)}; or all")
    load_rows: int = _group("steps", default=1_000_000, help="with --step: rows per table that l.i0 loads")
    more_rows: int = _group(
        "steps", default=500_000, help="with --step: rows per table, of which l.i1 inserts 4/5 and l.i2 1/5"
    )
    step_seconds: float = _group("steps", default=60.0, help="with --step: seconds of each qr and qp step")
    cells: str = _group(
        "steps",
        default="",
        help=f"in place of steps, rows per commit and indexes, with commas: {', '.join(CELLS)}; or all",
    )
    cell_rows: int = _group("steps", default=0, help="with --cells: rows of a run; 0: those of a few seconds")
    settle_seconds: float | None = _group(
        "steps", default=None, help="seconds of rest after l.i2 (60 and one more per million rows)"
    )

    # size and rate
    max_rows: int = _group("size and rate", default=10_000, help="rows that each client inserts; 0: as many as it can")
    rows_per_commit: int = _group("size and rate", default=1_000, help="rows of an insert, which is a transaction")
    max_seconds: float = _group("size and rate", default=0.0, help="seconds after which the run ends; 0: never")
    inserts_per_second: float = _group(
        "size and rate", default=0.0, help="rows per second and client that are due; 0: as fast as possible"
    )
    warmup: float = _group("size and rate", default=0.0, help="seconds at the start that do not count")
    delete_per_insert: bool = _group("size and rate", default=False, help="delete the oldest row for each new one")
    resync_get_min: int = _group(
        "size and rate", default=1_000, help="deletes after which the lowest key is asked for again; 0: never"
    )
    retries: int = _group(
        "size and rate", default=10, help="how often a deadlock or serialization failure is tried again before it fails"
    )

    # data
    data_length_min: int = _group("data", default=10, help="bytes of the column data, at least")
    data_length_max: int = _group("data", default=10, help="bytes of the column data, at most (4000)")
    data_random_pct: int = _group("data", default=50, help="percentage of data that does not compress")
    cashregisters: int = _group("data", default=1_000, help="cash registers")
    products: int = _group("data", default=10_000, help="products")
    customers: int = _group("data", default=100_000, help="customers")
    max_price: int = _group("data", default=500, help="prices are below")
    seed: int = _group("data", default=3_221_223_452, help="rows are a function of it and of their number")
    generator: str = _group("data", default="rust", help="what makes the rows", choices=GENERATORS)

    # queries
    query_threads: int = _group("queries", default=0, help="connections per client that query")
    queries_per_second: float = _group(
        "queries", default=0.0, help="queries per second and connection that are due; 0: as fast as possible"
    )
    rows_per_query: int = _group("queries", default=10, help="rows that a query asks for")
    query_pk_only: bool = _group("queries", default=False, help="point queries by key, not range queries by index")
    no_inserts: bool = _group("queries", default=False, help="only queries, for --max-seconds")
    htap_transaction_seconds: float = _group(
        "queries", default=0.0, help="keep a transaction open beside, for so many seconds each; 0: none"
    )
    use_prepared_query: bool = _group("queries", default=False, help="prepare the queries, where the driver can")

    # schema
    setup: bool = _group("schema", default=False, help="drop the tables and make them")
    cleanup: bool = _group("schema", default=False, help="drop the tables at the end")
    num_secondary_indexes: int = _group("schema", default=3, help="0 to 3", choices=(0, 1, 2, 3))
    secondary_at_start: bool = _group("schema", default=False, help="make them with the table")
    secondary_at_end: bool = _group("schema", default=False, help="make them after the inserts")
    num_partitions: int = _group("schema", default=0, help="partition by ranges of the key; 0: not at all")
    rows_per_partition: int = _group(
        "schema", default=0, help="keys of each partition but the last; 0: as many as come to it of all rows of a table"
    )
    tables: int = _group("schema", default=1, help="tables")
    table_name: str = _group("schema", default="purchases_index", help="the table, or the first part of tables' names")
    engine: str = _group("schema", default="innodb", help="MariaDB, MySQL: the storage engine")
    engine_options: str = _group("schema", default="", help="to put after the table's definition")
    unique_checks: int = _group("schema", default=1, help="MariaDB, MySQL: the setting of that name", choices=(0, 1))
    bulk_load: int = _group(
        "schema", default=1, help="RocksDB: load with rocksdb_bulk_load while no index has to be kept", choices=(0, 1)
    )

    # connections and drivers
    database: str = _group(
        "connection", default="postgresql", help="postgresql, mariadb, mysql or informix; by default that of --url"
    )
    url: str = _group("connection", default="", help="a server of yours; without it one is started")
    driver: str = _group("connection", default="headrace", help="the drivers, with commas, one run each")
    client: str = _group("connection", default="overlap", help=f"one run each, with commas: {', '.join(CLIENTS)}")
    insert_with: str = _group(
        "connection",
        default="",
        help=f"one run each, with commas: {', '.join(STRATEGIES)}; text, where the database has it",
    )
    clients: int = _group("connection", default=1, help="clients, each with connections of its own")
    depth: int = _group(
        "connection", default=0, help="blocks on their way at a time, where the driver can; 0: what suits it"
    )
    rounds: int = _group("connection", default=1, help="how often the runs are repeated, in turn")
    server_setting: tuple[str, ...] = _group(
        "connection", default=(), help="NAME=VALUE for the server that is started; repeatable"
    )

    # report
    secs_per_report: float = _group(
        "report", default=10.0, help="seconds between lines where the output is not a terminal"
    )
    label: str = _group("report", default="", help="name of the run in files and pages")
    out: str = _group("report", default="", help="folder of the results (build/iibench)")
    add: tuple[str, ...] = _group("report", default=(), help="results of earlier runs for the page; repeatable")

    def __post_init__(self) -> None:
        self._check_numbers()
        self._check_choices()
        self._check_sense()

    def _check_numbers(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is None:
                continue
            if not math.isfinite(value):
                raise OptionError(f"{flag(name)} must be a number, not {value}")
            if value < least:
                raise OptionError(f"{flag(name)} must be at least {least}, not {value}")
        for name in ("clients", "tables"):
            if getattr(self, name) > CLIENTS_MAX:
                raise OptionError(f"{flag(name)} must be at most {CLIENTS_MAX}")
        for name, bits in UNSIGNED.items():
            if not 0 <= getattr(self, name) < 1 << bits:
                raise OptionError(f"{flag(name)} must be 0 to {(1 << bits) - 1}, not {getattr(self, name)}")
        try:
            self.rows(0)
        except (ValueError, OverflowError) as error:
            raise OptionError(str(error)) from None

    def _check_choices(self) -> None:
        for each in dataclasses.fields(self):
            choices = each.metadata.get("choices")
            if choices and getattr(self, each.name) not in choices:
                raise OptionError(f"{flag(each.name)} must be one of {', '.join(map(str, choices))}")
        for name, known in (
            ("client", CLIENTS),
            ("insert_with", STRATEGIES),
            ("step", (*STEPS, "all")),
            ("cells", (*CELLS, "all")),
        ):
            for part in split(getattr(self, name)):
                if part not in known:
                    raise OptionError(f"unknown {flag(name)} {part!r}; there are {', '.join(known)}")
        if not split(self.client) or not split(self.driver):
            raise OptionError("--client and --driver need a name each")
        if not self.table_name.isidentifier():
            raise OptionError(f"--table-name {self.table_name!r} is not a plain name")
        if "/" in self.label:
            raise OptionError(f"--label {self.label!r} cannot be the name of a file; --out names the folder")
        for setting in self.server_setting:
            if "=" not in setting:
                raise OptionError(f"--server-setting {setting!r} is not NAME=VALUE")

    def _check_sense(self) -> None:
        if self.secondary_at_start and self.secondary_at_end:
            raise OptionError("--secondary-at-start and --secondary-at-end exclude each other")
        if self.rows_per_partition and not self.num_partitions:
            raise OptionError("--rows-per-partition goes with --num-partitions")
        if self.num_partitions and not self.keys_per_partition:
            raise OptionError("the number of rows is not known beforehand: --num-partitions needs --rows-per-partition")
        if self.url and self.server_setting:
            raise OptionError("--server-setting is for a server that is started here, not for --url")
        if self.generator == "python" and split(self.insert_with) not in ([], ["text"]):
            raise OptionError("--generator python makes text only: --insert-with text")
        if "prepared" in split(self.insert_with) and self.rows_per_commit * VALUES > PLACES_MAX:
            raise OptionError(f"--insert-with prepared takes at most {PLACES_MAX // VALUES} rows per commit")
        if self.step and self.cells:
            raise OptionError("--step and --cells exclude each other")
        for name, given in (("step", self.step), ("cells", self.cells)):
            for other in SETTLED[name] if given else NEEDS[name]:
                if getattr(self, other) != DEFAULTS[other]:
                    raise OptionError(
                        f"{flag(other)} " + (f"does not go with {flag(name)}" if given else f"is for {flag(name)}")
                    )
        if self.step or self.cells:
            if self.secondary_at_start and {"l.x", "all"} & set(split(self.step)):
                raise OptionError("--secondary-at-start makes the indexes that the step l.x builds")
            return
        if self.max_seconds and self.warmup >= self.max_seconds:
            raise OptionError("--warmup must be less than --max-seconds: nothing would count")
        if self.no_inserts:
            if not self.query_threads or not self.max_seconds:
                raise OptionError("--no-inserts needs --query-threads and --max-seconds")
            if self.delete_per_insert:
                raise OptionError("--delete-per-insert deletes as much as is inserted, which is nothing")
        elif not self.max_rows and not self.max_seconds:
            raise OptionError("the run would never end: give --max-rows or --max-seconds")
        elif not self.max_rows and not self.inserts_per_second and "pregen" in split(self.client):
            raise OptionError("--client pregen makes all rows beforehand and has to know how many: give --max-rows")
        if self.max_rows % self.rows_per_commit:
            raise OptionError(
                f"--max-rows {self.max_rows} is not a multiple of --rows-per-commit {self.rows_per_commit}"
            )
        if "pregen" in split(self.client) and self.max_rows * (ROW_BYTES + self.data_length_max) > PREGEN_BYTES_MAX:
            raise OptionError(f"{self.max_rows} rows made beforehand would take more than {PREGEN_BYTES_MAX} bytes")
        self._check_queries()

    def _check_queries(self) -> None:
        if not self.query_threads or self.query_pk_only:
            return
        if not self.num_secondary_indexes:
            raise OptionError("range queries are of secondary indexes: --query-pk-only asks by key")
        made = self.setup or not self.url
        if made and not (self.secondary_at_start or (self.secondary_at_end and self.no_inserts)):
            raise OptionError(
                "--query-threads asks by indexes: --secondary-at-start makes them, --query-pk-only needs none"
            )

    @property
    def keys_per_partition(self) -> int:
        """Keys of each partition but the last; 0 where that is not known."""
        if self.rows_per_partition or not self.num_partitions:
            return self.rows_per_partition
        each = self.load_rows + self.more_rows if self.step else self.max_rows * self.clients // self.tables
        return max(1, each // self.num_partitions) if each else 0

    def rows(self, stream: int) -> IibenchRows:
        """The rows of a client. Raises ValueError where they cannot be made."""
        # Compiled, and of no use to the race, which imports this module for the command line.
        from headrace_lab._iibench import IibenchRows

        return IibenchRows(
            self.seed,
            stream,
            cash_registers=self.cashregisters,
            customers=self.customers,
            products=self.products,
            max_price=self.max_price,
            data_length_min=self.data_length_min,
            data_length_max=self.data_length_max,
            data_random_percent=self.data_random_pct,
        )

    def in_cells(self) -> list[tuple[str, BenchmarkOptions]]:
        """The options of each cell by its name; without cells these, without a name. Raises OptionError."""
        if not self.cells:
            return [("", self)]
        names = list(CELLS) if "all" in split(self.cells) else split(self.cells)
        return [(name, self.of_cell(name)) for name in names]

    def of_cell(self, name: str) -> BenchmarkOptions:
        """The options of a cell. Raises OptionError where they make no sense."""
        count, _, indexes = name.partition("/")
        return dataclasses.replace(
            self, cells="", cell_rows=0, max_rows=self.cell_rows or CELLS[name], rows_per_commit=int(count),
            num_secondary_indexes=int(indexes), secondary_at_start=indexes != "0", secondary_at_end=False,
        )  # fmt: skip

    def table_names(self) -> list[str]:
        """The tables: the name alone where there is one, otherwise with numbers from 1."""
        if self.tables == 1:
            return [self.table_name]
        return [f"{self.table_name}_{n + 1}" for n in range(self.tables)]

    def to_json(self) -> dict[str, Any]:
        """For files and for the processes of a run."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> BenchmarkOptions:
        """The inverse of :meth:`to_json`."""
        made: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in values.items()}
        return cls(**made)


LEAST: Final[dict[str, float]] = {
    "load_rows": 1, "more_rows": 10, "cell_rows": 0, "step_seconds": 0.1, "settle_seconds": 0, "max_rows": 0,
    "rows_per_commit": 1, "max_seconds": 0, "inserts_per_second": 0, "warmup": 0, "resync_get_min": 0, "retries": 0,
    "seed": 0, "query_threads": 0, "queries_per_second": 0, "rows_per_query": 1, "htap_transaction_seconds": 0,
    "num_partitions": 0, "rows_per_partition": 0, "tables": 1, "clients": 1, "depth": 0, "rounds": 1,
    "secs_per_report": 0.1,
}  # fmt: skip
"""The least value of each number."""
UNSIGNED: Final = {
    "seed": 64, "cashregisters": 31, "products": 31, "customers": 31, "max_price": 31, "data_length_min": 31,
    "data_length_max": 31, "data_random_pct": 31,
}  # fmt: skip
"""The bits of numbers that the generator takes."""
SETTLED: Final = {
    "step": (
        "max_rows", "rows_per_commit", "max_seconds", "inserts_per_second", "delete_per_insert", "query_pk_only",
        "no_inserts", "secondary_at_end",
    ),
    "cells": (
        "max_rows", "rows_per_commit", "num_secondary_indexes", "secondary_at_start", "secondary_at_end", "no_inserts",
    ),
}  # fmt: skip
"""What named steps and cells settle by themselves: it cannot be asked for beside them."""
NEEDS: Final = {"step": ("load_rows", "more_rows", "step_seconds", "settle_seconds"), "cells": ("cell_rows",)}
"""What has a meaning for them alone."""
DEFAULTS: Final = {each.name: each.default for each in dataclasses.fields(BenchmarkOptions)}

LEFT_OUT: Final = {
    "initial_size": "rows that are there already are counted at the start",
    "max_table_rows": "has no effect in iibench.py",
    "print_get_min": "what asking for the lowest key costs always stands in the results",
    "my_id": "--label names a run, and clients are numbered",
    "dbms": "--database",
    "db_host": "part of --url", "db_name": "part of --url", "db_user": "part of --url", "db_password": "part of --url",
    "db_config_file": "--url; a service or option file is named in it where the driver can read one",
    "db_socket": "part of --url", "mysql_use_socket": "part of --url", "dbopt": "part of --url",
    "use_prepared_insert": "--insert-with prepared",
    "mongo_w": "no MongoDB", "mongo_r": "no MongoDB", "mongo_j": "no MongoDB", "mongo_trx": "no MongoDB",
    "name_cash": "no MongoDB", "name_cust": "no MongoDB", "name_ts": "no MongoDB", "name_price": "no MongoDB",
    "name_prod": "no MongoDB", "name_data": "no MongoDB",
}  # fmt: skip
"""Options of iibench.py that have another name here, or none, and why."""


def split(text: str) -> list[str]:
    """The parts of a list with commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def flag(name: str) -> str:
    """An option's name on the command line."""
    return "--" + name.replace("_", "-")


def add_parser(commands: Any) -> None:
    """Adds the command."""
    parser = commands.add_parser(
        "iibench",
        help="the insert benchmark",
        description="Inserts into a table with up to three secondary indexes, deletes and queries beside it.",
    )
    add_arguments(parser)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Every option, in its group."""
    groups: dict[str, Any] = {}
    for each in dataclasses.fields(BenchmarkOptions):
        kind = each.metadata["group"]
        group = groups.setdefault(kind, parser.add_argument_group(kind))
        help_text = each.metadata["help"].replace("%", "%%")
        made: Any = each.default
        if isinstance(made, bool):
            group.add_argument(flag(each.name), action="store_true", help=help_text)
        elif isinstance(made, tuple):
            group.add_argument(flag(each.name), action="append", default=[], help=help_text, metavar="TEXT")
        else:
            shown = "" if made in ("", None) else f" ({made})"
            kind_of = type(made) if made is not None else float
            group.add_argument(
                flag(each.name), type=kind_of, default=made, help=help_text + shown, metavar=kind_of.__name__.upper()
            )


def from_arguments(args: argparse.Namespace) -> BenchmarkOptions:
    """The options that a command line gives. Raises OptionError."""
    given = {each.name: getattr(args, each.name) for each in dataclasses.fields(BenchmarkOptions)}
    try:
        asked = None if given["database"] == DEFAULTS["database"] else given["database"]
        given["database"] = of_url(given["url"], asked)
    except ValueError as error:
        raise OptionError(str(error)) from None
    return BenchmarkOptions.from_json(given)


def parse(arguments: Sequence[str]) -> BenchmarkOptions:
    """The options of a command line. Raises OptionError, and SystemExit where it cannot be read at all."""
    parser = argparse.ArgumentParser(prog="headrace iibench")
    add_arguments(parser)
    return from_arguments(parser.parse_args(arguments))
