"""Whether KILL QUERY, on a session of its own, would reach the server that executes the statement.

Behind a TCP balancer that session may be with another server, where a neighbour can have the same number. Each
connection therefore has a number of its own among its connection attributes, which MySQL shows in its performance
schema.
"""

from __future__ import annotations

from typing import Any, Final

from ..errors import OperationalError
from .settings import CONNECTION

QUESTION: Final = (
    "SELECT connection_id(), version(), sum(processlist_id = connection_id()), sum(processlist_id = {id}) "
    "FROM performance_schema.session_account_connect_attrs "
    f"WHERE attr_name = '{CONNECTION}' "
    "AND (processlist_id = connection_id() OR processlist_id = {id} AND attr_value = '{own}')"
)
_NUMBERS: Final = 1 << 32
"""Of connections, as the greeting has them: the server counts them up, and begins again."""


def check(thread: int, beside: int, answer: Any) -> None:
    """Looks at the answer to :data:`QUESTION` for the connection ``thread``, on one that was opened after it and was
    greeted with the number ``beside``; None for an answer that the server has refused.

    Raises OperationalError where they are with different servers. A server that shows no attributes (MariaDB without
    its performance schema) has at least counted up since: a number that has not risen is that of another one. Of what
    is no server, but takes KILL for its clients (ProxySQL, MaxScale, TiDB), nothing is known.
    """
    if answer is None:
        return
    own, version, with_attributes, found = answer[0].rows[0]
    if own % _NUMBERS != beside % _NUMBERS or "TiDB" in version:
        return
    has_risen = 0 < (beside - thread) % _NUMBERS < _NUMBERS // 2
    if not found if with_attributes else not has_risen:
        raise OperationalError(
            f"the statement was not cancelled: KILL QUERY {thread} would have reached another server; there is more "
            "than one behind this address"
        )
