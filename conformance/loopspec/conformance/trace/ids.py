"""A set of message ids of any size in bounded memory: the newest stand here, the rest on disk.

Theory. An id that comes again is a breach however late it comes, so none may be forgotten; and a
log may have more ids than memory holds. Of each id its 64-bit hash is kept, keyed anew for each
process, so that no writer can choose two that collide; among ten million ids two do by chance in
one log of 400,000. When `KEPT_HERE` have gathered they move, sorted, into a temporary database of
SQLite, which has no name, keeps a few MiB in memory and is gone with its connection.

A copy costs no more than what was added since the last one: what both have in common is frozen and
shared. Frozen sets are put together when they are of like size, so there are few of them.
"""

from __future__ import annotations

import sqlite3
from typing import Final

__all__ = ["KEPT_HERE", "Ids"]

KEPT_HERE: Final = 200_000
"""How many ids are gathered in memory; some 14 MiB."""

CACHE_KIB: Final = 8 * 1024


class Ids:
    """A set of ids; what it has taken it knows for good.

    Two are equal when the same was done to them in the same order.
    """

    __slots__ = ("disks", "gone", "here", "layers", "shares_last", "told")

    def __init__(self) -> None:
        """Begin empty."""
        self.here: set[int] = set()
        self.gone: set[int] = set()
        """What was forgotten and may stand in a layer or on a disk."""
        self.layers: tuple[set[int], ...] = ()
        self.disks: tuple[sqlite3.Connection, ...] = ()
        self.shares_last = False
        """Another one has the last disk too, so that nothing is written there any more."""
        self.told = 0

    def __eq__(self, other: object) -> bool:
        """Whether the same was done to both."""
        return isinstance(other, Ids) and self.told == other.told

    __hash__ = None  # type: ignore[assignment]

    def add(self, message_id: str) -> None:
        """Remember an id."""
        number = hash(message_id)
        self.told = hash((self.told, number))
        self.here.add(number)
        if self.gone:
            self.gone.discard(number)
        if len(self.here) >= KEPT_HERE:
            self.spill()

    def discard(self, message_id: str) -> None:
        """Forget an id."""
        number = hash(message_id)
        self.told = hash((self.told, number, "gone"))
        self.here.discard(number)
        if self.layers or self.disks:
            self.gone.add(number)

    def __contains__(self, message_id: str) -> bool:
        """Whether an id is remembered."""
        number = hash(message_id)
        if number in self.here:
            return True
        if not self.layers and not self.disks:
            return False
        if number in self.gone:
            return False
        if any(number in layer for layer in self.layers):
            return True
        asked = "SELECT 1 FROM id WHERE number = ?"
        return any(disk.execute(asked, (number,)).fetchone() is not None for disk in self.disks)

    def copy(self) -> Ids:
        """The same ids, to go on with in another way."""
        self.freeze()
        self.shares_last = True
        other = Ids()
        other.gone = set(self.gone)
        other.layers, other.disks = self.layers, self.disks
        other.shares_last, other.told = True, self.told
        return other

    def freeze(self) -> None:
        """Make a layer of what has gathered, together with layers that are not much larger."""
        if not self.here:
            return
        layers, newest = list(self.layers), self.here
        while layers and len(layers[-1]) <= 2 * len(newest):
            newest = newest | layers.pop()
        self.layers, self.here = (*layers, newest), set()
        if len(newest) >= KEPT_HERE:
            self.spill()

    def spill(self) -> None:
        """Move what stands in memory to the disk."""
        if not self.disks or self.shares_last:
            self.disks = (*self.disks, begun())
            self.shares_last = False
        gathered = self.here.union(*self.layers)
        disk = self.disks[-1]
        disk.execute("BEGIN")
        rows = ((number,) for number in sorted(gathered))
        disk.executemany("INSERT OR IGNORE INTO id VALUES (?)", rows)
        disk.execute("COMMIT")
        self.here, self.layers = set(), ()


def begun() -> sqlite3.Connection:
    """A private database on the disk: without a name, a journal or a wait for the disk."""
    connection = sqlite3.connect("", isolation_level=None)
    for setting in (f"cache_size = -{CACHE_KIB}", "journal_mode = OFF", "synchronous = OFF"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE id (number INTEGER PRIMARY KEY)")
    return connection
