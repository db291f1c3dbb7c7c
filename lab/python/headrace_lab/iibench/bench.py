"""The runs that the options ask for: each on tables of its own making, step by step, with the proof at the end."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..processes import machine
from . import databases, sessions
from .crew import Crew, Failed, Member
from .databases.base import Facts
from .host import Host, folder_bytes
from .job import Job, fault_of
from .options import BenchmarkOptions, split
from .results import StepResult
from .steps import Step, plan
from .verify import Row, Share, verify

Tell = Callable[[dict[str, Any]], None]
"""Takes the results as they come: objects with a ``type``, one line each of the file of results."""


@dataclass(frozen=True)
class Combination:
    """What distinguishes a run from the others."""

    driver: str
    client: str
    strategy: str
    round: int
    cell: str
    options: BenchmarkOptions
    """Those of the cell."""

    @property
    def name(self) -> str:
        """For people."""
        return " ".join(filter(None, (self.cell, self.driver, self.client, self.strategy)))


def combinations(options: BenchmarkOptions) -> list[Combination]:
    """All runs, cell by cell, the rounds in turn: A B C A B C."""
    strategies = split(options.insert_with) or [databases.load(options.database).strategy]
    each = itertools.product(split(options.driver), strategies, split(options.client))
    one_round = list(each)
    return [
        Combination(driver, client, strategy, n, cell, of_cell)
        for cell, of_cell in options.in_cells()
        for n in range(options.rounds)
        for driver, strategy, client in one_round
    ]


class Bench:
    """Everything that the options ask for, on one server.

    ``tell`` gets what stands in the file of results, ``watch`` what goes on, a few times a second.
    """

    def __init__(self, options: BenchmarkOptions, tell: Tell, watch: Callable[[dict[str, Any]], None]) -> None:
        self.options = options
        self.tell = tell
        self.watch = watch
        self.database = databases.load(options.database)

    def run(self) -> bool:
        """Runs everything; returns true if all of it was right. Failures are reported as results, and the others go on.

        Raises ServerUnavailable, and what a driver raises where the server cannot be reached at all.
        """
        right = True
        all_runs = combinations(self.options)
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="headrace-iibench-")))
            url, pid, data_dir = self.options.url, None, None
            if not url:
                started = stack.enter_context(self.database.start(self.options))
                url, pid, data_dir = started.url, started.pid, started.data_dir
            for number, combination in enumerate(all_runs):
                run = Run(self, combination, url, folder, pid, data_dir)
                self.watch({"run": combination.name, "number": number + 1, "of": len(all_runs)})
                right = run.run() and right
        return right


class Run:
    """One run: tables, steps, proof."""

    def __init__(
        self, bench: Bench, combination: Combination, url: str, folder: Path, pid: int | None, data_dir: Path | None
    ) -> None:
        self.bench = bench
        self.options = combination.options
        self.database = bench.database
        self.combination = combination
        self.url = url
        self.folder = folder
        self.pid = pid
        self.data_dir = data_dir
        self.tables = self.options.table_names()
        self.admin = sessions.load(self.database, combination.driver, url)
        self.shares = {table: [Share(c) for c in self.clients_of(n)] for n, table in enumerate(self.tables)}
        self.indexed = False
        self.made = False
        """Whether the tables are of our making, so that it is known what they have."""

    def clients_of(self, table: int) -> list[int]:
        """The clients of a table."""
        return [c for c in range(self.options.clients) if c % len(self.tables) == table]

    def execute(self, sql: str) -> int:
        """A statement beside the workload."""
        return self.admin.run(self.admin.execute(sql))

    def ask(self, sql: str) -> list[Any]:
        """A query beside the workload."""
        return self.admin.run(self.admin.query(sql))

    def run(self) -> bool:
        """Does it; returns true if it was right."""
        options, tell = self.options, self.bench.tell
        self.admin.run(self.admin.open())
        try:
            facts = self.database.facts(self.ask)
            tell({"type": "run", **self.describe(facts)})
            self.data_dir = self.data_dir or facts.data_dir
            host = Host(self.pid or facts.pid, self.database.many_processes)
            self.make_tables()
            before = {table: self.checked(table) for table in self.tables}
            for step in plan(options, self.combination.cell):
                result = self.step(step, host, facts)
                tell({"type": "step", **result})
            proof = verify(options, self.shares, before, {table: self.checked(table) for table in self.tables})
            tell({"type": "proof", **proof.to_json()})
            if options.cleanup:
                for table in self.tables:
                    self.execute(self.database.drop_table(table))
            return proof.right
        except Failed as failure:
            tell({"type": "failure", "who": failure.who, "code": failure.code, "message": failure.message})
            return False
        except Exception as error:
            if self.admin.fault(error) is None:
                raise
            fault = fault_of(self.admin, error)
            tell({"type": "failure", "who": "the run itself", "code": fault.code, "message": fault.message})
            return False
        finally:
            self.admin.end()

    def describe(self, facts: Facts) -> dict[str, Any]:
        """What the figures depend on."""
        combination, options = self.combination, self.options
        return {
            "label": options.label,
            "database": options.database,
            "driver": combination.driver,
            "client": combination.client,
            "strategy": combination.strategy,
            "round": combination.round,
            "cell": combination.cell,
            "server": facts.version if options.url else self.database.started_as.format(facts.version),
            "settings": facts.settings,
            "machine": machine(),
            "options": options.to_json() | {"url": "", "server_setting": options.server_setting},
        }

    def make_tables(self) -> None:
        """Makes the tables where that was asked for, or where the benchmark started the server."""
        options = self.options
        if not (options.setup or not options.url):
            return
        self.made = True
        for table in self.tables:
            self.execute(self.database.drop_table(table))
            for statement in self.database.create_table(table, options):
                self.execute(statement)
            if options.secondary_at_start:
                self.build_indexes(table)

    def build_indexes(self, table: str) -> None:
        """Builds the secondary indexes."""
        for statement in self.database.create_indexes(table, self.options):
            self.execute(statement)
        self.indexed = True

    def checked(self, table: str) -> Row:
        """What a table holds."""
        return tuple(self.ask(self.database.check(table))[0])

    def bounds(self, table: str) -> tuple[int, int]:
        """The lowest and the highest key."""
        low, high = self.ask(f"SELECT MIN(transactionid), MAX(transactionid) FROM {table}")[0]
        return int(low or 0), int(high or 0)

    def step(self, step: Step, host: Host, facts: Facts) -> dict[str, Any]:
        """One step, with the rest after it."""
        result = StepResult(step, self.options, self.combination.client)
        self.bench.watch({"doing": f"{step.name}: getting ready"})
        if step.indexes_before or (step.indexes_after and not step.inserts):
            result.indexing(self.timed_indexes(step), self.rows_now())
        jobs = list(self.jobs(step))
        if jobs:
            with Crew(jobs, self.folder) as crew:
                crew.wait_until_ready()
                result.begin(host.usage())
                last = [0.0]

                def tick(seconds: float) -> None:
                    if seconds - last[0] >= 1.0:
                        last[0] = seconds
                        result.sample(seconds, host.usage())
                    self.bench.watch({"step": step, "seconds": seconds, "result": result})

                members = crew.work(result.note, tick)
                result.end(host.usage(), members)
                for second in result.seconds():
                    self.bench.tell({"type": "second", "step": step.name, **second})
                self.count(members, result)
        if step.indexes_after and step.inserts:
            result.indexing(self.timed_indexes(step), self.rows_now())
        if step.settle:
            self.settle(step)
        return result.to_json() | {"data_bytes": folder_bytes(self.data_dir)}

    def timed_indexes(self, step: Step) -> float:
        """Builds the indexes of all tables, one after the other, and returns the seconds it took."""
        began = time.perf_counter()
        for table in self.tables:
            self.build_indexes(table)
        return time.perf_counter() - began

    def rows_now(self) -> int:
        """Rows of all tables, as far as we know."""
        return sum(share.inserted - share.deleted for shares in self.shares.values() for share in shares)

    def settle(self, step: Step) -> None:
        """Lets the server do what it has put off."""
        began = time.monotonic()
        self.bench.watch({"resting": step.settle})
        for statement in self.database.settle(self.tables):
            self.execute(statement)
        time.sleep(max(0.0, step.settle - (time.monotonic() - began)))

    def jobs(self, step: Step) -> Iterator[Job]:
        """The processes of a step."""
        options, combination = self.options, self.combination
        for n, table in enumerate(self.tables):
            lowest, highest = self.bounds(table)
            for at, client in enumerate(self.clients_of(n)):
                share = self.shares[table][at]

                def job(role: str, number: int = 0) -> Job:
                    return Job(
                        role=role, client=client, number=number, url=self.url, driver=combination.driver,  # noqa: B023
                        mode=combination.client, strategy=combination.strategy, table=table, first=share.inserted,  # noqa: B023
                        lowest=lowest, highest=highest, counters="", options=options, step=step,  # noqa: B023
                        loading=self.loads(step),
                    )  # fmt: skip

                if step.inserts:
                    yield job("writer")
                if step.inserts and step.deletes:
                    yield job("deleter")
                for number in range(step.queriers):
                    yield job("querier", number)
                if step.htap:
                    yield job("transaction")

    def loads(self, step: Step) -> bool:
        """Whether a step does nothing but fill tables without secondary indexes."""
        return self.made and not (self.indexed or step.deletes or step.queriers or step.htap)

    def count(self, members: list[Member], result: StepResult) -> None:
        """Keeps account of what each client has done."""
        for member in members:
            assert member.done is not None
            shares = {share.client: share for share in self.shares[member.job.table]}
            share = shares[member.job.client]
            if member.job.role == "writer":
                share.inserted += member.done["rows"]
                share.retried = share.retried or result.retried("insert")
            elif member.job.role == "deleter":
                share.deleted += member.done["rows"]
