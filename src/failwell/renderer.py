"""`render`: a failure as one short text for a model, with what happened and what to do next."""

from collections.abc import Iterator
from typing import Any

from failwell.advice import ADVICE, Decision, Policy, decide, is_guess, is_our_sentence
from failwell.failure import Failure, FieldProblem, facts, in_seconds
from failwell.redact.canonical import RedactedFailure, canonical

_LONGEST_MESSAGE = 600
_MOST_FIELDS = 10
_SHORTEST_DELAY = 0.5
_WAIT = "Wait,"


def render(failure: Failure, hints: Any = None, *, attempt: int = 1, policy: Policy = ADVICE) -> str:
    """Return a failure for a model: what happened, what is wrong with which field, and what to do next.

    Of a failure that was read from text without confidence, only that text and the next step it names are shown.

    Args:
        failure: what happened.
        hints: what is known of the tool: `Hints`, or the tool's annotations.
        attempt: how often this call has been made.
        policy: how often and how long to try.
    """
    return render_redacted(canonical(failure), hints, attempt=attempt, policy=policy)


def render_redacted(failure: RedactedFailure, hints: Any = None, *, attempt: int = 1, policy: Policy = ADVICE) -> str:
    """Do what `render` does for a failure that is redacted already."""
    if is_guess(failure):
        return failure.message + (f"\nNext: {failure.suggestion}" if failure.suggestion else "")
    return "\n".join(_lines(failure, decide(failure, hints, attempt=attempt, policy=policy)))


def _lines(failure: Failure, decision: Decision) -> Iterator[str]:
    message = failure.message.partition("\n")[0] if failure.fields else failure.message
    if len(message) > _LONGEST_MESSAGE:
        message = message[: _LONGEST_MESSAGE - 1] + "…"
    where = f" in {failure.tool}" if failure.tool else ""
    code = f", {failure.code}" if failure.code and failure.code != failure.type else ""
    yield f"{failure.type}{code}{where}: {message}"
    for problem in failure.fields[:_MOST_FIELDS]:
        yield f"- {_field(problem)}"
    if len(failure.fields) > _MOST_FIELDS:
        yield f"- and {len(failure.fields) - _MOST_FIELDS} more fields"
    yield f"Next: {_step(decision)}"


def _field(problem: FieldProblem) -> str:
    text = "; ".join(facts(problem))
    return text if text.startswith(problem.path) else f"{problem.path}: {text}"


def _step(decision: Decision) -> str:
    """Return the next step: the sentence, and what it cannot hold: the names to use and the time to wait."""
    parts = [decision.suggestion or ""]
    if decision.action == "use":
        named = f"Use {' or '.join(decision.actions)}."
        parts = [named] if is_our_sentence(parts[0]) else [parts[0], named]
    if decision.delay is not None and decision.delay >= _SHORTEST_DELAY:
        wait = f"Wait at least {in_seconds(decision.delay)}"
        if _WAIT in parts[0] and is_our_sentence(parts[0]):
            parts[0] = parts[0].replace(_WAIT, f"{wait},")
        else:
            parts.append(f"{wait}.")
    return " ".join(filter(None, parts))
