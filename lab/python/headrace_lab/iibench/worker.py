"""The process of one role: reads its job from standard input, reports that it is ready, begins at a message, and writes
what it has to tell as JSON, one object per line.

Run as ``python -m headrace_lab.iibench.worker``. It ends with code 1 where it could not do its job, and then the last
line has the reason.
"""

from __future__ import annotations

import contextlib
import gc
import json
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
import traceback
from importlib.metadata import version as version_of
from typing import Any

from ..answers import answers
from . import databases, sessions
from .counters import Counters
from .deleter import Deleter
from .host import Thread, own_cpu
from .job import NEVER, Job, Shift, clock, fault_of
from .measure import Recorder
from .querier import Querier, Transaction
from .writer import Writer

WORK: dict[str, Any] = {"writer": Writer, "deleter": Deleter, "querier": Querier, "transaction": Transaction}


def cpu() -> int:
    """Nanoseconds of CPU time of this process and of its children, living and ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = sum(own_cpu(child.pid) for child in multiprocessing.active_children() if child.pid)
    return time.process_time_ns() + round((ended.ru_utime + ended.ru_stime + living) * 1e9)


def stop_with(starter: int, counters: Counters) -> None:
    """Brings everyone to an end when the process that started this one has gone, and closed its end of the pipe:
    their reports would not be read."""
    # Not by a buffered stream: a thread that is in one when the interpreter ends makes it abort.
    while os.read(starter, 4096):
        pass
    with contextlib.suppress(ValueError):  # the counters are closed: this process is about to end anyway
        counters.stop()


def main() -> int:
    """Does one job."""
    # Ctrl-C is for the process that started this one, which then ends it in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tell = answers()
    job = Job.from_json(json.loads(sys.stdin.readline()))
    database = databases.load(job.options.database)
    session = None
    try:
        session = sessions.load(database, job.driver, job.url)
        session.run(session.open())
        counters = Counters(job.counters, job.options.clients)
        recorder = Recorder(clock(), tell, cpu)
        shift = Shift(job, session, counters, recorder, clock(), NEVER)
        if job.role == "writer":
            for statement in database.session(job.options, job.loading):
                session.run(session.execute(statement))
            if asking := database.thread():
                with contextlib.suppress(OSError):
                    number = int(session.run(session.query(asking))[0][0])
                    recorder.serve(Thread(number, database.thread_names).awake)
        work = WORK[job.role](shift)
        work.prepare()
        # What is there now is there to stay.
        gc.collect()
        gc.freeze()
        tell({"ready": version_of(session.package)})
        go = sys.stdin.readline()
        if not go:
            return 1  # the process that started this has gone
        start = int(go)
        threading.Thread(target=stop_with, args=(sys.stdin.fileno(), counters), daemon=True).start()
        time.sleep(max(0.0, (start - clock()) / 1e9))
        used = cpu()
        shift.start = start
        shift.end = start + round(job.step.seconds * 1e9) if job.step.seconds else NEVER
        recorder.start_at(start)
        work.start_at(start)
        done = session.run(work.work())
        if job.role == "writer":
            for statement in database.session_end(job.options, job.loading):
                session.run(session.execute(statement))
        ended = clock()
        recorder.finish()
        tell({"done": {**done, "ns": ended - start, "cpu": cpu() - used, "stages": recorder.stages.to_json()}})
        session.end()
        return 0
    except BaseException as error:
        traceback.print_exc()
        fault = fault_of(session, error)
        tell({"error": {"code": fault.code, "message": fault.message}})
        return 1


if __name__ == "__main__":
    sys.exit(main())
