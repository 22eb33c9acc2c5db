"""Inserting and committing: one class, which runs in place or on the writer's thread.

A record is inserted inside an open `BEGIN IMMEDIATE` with the link of its chain. `commit` makes
everything inserted since the last commit durable, at once and all or none.
"""

from __future__ import annotations

from loopspec.impl.chain import close_seal, next_link
from loopspec.impl.database import Connection


class Commits:
    """The one connection that writes a log's file, and the end of each session's chain."""

    def __init__(self, connection: Connection) -> None:
        """Take over a connection that is set up for writing."""
        self.connection = connection
        self._heads: dict[str, bytes] = {}
        self._sealed: set[str] = set()
        self._unsealed: set[str] = set()
        self._owes_a_fold = False

    def know(self, session: str, head: bytes, *, sealed: bool) -> None:
        """Go on behind this link; `sealed` when the session has the seal of a closed one."""
        self._heads[session] = head
        if sealed:
            self._sealed.add(session)

    @property
    def pending(self) -> bool:
        """True when something is inserted and not committed."""
        return self.connection.in_transaction

    def insert(self, session: str, seq: int, body: bytes) -> None:
        """Add a record to the open transaction, which begins here if none is; may raise."""
        connection = self.connection
        if not connection.in_transaction:
            # SQLite may have rolled back by itself what took the seals away.
            self._unsealed.clear()
            connection.execute("BEGIN IMMEDIATE")
        if session in self._sealed and session not in self._unsealed:
            connection.execute("DELETE FROM closed WHERE session = ?", (session,))
            self._unsealed.add(session)
        link = next_link(self._heads[session], seq, body)
        connection.execute("INSERT INTO record VALUES (?, ?, ?, ?)", (session, seq, body, link))
        self._heads[session] = link

    def seal(self, session: str, count: int) -> None:
        """Seal a session as closed with so many records, unless it has its seal."""
        if session in self._sealed:
            return
        if not self.connection.in_transaction:
            self.connection.execute("BEGIN IMMEDIATE")
        seal = close_seal(self._heads[session], count)
        self.connection.execute(
            "INSERT OR REPLACE INTO closed VALUES (?, ?, ?)", (session, count, seal)
        )
        self._sealed.add(session)

    def commit(self) -> None:
        """Make durable what was inserted; may raise, and nothing is known then until a reread."""
        if self.connection.in_transaction:
            self.connection.execute("COMMIT")
        if self._unsealed:
            self._sealed -= self._unsealed
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
