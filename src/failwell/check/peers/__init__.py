"""The server under check, however it is reached."""

from failwell.check.peers.peer import BadServer, Gone, Peer

__all__ = ["BadServer", "Gone", "Peer"]
