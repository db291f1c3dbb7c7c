"""Waiting with a limit."""

from __future__ import annotations

import asyncio

import pytest

from headrace.aio._shared import within as module
from headrace.aio._shared.within import taken_within, within


async def _after(turns: int, ended: list[str]) -> int:
    try:
        for _ in range(turns):
            await asyncio.sleep(0)
    except asyncio.CancelledError:
        ended.append("cancelled")
        raise
    ended.append("done")
    return turns


async def test_gives_the_result() -> None:
    assert await within(5.0, _after(3, [])) == 3
    assert await within(None, _after(0, [])) == 0


async def test_passes_errors_on() -> None:
    async def fails() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await within(5.0, fails())


async def test_ends_the_work_when_the_time_is_up() -> None:
    ended: list[str] = []
    with pytest.raises(TimeoutError):
        await within(0.01, _after(10**9, ended))
    assert ended == ["cancelled"]


@pytest.mark.parametrize("turns", range(1, 9))
async def test_a_cancellation_is_never_swallowed_at_whatever_step_it_comes(turns: int) -> None:
    for work in range(8):
        ended: list[str] = []
        task = asyncio.ensure_future(within(5.0, _after(work, ended)))
        for _ in range(turns):
            await asyncio.sleep(0)
        if task.done():
            assert task.result() == work
            continue
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(ended) <= 1


@pytest.mark.parametrize("turns", range(1, 9))
@pytest.mark.parametrize("here", [True, False])
async def test_what_was_taken_is_given_back_if_the_caller_is_not_told(
    monkeypatch: pytest.MonkeyPatch, here: bool, turns: int
) -> None:
    if not here:
        monkeypatch.setattr(module, "within_here", within)
    for work in range(8):
        ended: list[str] = []
        back: list[int] = []
        task = asyncio.ensure_future(taken_within(5.0, _after(work, ended), back.append))
        for _ in range(turns):
            await asyncio.sleep(0)
        if task.done():
            assert (task.result(), back) == (work, [])
            continue
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert back == ([work] if "done" in ended else [])
