"""Explores scopes, in this process or in several, and reports how far they are.

Each scope is one piece of work, so that the result does not depend on how many processes there
are. A worker says how far it is through a queue; without a watcher there is none.
"""

import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final

from loopspec.model.counts import PINNED
from loopspec.model.explore import Progress, explore, never
from loopspec.model.scope import Scope
from loopspec.model.witness import witness
from loopspec.reports.exploration import BreachFound, ScopeFound

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Event

REPORT_SECONDS: Final = 0.2

Tell = Callable[[str, int, int | None], None]
"""Tells a label, how much is done, and how much there is, as `ProgressLine.update` takes it."""


def explore_scope(
    scope: Scope,
    states_max: int = 0,
    progress: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] = never,
) -> ScopeFound:
    """Explore one scope and keep of it what is printed."""
    began = time.perf_counter()
    explored = explore(scope, progress, stop, states_max)
    seconds = time.perf_counter() - began
    return ScopeFound(
        scope.name,
        scope.says,
        explored.states,
        explored.transitions,
        explored.depth,
        len(explored.rests),
        seconds,
        explored.complete,
        dict(explored.taken),
        dict(explored.fresh),
        {code: str(witness(explored, *at)) for code, at in explored.met.items()},
        tuple(
            BreachFound(
                found.property,
                found.breach.because,
                found.breach.however,
                str(witness(explored, found.parent, found.action)),
            )
            for found in explored.found
        ),
    )


def explore_scopes(
    scopes: Sequence[Scope], jobs: int, states_max: int = 0, tell: Tell | None = None
) -> list[ScopeFound]:
    """Explore scopes in up to `jobs` processes; the results come in the order of the scopes."""
    if min(jobs, len(scopes)) < 2:
        return [explore_scope(scope, states_max, _telling(tell, len(scopes))) for scope in scopes]
    with _workers(min(jobs, len(scopes)), tell is not None) as (pool, news):
        # The longest first: the last to end decides when all is done.
        order = sorted(scopes, key=lambda scope: -_expected(scope))
        work = {scope.name: pool.submit(_work, scope, states_max) for scope in order}
        _watch(list(work.values()), news, tell, order)
        return [work[scope.name].result() for scope in scopes]


def _expected(scope: Scope) -> int:
    pinned = PINNED.get(scope.name)
    return pinned.states if pinned else 0


def _telling(tell: Tell | None, count: int) -> Callable[[Progress], None] | None:
    if tell is None:
        return None

    def update(progress: Progress) -> None:
        pinned = PINNED.get(progress.scope)
        tell(f"scope {progress.scope}", progress.states, pinned.states if pinned else None)

    return update


# --- Several processes --------------------------------------------------------------------------

_news: "Queue[Progress] | None" = None
_ended: "Event | None" = None


def _begin(news: "Queue[Progress] | None", ended: "Event") -> None:
    """Keep, in a new worker, what it was given to talk to its parent."""
    global _news, _ended
    _news, _ended = news, ended


def _work(scope: Scope, states_max: int) -> ScopeFound:
    """Explore one scope in a worker."""
    told = 0.0

    def update(progress: Progress) -> None:
        nonlocal told
        now = time.monotonic()
        if _news is not None and now - told >= REPORT_SECONDS:
            told = now
            _news.put(progress)

    def stop() -> bool:
        return _ended is not None and _ended.is_set()

    return explore_scope(scope, states_max, update, stop)


@contextmanager
def _workers(
    jobs: int, watched: bool
) -> "Iterator[tuple[ProcessPoolExecutor, Queue[Progress] | None]]":
    """A pool that ends soon after its parent is interrupted."""
    context = get_context("spawn")
    news: Queue[Progress] | None = context.Queue() if watched else None
    ended = context.Event()
    pool = ProcessPoolExecutor(jobs, context, _begin, (news, ended))
    try:
        yield pool, news
    finally:
        ended.set()
        pool.shutdown(wait=True, cancel_futures=True)
        if news is not None:
            news.close()
            news.cancel_join_thread()


def _watch(
    work: Sequence[Future[ScopeFound]],
    news: "Queue[Progress] | None",
    tell: Tell | None,
    scopes: Sequence[Scope],
) -> None:
    """Pass on how far all scopes are together, until all are done."""
    total = sum(map(_expected, scopes)) if all(map(_expected, scopes)) else None
    far: dict[str, int] = {}
    pending = set(work)
    while pending:
        done, pending = wait(pending, timeout=REPORT_SECONDS, return_when=FIRST_COMPLETED)
        for each in done:
            far[each.result().name] = each.result().states
        while news is not None:
            try:
                progress = news.get_nowait()
            except queue.Empty:
                break
            far[progress.scope] = max(far.get(progress.scope, 0), progress.states)
        if tell is not None:
            tell(f"{len(work) - len(pending)} of {len(work)} scopes", sum(far.values()), total)
