"""A disk that can be cut off and can fail: below SQLite, as a file system of apsw.

`Disk` passes every call on and writes down what would change the disk. `states` makes of that what
a power cut may leave: writes that were not synced are lost, kept, or torn at 512 bytes. A call can
be made to fail, once or from then on.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import apsw
import attrs

from loopspec.impl.database import Connection

SECTOR: Final = 512

CHECKPOINTS: Final = ("wal_autocheckpoint = 1000", "wal_autocheckpoint = 3")
"""As the log has it, and so that most commits move pages into the file."""

SPILLS: Final = "cache_size = 1"
"""Without a cache an append reads and spills pages, so that it can fail as well as a flush."""

_NAMES: Final = itertools.count(1)


@attrs.frozen
class Change:
    """One call that changes the disk: `write`, `truncate`, `sync` or `delete` of a file.

    `folder` is the sync of the folder: what was deleted before it stays deleted.
    """

    kind: str
    file: str
    offset: int = 0
    data: bytes = b""


class Disk(apsw.VFS):
    """A file system for one test; connect with `connect`."""

    def __init__(self) -> None:
        """Register under a name of its own."""
        self.name = f"disk{next(_NAMES)}"
        self.changes: list[Change] = []
        self.calls = 0
        self.fails_at = 0
        self.fails_on = False
        self.failure: type[apsw.Error] = apsw.IOError
        super().__init__(self.name, "")

    def folder_synced(self, _: Path) -> None:
        """Stand in for the sync of a log's folder, which does not go through SQLite."""
        try:
            self.called()
        except apsw.Error as error:
            raise OSError("injected") from error
        self.changes.append(Change("folder", ""))

    def connect(self, uri: str) -> Connection:
        """Open a database on this disk."""
        return Through(uri, self.name)

    def called(self) -> None:
        """Count a call, and let it fail if it is its turn."""
        self.calls += 1
        if self.calls == self.fails_at or (self.fails_on and 0 < self.fails_at < self.calls):
            raise self.failure("injected")

    def heal(self) -> None:
        """Nothing fails any more."""
        self.fails_at = 0

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: ANN401
        """Open a file of the system below."""
        self.called()
        return DiskFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        """Delete a file; without `syncdir` a power cut may bring it back."""
        self.called()
        super().xDelete(filename, syncdir)
        self.changes.append(Change("delete", Path(filename).name, int(syncdir)))


class DiskFile(apsw.VFSFile):
    """An open file of a disk."""

    def __init__(self, disk: Disk, name: Any, flags: Any) -> None:  # noqa: ANN401
        """Open it below."""
        self._disk = disk
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._name = Path(path).name if path else ""
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:
        """Read."""
        self._disk.called()
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: ANN401
        """Write."""
        self._disk.called()
        super().xWrite(data, offset)
        self._disk.changes.append(Change("write", self._name, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        """Cut the file."""
        self._disk.called()
        super().xTruncate(newsize)
        self._disk.changes.append(Change("truncate", self._name, newsize))

    def xSync(self, flags: int) -> None:
        """Make durable what was written."""
        self._disk.called()
        super().xSync(flags)
        self._disk.changes.append(Change("sync", self._name))


class Rows:
    """All rows of a statement that has finished."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        """Keep them."""
        self._rows = rows

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row."""
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows that are left."""
        rows, self._rows = self._rows, []
        return rows


class Through:
    """A connection of apsw with the face and the errors of `sqlite3`."""

    def __init__(self, uri: str, vfs: str) -> None:
        """Open a database on a disk."""
        flags = (
            apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
            if "mode=rwc" in uri
            else apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READWRITE
        )
        try:
            self._inner = apsw.Connection(f"{uri}&vfs={vfs}", flags=flags)
        except apsw.Error as error:
            raise sqlite3.OperationalError(str(error)) from error

    @property
    def in_transaction(self) -> bool:
        """As SQLite says."""
        return self._inner.in_transaction

    def execute(self, sql: str, parameters: Any = (), /) -> Any:  # noqa: ANN401
        """Run a statement to its end."""
        try:
            return Rows(list(self._inner.execute(sql, parameters)))
        except apsw.Error as error:
            raise sqlite3.OperationalError(str(error)) from error

    def close(self) -> None:
        """Close the connection; what fails meanwhile is kept quiet, as `sqlite3` does."""
        with contextlib.suppress(apsw.Error):
            self._inner.close()


@attrs.define
class _Kept:
    """A file at a moment: what is durable, and what was done to it since its last sync."""

    durable: bytearray | None = None
    since: list[Change] = attrs.field(factory=list)


def states(
    changes: list[Change], cut: int, torn: int, rng: random.Random
) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Return what a power cut before the change number `cut` may leave, each with its kind."""
    files: dict[str, _Kept] = {}
    for change in changes[:cut]:
        if change.kind == "folder":
            for name in [n for n, k in files.items() if any(c.kind == "delete" for c in k.since)]:
                kept = files[name]
                last = max(i for i, c in enumerate(kept.since) if c.kind == "delete")
                kept.durable, kept.since = None, kept.since[last + 1 :]
            continue
        kept = files.setdefault(change.file, _Kept())
        if change.kind == "sync" or (change.kind == "delete" and change.offset):
            content = kept.durable
            for earlier in (*kept.since, change):
                content = _done(content, earlier, whole=True, rng=rng)
            kept.durable, kept.since = content, []
        else:
            kept.since.append(change)
    for kind in ("dropped", "kept", *(["torn"] * torn)):
        left: dict[str, bytes] = {}
        for name, kept in files.items():
            content = None if kept.durable is None else bytearray(kept.durable)
            for change in kept.since:
                if kind == "kept" or (kind == "torn" and change.kind == "write"):
                    content = _done(content, change, whole=kind == "kept", rng=rng)
                elif kind == "torn" and rng.random() < 0.5:
                    content = _done(content, change, whole=True, rng=rng)
            if content is not None:
                left[name] = bytes(content)
        yield kind, left


def _done(
    content: bytearray | None, change: Change, *, whole: bool, rng: random.Random
) -> bytearray | None:
    """Apply a change to the content of a file, of a write perhaps only some sectors."""
    if change.kind == "sync":
        return content
    if change.kind == "delete":
        return None
    content = bytearray() if content is None else content
    if change.kind == "truncate":
        del content[change.offset :]
        return content
    at, data = change.offset, change.data
    while data:
        size = min(SECTOR - at % SECTOR, len(data))
        if whole or rng.random() < 0.5:
            content.extend(bytes(max(0, at + size - len(content))))
            content[at : at + size] = data[:size]
        at, data = at + size, data[size:]
    return content
