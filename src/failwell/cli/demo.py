"""The demo: a server that fails in every way, and what an agent decides with and without structure."""

import json
from collections.abc import Callable
from typing import Any, NoReturn

from msgspec import Struct

import failwell as fw
from failwell.dialects import whole

TODAY = "today"
"""The name of the answer that most servers give: the exception's text, with `isError` and nothing else."""

_PASSWORD = "hunter2"


class Answer(Struct, frozen=True):
    """What a server sent, what an agent makes of it, and whether that is right: whole, and from its text alone."""

    result: dict[str, Any]
    decision: fw.Decision | None
    right: bool
    right_from_text: bool
    leaks: bool

    @property
    def text(self) -> str:
        """The text that a model sees."""
        found: str = self.result["content"][0]["text"]
        return found


class Scene(Struct, frozen=True):
    """One call that fails, and its answer today and in each dialect."""

    title: str
    tool: str
    arguments: dict[str, Any]
    hints: dict[str, bool]
    expected: str
    answers: dict[str, Answer]


class _Call(Struct, frozen=True):
    title: str
    handler: Callable[..., Any]
    arguments: dict[str, Any]
    expected: fw.Decision
    hints: dict[str, bool] = {}


def find_invoice(invoice_id: str) -> NoReturn:
    """Return an invoice."""
    raise fw.NotFound.of("invoice", invoice_id, actions=["list_invoices"])


def create_user(email: str, role: str) -> None:
    """Create a user."""
    problems = fw.Validation(tool="create_user")
    if "@" not in email:
        problems.add("email", email, "Not an e-mail address", expected="an address such as ann@example.com")
    if role not in ("admin", "user"):
        problems.add("role", role, "No such role", kind="enum", options=["admin", "user"])
    problems.raise_if_any()


def billing(action: str) -> NoReturn:
    """Do something with bills: which, is said by the action."""
    raise fw.Invalid(
        f"The action '{action}' does not exist.", code="UNKNOWN_ACTION", actions=["list", "create", "delete"]
    )


def reserve_files(pattern: str) -> NoReturn:
    """Reserve files for one agent."""
    holder = {"agent_id": "agent-2", "pattern": pattern}
    raise fw.Conflict(f"agent-2 has reserved {pattern}.", details={"conflicts": [holder]})


def delete_project(project: str) -> NoReturn:
    """Delete a project."""
    raise fw.Denied(f"Only owners may delete {project}.", details={"project": project, "needs": "owner"})


def search_web(query: str) -> NoReturn:
    """Search the web."""
    raise fw.RateLimited("Only 10 searches a minute are allowed.", retry_after=30, details={"query": query})


def get_weather(city: str) -> NoReturn:
    """Return the weather of a city."""
    raise fw.TimedOut(f"The weather of {city} did not arrive within 10 seconds.", details={"city": city, "limit": 10})


def send_email(to: str) -> NoReturn:
    """Send an e-mail."""
    raise fw.TimedOut(f"The mail server took the message to {to} and fell silent.", actions=["list_sent"])


def list_bills() -> NoReturn:
    """List the bills, in the old format."""
    raise fw.ToolFailure("list_bills is going away.", code="DEPRECATED", severity="warning", actions=["list_invoices"])


def render_report(month: str) -> NoReturn:
    """Return the report of a month."""
    raise fw.Internal(f"The report of {month} has a broken template.", details={"month": month})


def export_customers() -> NoReturn:
    """Write all customers to a file."""
    raise RuntimeError(f"cannot connect to postgres://app:{_PASSWORD}@db.internal/customers")


def _right(action: Any, **more: Any) -> fw.Decision:
    return fw.Decision(action=action, reason="", **more)


_CALLS = (
    _Call(
        "a name that does not exist", find_invoice, {"invoice_id": "inv_404"}, _right("use", actions=("list_invoices",))
    ),
    _Call("two wrong fields", create_user, {"email": "ann", "role": "boss"}, _right("fix_input")),
    _Call("a misspelt action", billing, {"action": "destory"}, _right("fix_input")),
    _Call("somebody else holds it", reserve_files, {"pattern": "src/*.go"}, _right("wait")),
    _Call("not allowed", delete_project, {"project": "apollo"}, _right("escalate")),
    _Call("too many requests", search_web, {"query": "mcp"}, _right("retry", delay=30), {"readOnlyHint": True}),
    _Call("a timeout while reading", get_weather, {"city": "Oslo"}, _right("retry"), {"readOnlyHint": True}),
    _Call("a timeout while sending", send_email, {"to": "ann@example.com"}, _right("verify", actions=("list_sent",))),
    _Call("a warning", list_bills, {}, _right("use", actions=("list_invoices",)), {"readOnlyHint": True}),
    _Call("a broken tool", render_report, {"month": "May"}, _right("stop"), {"readOnlyHint": True}),
    _Call("a crash", export_customers, {}, _right("stop")),
)


def play(dialects: tuple[str, ...]) -> list[Scene]:
    """Return every scene, answered as today and in each of the dialects."""
    return [
        Scene(
            title=call.title,
            tool=call.handler.__name__,
            arguments=call.arguments,
            hints=call.hints,
            expected=call.expected.action,
            answers={name: _judged(call, name) for name in (TODAY, *dialects)},
        )
        for call in _CALLS
    ]


def score(scenes: list[Scene]) -> dict[str, dict[str, int]]:
    """Return, for each way to answer, how many decisions were right and how many secrets went out."""
    return {
        name: {
            "right": sum(scene.answers[name].right for scene in scenes),
            "right_from_text": sum(scene.answers[name].right_from_text for scene in scenes),
            "of": len(scenes),
            "leaks": sum(scene.answers[name].leaks for scene in scenes),
        }
        for name in scenes[0].answers
    }


def _answered(call: _Call, dialect: str) -> dict[str, Any]:
    """Answer a `tools/call` as a server would."""
    if dialect != TODAY:
        handler: Callable[..., object] = call.handler
        return fw.guard(dialect=dialect, hints=call.hints)(handler)(**call.arguments)
    try:
        return fw.success(call.handler(**call.arguments))
    except Exception as exc:
        text = f"Error executing tool {call.handler.__name__}: {exc}"
        return {"content": [{"type": "text", "text": text}], "isError": True}


def _judged(call: _Call, dialect: str) -> Answer:
    result = _answered(call, dialect)
    decided = _decided(call, fw.read(result))
    kept = {key: value for key, value in result.get("_meta", {}).items() if key != whole.META_KEY}
    spoken = None if dialect == TODAY else dialect
    return Answer(
        result=result,
        decision=decided,
        right=_is_right(decided, call.expected),
        right_from_text=_is_right(_decided(call, fw.read({**result, "_meta": kept}, dialect=spoken)), call.expected),
        leaks=_PASSWORD in json.dumps(result),
    )


def _decided(call: _Call, failure: fw.Failure | None) -> fw.Decision | None:
    return None if failure is None else fw.decide(failure, call.hints)


def _is_right(decided: fw.Decision | None, expected: fw.Decision) -> bool:
    return (
        decided is not None
        and decided.action == expected.action
        and (not expected.actions or decided.actions == expected.actions)
        and (decided.delay or 0) >= (expected.delay or 0)
    )
