"""asyncio: the same names, awaited; tasks that share a connection; a timeout that does no harm."""

from __future__ import annotations

import asyncio
import sys

import headrace


async def main(conninfo: str) -> None:
    """One connection does it all."""
    async with await headrace.aio.connect(conninfo, autocommit=True) as conn:
        # These travel together, and each task gets its own answer.
        squares = await asyncio.gather(*(conn.fetchval("SELECT $1::int * $1", n) for n in range(10)))
        print(squares)

        try:
            await asyncio.wait_for(conn.execute("SELECT pg_sleep(60)"), 0.2)
        except asyncio.TimeoutError:
            print("gave up; the server was told to")

        # The connection is in step, whatever was cancelled on it.
        print(await conn.fetchval("SELECT 'still here'"))

        total = 0
        async for (number,) in conn.stream("SELECT generate_series(1, 100000)"):
            total += number
        print(total)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else ""))
