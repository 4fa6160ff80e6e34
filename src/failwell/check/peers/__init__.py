"""The server under check, however it is reached."""

from failwell.check.peers.peer import BadServer, Peer, PeerGone

__all__ = ["BadServer", "Peer", "PeerGone"]
