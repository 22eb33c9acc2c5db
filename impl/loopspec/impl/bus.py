"""The event bus: three ways to reach listeners.

- `emit` tells and does not wait; each listener's failure is contained by itself, also when it
  comes later out of a coroutine (ER-01).
- `serial` awaits one listener after the other; a failure is the caller's (ER-05), and the first
  answer that is something ends it (TS-02).
- `waterfall` asks: each listener gets the payload and `next`, the rest of the chain. What it
  returns is what the listener outside of it sees; the innermost answer is the default. A
  listener that does not call `next` hides the rest (PS-05 to PS-07).

The set of listeners is resolved before the first is called (ER-02). Before an event is emitted,
interceptors see it; when one raises, no listener is told.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final, TypeVar, cast

from loopspec.impl.errors import DispatchFailed, UnknownName
from loopspec.impl.listeners import Listeners, OnFailure, log_failure
from loopspec.impl.payloads import NAMES

T = TypeVar("T")

# A payload's type follows from the name, which Python cannot say; this is the one dispatch
# dictionary of the part, and the only place with Any.
Listener = Callable[..., Any]
Interceptor = Callable[[str, object], object]

THROWING: Final = ("agent/inbox/inserted", "agent/inbox/claimed", "agent/status")
"""The events of which the contract says what a failed dispatch does, the status `running` alone
(ER-08 to ER-10)."""
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Bus:
    """Listeners by name, in the order of their calls."""

    def __init__(self, on_failure: OnFailure = log_failure) -> None:
        """Start without listeners; `on_failure(name, error)` is told of contained failures."""
        self._listeners: dict[str, Listeners[Listener]] = {}
        self._on_failure = on_failure
        self._spawns: list[Spawn] = []
        self._interceptors: Listeners[Interceptor] = Listeners()
        self.throws = False

    def on(self, name: str, listener: Listener, prepend: bool = False) -> Callable[[], None]:
        """Add a listener, at the front if `prepend`, and return the function that removes it.

        Names outside `agent/` are free for plug-ins; a name under `agent/` that the catalogue
        does not list raises `UnknownName`, since it could never be called.
        """
        if name.startswith("agent/") and name not in NAMES:
            msg = f"there is no seam or event {name!r}; there are {', '.join(sorted(NAMES))}."
            raise UnknownName(msg)
        return self._listeners.setdefault(name, Listeners()).add(listener, prepend=prepend)

    def emit(self, name: str, payload: object) -> None:
        """Call every listener now; whatever one raises, now or later, reaches nobody else.

        When an interceptor raises nobody is called. That is contained too, unless the agent's
        policy says that it `throws`: then `DispatchFailed` is raised, for the events in `THROWING`.
        """
        if not self._passes(name, payload):
            return
        for listener in self._resolved(name):
            try:
                result = listener(payload)
            except Exception as error:
                self._on_failure(name, error)
                continue
            if inspect.isawaitable(result):
                self._contain(name, result)

    async def serial(self, name: str, payload: object) -> None:
        """Await the listeners one after the other; without any it does not wait at all.

        The first failure ends it and is raised. The first answer other than None and False ends
        it too, and is not looked at any further (TS-02, TS-03).
        """
        for listener in self._resolved(name):
            result = listener(payload)
            if inspect.isawaitable(result):
                result = await result
            if result is not None and result is not False:
                return

    async def waterfall(self, name: str, payload: object, default: T) -> T:
        """Return the outermost listener's answer; failures are raised.

        The chain is consumed: a second `next()` in one listener reaches the listeners that were
        not reached before, then the default again (PS-08).
        """
        chain = iter(self._resolved(name))

        async def advance() -> T:
            for listener in chain:
                answer = listener(payload, advance)
                return cast("T", await answer if inspect.isawaitable(answer) else answer)
            return default

        return await advance()

    def intercept(self, interceptor: Interceptor) -> Callable[[], None]:
        """Let `interceptor(name, payload)` see each event before it is emitted; returns how to end.

        It is meant for whoever wires the parts up, not for plug-ins: what it raises keeps the event
        from every listener (A10).
        """
        return self._interceptors.add(interceptor)

    def own(self, spawn: Spawn) -> Callable[[], None]:
        """Let `spawn` run the coroutines of emitted listeners until the returned call.

        An agent lends its task group here, so that no such coroutine is without an owner.
        """
        self._spawns.append(spawn)

        def release() -> None:
            if spawn in self._spawns:
                self._spawns.remove(spawn)

        return release

    def contain(self, name: str, error: Exception) -> None:
        """Report a failure that must reach nobody else, as those of `emit` are."""
        self._on_failure(name, error)

    def _passes(self, name: str, payload: object) -> bool:
        for interceptor in self._interceptors.resolved():
            try:
                interceptor(name, payload)
            except Exception as error:
                if self.throws and _throws(name, payload):
                    msg = f"{name} was not dispatched: {error}."
                    raise DispatchFailed(msg) from error
                self._on_failure(name, error)
                return False
        return True

    def _resolved(self, name: str) -> tuple[Listener, ...]:
        listeners = self._listeners.get(name)
        return () if listeners is None else listeners.resolved()

    def _contain(self, name: str, result: Awaitable[object]) -> None:
        async def settle() -> None:
            try:
                await result
            except Exception as error:
                self._on_failure(name, error)

        if self._spawns:
            self._spawns[-1](settle())
            return
        if inspect.iscoroutine(result):
            result.close()
        msg = f"a listener of {name!r} is asynchronous, and no open agent owns this bus."
        self._on_failure(name, RuntimeError(msg))


def _throws(name: str, payload: object) -> bool:
    return name in THROWING and getattr(payload, "status", "") != "idle"
