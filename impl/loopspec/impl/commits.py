"""Inserting and committing: one class, which runs in place or on the writer's thread.

Records are inserted inside an open `BEGIN IMMEDIATE` with the links of their chains. `commit` makes
everything inserted since the last commit durable, at once and all or none.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final

from loopspec.impl.chain import close_seal, name_mark, next_link
from loopspec.impl.database import Connection

ROWS_MAX: Final = 64
"""Rows of one statement: a statement costs more than a row, and its text is parsed once."""

INSERT: Final = tuple(
    "INSERT INTO record (session, seq, body, chain) VALUES " + ", ".join(["(?, ?, ?, ?)"] * rows)
    for rows in range(ROWS_MAX + 1)
)
"""The statement for each number of rows."""


class Commits:
    """The one connection that writes a log's file, and the end of each session's chain."""

    def __init__(self, connection: Connection) -> None:
        """Take over a connection that is set up for writing."""
        self.connection = connection
        self._ids: dict[str, int] = {}
        self._last_id = 0
        self._heads: dict[str, bytes] = {}
        self._sealed: set[str] = set()
        self._unsealed: set[str] = set()
        self._resealed: set[str] = set()
        self._owes_a_fold = False

    def know_names(self, ids: Mapping[str, int]) -> None:
        """The sessions that have a name in the file, with the number that stands for it."""
        self._ids.update(ids)
        self._last_id = max(self._ids.values(), default=0)

    def number_of(self, session: str) -> int | None:
        """Return the number that stands for a session; None while it has no record and no seal."""
        return self._ids.get(session)

    def know(self, session: str, head: bytes, *, sealed: bool) -> None:
        """Go on behind this link; `sealed` when the session has the seal of a closed one."""
        self._heads[session] = head
        if sealed:
            self._sealed.add(session)

    @property
    def pending(self) -> bool:
        """True when something is inserted and not committed."""
        return self.connection.in_transaction

    def insert(self, rows: Sequence[tuple[str, int, bytes]]) -> None:
        """Add records (session, number, body) to the open transaction, which begins here at need.

        May raise: then none of them counts, and what was pending stays as it was unless SQLite has
        rolled back. Some may stand in the transaction, unless there was only one.
        """
        self._begin()
        before = self._last_id
        heads: dict[str, bytes] = {}
        values: list[object] = []
        try:
            for session, seq, body in rows:
                head = heads.get(session)
                if head is None:
                    self._enter(session)
                    head = self._heads[session]
                heads[session] = link = next_link(head, seq, body)
                values += (self._ids[session], seq, body, link)
            for start in range(0, len(rows), ROWS_MAX):
                part = values[4 * start : 4 * (start + ROWS_MAX)]
                self.connection.execute(INSERT[len(part) // 4], part)
        except sqlite3.Error:
            self._leave(before)
            raise
        self._heads.update(heads)

    def seal(self, session: str, count: int) -> None:
        """Seal a session as closed with so many records, unless it has its seal."""
        if session in self._sealed and session not in self._unsealed:
            return
        self._begin()
        seal = close_seal(self._heads[session], count)
        self.connection.execute(
            "INSERT OR REPLACE INTO closed VALUES (?, ?, ?)", (self._named(session), count, seal)
        )
        self._sealed.add(session)
        self._resealed.add(session)

    def commit(self) -> None:
        """Make durable what was inserted; may raise, and nothing is known then until a reread."""
        if self.connection.in_transaction:
            self.connection.execute("COMMIT")
        if self._unsealed:
            self._sealed -= self._unsealed - self._resealed
            self._unsealed.clear()
            self._owes_a_fold = True
        if self._owes_a_fold:
            # The seals must be gone from the file itself before anything behind them counts: a
            # rotten frame drops the rest of the write-ahead log, and with it their removal, and
            # the session would read as one that was closed long ago.
            self._owes_a_fold = not self.fold()

    def fold(self) -> bool:
        """Move the write-ahead log into the file; False when a reader is in the way."""
        busy = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        return not busy

    def _begin(self) -> None:
        if not self.connection.in_transaction:
            # SQLite may have rolled back by itself what took the seals away.
            self._unsealed.clear()
            self._resealed.clear()
            self.connection.execute("BEGIN IMMEDIATE")

    def _enter(self, session: str) -> None:
        """Give the session its number, and take its seal away."""
        number = self._named(session)
        if session in self._sealed and session not in self._unsealed:
            self.connection.execute("DELETE FROM closed WHERE session = ?", (number,))
            self._unsealed.add(session)

    def _named(self, session: str) -> int:
        """Return the number that stands for a session; a new one gets the next."""
        number = self._ids.get(session)
        if number is None:
            number = self._last_id + 1
            self.connection.execute(
                "INSERT INTO session VALUES (?, ?, ?)",
                (number, session, name_mark(number, session)),
            )
            self._ids[session] = self._last_id = number
        return number

    def _leave(self, last: int) -> None:
        """Forget the names after this number: their first records were refused."""
        if self._last_id == last:
            return
        if self.pending:
            with contextlib.suppress(sqlite3.Error):
                self.connection.execute("DELETE FROM session WHERE id > ?", (last,))
        self._ids = {name: number for name, number in self._ids.items() if number <= last}
        self._last_id = last
