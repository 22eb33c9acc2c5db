"""The chain of a session's records: each link vouches for everything before it.

SQLite keeps no checksum of a page, so a flipped bit comes back as if it had been written. A link is
made of the previous link, the number and the body; a record that changed, moved or vanished in the
middle breaks every link behind it. A chain cannot prove that its end is the end: that is what the
seal of a closed session is for (`close_seal`).
"""

from __future__ import annotations

import hashlib
from typing import Final

LINK_BYTES: Final = 16


def first_link(session: str) -> bytes:
    """Return what the link of record 0 is made from; it differs from session to session."""
    return _digest(b"loopspec session\0" + session.encode("utf-8"))


def name_mark(session_id: int, session: str) -> bytes:
    """Return what stands beside a session's name, so that neither name nor id can change unseen."""
    return _digest(
        b"loopspec name\0" + session_id.to_bytes(8, "big", signed=True) + session.encode("utf-8")
    )


def next_link(previous: bytes, seq: int, body: bytes) -> bytes:
    """Return the link of a record, from the one before it."""
    return _digest(previous + seq.to_bytes(8, "big") + body)


def close_seal(head: bytes, count: int) -> bytes:
    """Return the seal of a session that was closed with so many records, the last link given."""
    return _digest(b"closed\0" + head + count.to_bytes(8, "big"))


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:LINK_BYTES]
