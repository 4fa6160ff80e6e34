"""What the connection to a server does to a call: the failures that every stack meets over HTTP and over stdio."""

from typing import Any, NamedTuple

import failwell as fw
from tests.http_faults import Answer, Cut, FaultServer, Hang, Refusal, Reset, Restart

READS = {"readOnlyHint": True}
LATER = {"Retry-After": "1"}
FOUND = Answer("3 tickets found")
SENT = Answer("Sent.")
CHECK = "The call may have taken effect"
HTTP, STDIO = "HTTP", "stdio"


class Fault(NamedTuple):
    """A failure: what the calls of a tool meet over HTTP, or what the server over stdio does in the first one.

    `calls` and `effects` are how often the server is called and the tool runs with us, `sees` what the model sees then,
    `asked` how many seconds the server asks to wait. Over stdio a stack may open a new connection or not, so that both
    figures are at most those.
    """

    title: str
    tool: str
    transport: str
    meets: tuple[Any, ...]
    calls: int
    effects: int
    sees: str
    annotations: dict[str, bool] | None = None
    asked: float | None = None
    connecting: tuple[Any, ...] = ()
    policy: fw.Policy = fw.Policy()

    def server(self) -> FaultServer:
        """Return a server over HTTP that does this."""
        server = FaultServer()
        described = {"annotations": self.annotations} if self.annotations else {}
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        server.tool(self.tool, *self.meets, inputSchema=schema, description="A tool.", **described)
        server.on("initialize", *self.connecting)
        return server


_PATIENT = fw.Policy(timeout=2)

FAULTS = (
    Fault("429, Retry-After: 1", "search", HTTP, (Refusal(429, LATER), FOUND), 2, 1, FOUND.text, asked=1),
    Fault("503, Retry-After: 1, reads", "find", HTTP, (Refusal(503, LATER), FOUND), 2, 1, FOUND.text, READS, asked=1),
    Fault("503, Retry-After: 1, acts", "send", HTTP, (Refusal(503, LATER), SENT), 1, 0, CHECK),
    Fault("connection reset, reads", "find", HTTP, (Reset(), FOUND), 2, 2, FOUND.text, READS),
    Fault("connection reset, acts", "send", HTTP, (Reset(), SENT), 1, 1, CHECK),
    Fault("answer cut off, reads", "find", HTTP, (Cut(events=True), FOUND), 2, 2, FOUND.text, READS),
    Fault("answer cut off, acts", "send", HTTP, (Cut(events=True), SENT), 1, 1, CHECK),
    Fault("restart, session lost, acts", "send", HTTP, (Restart(), SENT), 2, 1, SENT.text),
    Fault("503 while connecting", "send", HTTP, (SENT,), 1, 1, SENT.text, connecting=(Refusal(503, LATER),)),
    Fault("hangs, acts", "send", HTTP, (Hang(),), 1, 1, CHECK, policy=_PATIENT),
    Fault("server dies, reads", "find", STDIO, ("die", "3 tickets found"), 3, 3, "", READS),
    Fault("server dies, acts", "send", STDIO, ("die", "Sent."), 1, 1, CHECK),
    Fault("hangs, acts", "send", STDIO, ("hang",), 1, 1, CHECK, policy=_PATIENT),
)
