"""Clients that say goodbye after their requests and are gone at once: what they have sent whole is executed."""

from __future__ import annotations

import json

from headrace._daemon import ask
from waiting import until

from ..raw import EXECUTE, SYNC, TERMINATE, bind, parse, query
from .conftest import Front
from .plain import PlainClient

ROUNDS = 10
"""Whether a client is gone before the server has answered is a matter of time."""


def test_what_was_sent_whole_before_a_goodbye_is_executed(each: Front) -> None:
    table = each.table("said", "id int")
    insert = f"insert into {table} values (1)"
    said = {
        "query": query(insert),
        "queries": query(insert) + query("begin") + query(insert) + query("commit"),
        "group": parse("", insert) + bind("") + EXECUTE + SYNC,
    }
    rows = {"query": 1, "queries": 2, "group": 1}
    for name, sent in said.items():
        for _ in range(ROUNDS):
            client = PlainClient(each)
            client.send(sent + TERMINATE)
            client.socket.close()
        until(
            lambda: (
                not any(found["name"] == each.name for found in json.loads(ask(str(each.folder), "GET", "/clients")[1]))
            )
        )
        with each.direct() as admin:
            assert (name, admin.fetchval(f"select count(*) from {table}")) == (name, ROUNDS * rows[name])
            admin.execute(f"delete from {table} where id = 1")
