"""`render`: a failure as one short text for a model, what happened and what to do next."""

from collections.abc import Iterator
from typing import Any

from failwell.advice import Decision, decide
from failwell.failure import Failure, FieldProblem
from failwell.redact.canonical import canonical

_LONGEST_MESSAGE = 600
_MOST_FIELDS = 10
_MOST_OPTIONS = 10
_STEPS = {
    "retry": "Make the same call again{wait}.",
    "fix_input": "Correct the input and call again once.",
    "use": "Use {actions}.",
    "wait": "Wait{wait} until that changes, then call again.",
    "escalate": "Do not call again. Tell the user.",
    "verify": "Find out whether the call took effect before you make it again.",
    "stop": "Do not make this call again.",
}


def render(failure: Failure, hints: Any = None, *, attempt: int = 1) -> str:
    """Return a failure for a model: what happened, what is wrong with which field, and what to do next and why.

    Args:
        failure: what happened.
        hints: what is known of the tool: `Hints`, or the tool's annotations.
        attempt: how often this call has been made.
    """
    failure = canonical(failure)
    decision = decide(failure, hints, attempt=attempt)
    return "\n".join(_lines(failure, decision))


def _lines(failure: Failure, decision: Decision) -> Iterator[str]:
    message = failure.message.partition("\n")[0] if failure.fields else failure.message
    if len(message) > _LONGEST_MESSAGE:
        message = message[: _LONGEST_MESSAGE - 1] + "…"
    where = f" in {failure.tool}" if failure.tool else ""
    code = f", {failure.code}" if failure.code else ""
    yield f"{failure.type}{code}{where}: {message}"
    for problem in failure.fields[:_MOST_FIELDS]:
        yield f"- {_field(problem)}"
    if len(failure.fields) > _MOST_FIELDS:
        yield f"- and {len(failure.fields) - _MOST_FIELDS} more fields"
    yield f"Next: {_step(decision)} {decision.reason}"
    if decision.suggestion:
        yield f"Hint: {decision.suggestion}"


def _field(problem: FieldProblem) -> str:
    text = problem.message if problem.message.startswith(problem.path) else f"{problem.path}: {problem.message}"
    if problem.expected and problem.expected not in text:
        text += f"; expected {problem.expected}"
    listed = [str(option) for option in problem.options[:_MOST_OPTIONS]]
    if listed and not all(option in text for option in listed):
        text += f"; one of {', '.join(listed)}"
    if problem.did_you_mean and problem.did_you_mean not in text:
        text += f"; did you mean {problem.did_you_mean}?"
    return text


def _step(decision: Decision) -> str:
    wait = "" if decision.delay is None else f" after {decision.delay:g} seconds"
    if decision.action == "wait":
        wait = "" if decision.delay is None else f" at least {decision.delay:g} seconds"
    return _STEPS[decision.action].format(wait=wait, actions=" or ".join(decision.actions))
