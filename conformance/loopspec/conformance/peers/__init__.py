"""Loops that are not ours, held to what their own documents claim, and to nothing else."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from loopspec.conformance.peers.claims import Claim, Peer
from loopspec.conformance.peers.pi import PI
from loopspec.conformance.peers.pydantic_ai import PYDANTIC_AI

__all__ = ["PEERS", "Claim", "Peer"]

PEERS: Final = MappingProxyType({each.name: each for each in (PI, PYDANTIC_AI)})
"""Each peer by the name of its profile."""
