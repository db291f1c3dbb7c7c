"""A stream that another thread reads on: it is that thread whose statements would wait for themselves."""

from __future__ import annotations

import threading

import pytest

import headrace
from served import Served


def test_a_thread_that_goes_on_with_a_stream_is_refused_other_statements(my_server: Served) -> None:
    five = "select 1 union all select 2 union all select 3 union all select 4 union all select 5"
    # More than fits into the buffers between.
    many = "select 1 from " + ", ".join(f"({five}) as t{n}" for n in range(9))
    with headrace.connect(my_server.url("test"), autocommit=True) as conn:
        stream = conn.stream(many, fetch_size=10)
        next(stream)
        met: list[BaseException] = []

        def goes_on() -> None:
            try:
                for _ in range(15):
                    next(stream)
                conn.execute("select 1", timeout=10)
            except BaseException as error:
                met.append(error)

        thread = threading.Thread(target=goes_on)
        thread.start()
        thread.join(30)
        with pytest.raises(headrace.InterfaceError, match="a stream is being read"):
            raise met[0]
        stream.close()
        assert conn.fetchval("select 2") == 2
