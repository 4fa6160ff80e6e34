"""Field problems, worded alike for every validator, and `Validation`, which collects them.

Problems are with a value, with all branches of a union, with the signature of a function, or with the name of a tool.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from msgspec import UNSET

from failwell import codes
from failwell._spelling import closest, names_slips
from failwell.errors import Invalid, quoted
from failwell.failure import Failure, FieldProblem, as_tuple, join_path, missing_field, split_path, summary
from failwell.redact.scrubber import is_secret_name
from failwell.schema.tool_names import closest_tools
from failwell.schema.words import either_of, format_of, json_text_of, json_type, shown_value

MOST_PROBLEMS = 50
"""How many problems a validator reports."""

MOST_OPTIONS = 10
"""How many options are all listed; of more, the nearest."""

_MOST_TOOLS = 10
_OPENINGS = {"enum": "Invalid enum value", "const": "Invalid literal value"}
_CHOICES = tuple(_OPENINGS)
_NAMED_PARAMETERS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Argument(NamedTuple):
    """A place in the arguments: the keys that lead there, what was sent there, and whether something must be."""

    keys: tuple[str | int, ...] = ()
    value: Any = UNSET
    required: bool | None = None

    @property
    def path(self) -> str:
        """The keys as one text."""
        return join_path(self.keys)

    @property
    def sent(self) -> Any:
        """What may be echoed: never a secret, nor the arguments as a whole."""
        is_secret = any(isinstance(key, str) and is_secret_name(key) for key in self.keys)
        return UNSET if is_secret or not self.keys else self.value

    def problem(self, kind: str, message: str | None, **more: Any) -> FieldProblem:
        """Return a problem with the value here."""
        return FieldProblem(
            path=self.path, kind=kind, message=message or "", sent=self.sent, required=self.required, **more
        )


def missing_problem(
    place: Argument, *, when: str | None = None, expected: str | None = None, options: Sequence[Any] = ()
) -> FieldProblem:
    """Return the problem of a value that must be sent, always or *when* something else is."""
    message = f"{place.path} is required{f' when {when} is sent' if when else ''}"
    listed = tuple(options[:MOST_OPTIONS])
    return FieldProblem(
        path=place.path, kind="missing", message=message, expected=expected, options=listed, required=True
    )


def unknown_problem(place: Argument, names: Iterable[str]) -> FieldProblem:
    """Return the problem of an unknown key, where the keys in *names* could have been sent."""
    names = tuple(names)
    meant = closest(str(place.keys[-1]), names, most=1)
    options = names if len(names) <= MOST_OPTIONS else ()
    if meant and is_secret_name(meant[0]):
        place = place._replace(value=UNSET)  # a misspelt name does not make its value less of a secret
    return place.problem("unknown", None, options=options, did_you_mean=meant[0] if meant else None)


def wrong_type_problem(place: Argument, types: Sequence[str], *, options: Sequence[Any] = ()) -> FieldProblem:
    """Return the problem of a value that is of none of these JSON types."""
    expected = either_of(types)
    message = f"Expected {expected}, received {json_type(place.value)}"
    return place.problem("type", message, expected=expected, options=tuple(options))


def option_problem(place: Argument, options: Sequence[Any], *, kind: str = "enum") -> FieldProblem:
    """Return the problem of a value that is none of these."""
    sent = place.sent
    texts = [option for option in options if isinstance(option, str)]
    near = _near_misses(sent, texts)
    listed, more = tuple(options), ""
    if len(listed) > MOST_OPTIONS:
        listed = (*near, *(option for option in options if option not in near))[:MOST_OPTIONS]
        more = f" | … ({len(options)} in all)"
    received = "" if sent is UNSET else f", received {shown_value(sent)}"
    message = f"{_OPENINGS[kind]}. Expected {' | '.join(map(shown_value, listed))}{more}{received}"
    return place.problem(kind, message, options=listed, did_you_mean=near[0] if near else None)


def _near_misses(sent: Any, options: Sequence[str]) -> list[str]:
    """Return the options that a value is a slip of: about as long, as `superadmin` is no misspelt `admin`."""
    if isinstance(sent, bool) or not isinstance(sent, str | int) or json_text_of(sent) is None:
        return []
    text = str(sent)
    return [near for near in closest(text, options) if 3 * abs(len(near) - len(text)) <= max(len(near), len(text))]


def format_problem(place: Argument, name: str) -> FieldProblem:
    """Return the problem of a text that is not in the format it should be."""
    known = format_of(name)
    return place.problem("format", f"Invalid {known.label}", expected=known.expected if known.example else known.words)


def nearest_branch(place: Argument, branches: Sequence[list[FieldProblem]]) -> list[FieldProblem]:
    """Return the problems of the branch of a union that the value at *place* comes closest to.

    Where no branch takes a value of this type, all their types are named. Where the branches differ by a field
    that chooses between them, and none has the value sent, all its values are named.
    """
    fitting = [branch for branch in branches if not _is_of_wrong_type(branch, place.path)]
    if not fitting:
        return _all_types(place, branches)
    if len(fitting) > 1 and (found := _choice_of(fitting) or _missing_choice(fitting)):
        return found
    return min(fitting, key=_distance)


def _is_of_wrong_type(branch: Sequence[FieldProblem], path: str) -> bool:
    return any(problem.kind == "type" and problem.path == path for problem in branch)


def _all_types(place: Argument, branches: Sequence[Sequence[FieldProblem]]) -> list[FieldProblem]:
    here = [problem for branch in branches for problem in branch if problem.path == place.path]
    types = [name for p in here if p.kind == "type" and p.expected for name in re.split(", | or ", p.expected)]
    options = _united(problem for problem in here if problem.kind in _CHOICES)
    return [wrong_type_problem(place, types, options=options)] if types else []


def _distance(branch: Sequence[FieldProblem]) -> tuple[int, int]:
    """Rank a branch: one whose constants were sent is meant, then one with fewer problems."""
    return sum(problem.kind == "const" for problem in branch), len(branch)


def _choice_of(branches: Sequence[Sequence[FieldProblem]]) -> list[FieldProblem]:
    """Return the problem of a value that all branches list options for, with the options of all."""
    shared = _shared(branches, lambda problem: problem.kind in _CHOICES)
    if not shared:
        return []
    first = shared[0]
    place = Argument(split_path(first.path), first.sent, first.required)
    problem = option_problem(place, _united(shared))
    chosen = [b for b, p in zip(branches, shared, strict=True) if problem.did_you_mean in p.options]
    rest = [other for other in chosen[0] if other.path != problem.path] if problem.did_you_mean and chosen else []
    return [problem, *rest]


def _missing_choice(branches: Sequence[Sequence[FieldProblem]]) -> list[FieldProblem]:
    """Return the problem of a missing value that chooses the branch, with the options of all."""
    shared = _shared(branches, lambda problem: problem.kind == "missing" and bool(problem.options))
    if not shared or len({problem.options for problem in shared}) == 1:
        return []
    return [missing_problem(Argument(split_path(shared[0].path)), options=_united(shared))]


def _shared(branches: Sequence[Sequence[FieldProblem]], wanted: Callable[[FieldProblem], bool]) -> list[FieldProblem]:
    """Return each branch's wanted problem at the first path where all have one; nothing if there is no such path."""
    found = [{problem.path: problem for problem in branch if wanted(problem)} for branch in branches]
    path = next((path for path in found[0] if all(path in others for others in found)), None)
    return [] if path is None else [problems[path] for problems in found]


def _united(problems: Iterable[FieldProblem]) -> list[Any]:
    options: list[Any] = []
    for problem in problems:
        options += [option for option in problem.options if option not in options]
    return options


def signature_failure(
    exc: BaseException, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], *, tool: str
) -> Failure | None:
    """Return the failure of a call whose arguments the function cannot take, or None if it got as far as its body.

    *exc* was raised by the call; a body leaves a frame of its own in the traceback.
    """
    trace = exc.__traceback__
    if type(exc) is not TypeError or trace is None or trace.tb_next is not None:
        return None
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a builtin that does not tell its parameters
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        problems = _signature_problems(signature, args, kwargs)
        return invalid(problems, tool=tool) if problems else None
    return None


def _signature_problems(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> list[FieldProblem]:
    parameters = signature.parameters.values()
    named = [parameter.name for parameter in parameters if parameter.kind in _NAMED_PARAMETERS]
    bound = signature.bind_partial(*args[: len(named)]).arguments
    missing = [
        missing_field(parameter.name)
        for parameter in parameters
        if parameter.kind in _NAMED_PARAMETERS
        and parameter.default is parameter.empty
        and parameter.name not in kwargs
        and parameter.name not in bound
    ]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return missing
    unknown = [name for name in kwargs if name not in named]
    return missing + [
        FieldProblem(path=name, kind="unknown", sent=kwargs[name], did_you_mean=next(iter(closest(name, named)), None))
        for name in unknown
    ]


def unknown_tool(name: str, tools: Iterable[str]) -> Failure:
    """Return the failure of a call to a tool that does not exist, where these do."""
    names = tuple(tools)
    near = closest_tools(name, names)
    meant = f" Did you mean {quoted(near[0])}?" if near else ""
    offered = near or (names if len(names) <= _MOST_TOOLS else ())
    return Failure(
        code="UNKNOWN_TOOL",
        message=f"There is no tool {quoted(name)}.{meant}",
        actions=tuple(offered),
    )


def invalid(problems: Iterable[FieldProblem], *, tool: str | None = None, action: str | None = None) -> Failure:
    """Return the failure of a call whose arguments have these problems."""
    problems = tuple(problems)
    return Failure(code="VALIDATION_FAILED", message=summary(problems), fields=problems, tool=tool, action=action)


class Validation:
    """Collects field problems of one call, then raises them all at once.

    ```python
    problems = Validation("claim_task", message="The task cannot be claimed")
    if not task_id:
        problems.add("task_id", task_id, "task_id is required and must be a string", required=True)
    problems.raise_if_any()
    ```
    """

    @names_slips
    def __init__(self, tool: str | None = None, *, message: str | None = None, action: str | None = None) -> None:
        self.tool = tool
        self.message = message
        self.action = action
        self._problems: list[FieldProblem] = []

    def add(
        self,
        path: str,
        sent: Any = UNSET,
        message: str | None = None,
        *,
        required: bool | None = None,
        kind: str | None = None,
        expected: str | None = None,
        options: Iterable[Any] = (),
        did_you_mean: str | None = None,
    ) -> Self:
        """Note a problem with one field: its path, what was sent, what is wrong with it. Returns itself."""
        problem = FieldProblem(
            path=path,
            sent=sent,
            message=message or "",
            required=required,
            kind=kind,
            expected=expected,
            options=as_tuple("options", options),
            did_you_mean=did_you_mean,
        )
        self._problems.append(problem)
        return self

    def __bool__(self) -> bool:
        """Whether any problem was noted."""
        return bool(self._problems)

    @property
    def failure(self) -> Failure | None:
        """The failure that holds all problems, or None if there are none."""
        if not self._problems:
            return None
        found = invalid(self._problems, tool=self.tool, action=self.action)
        message = (self.message or "").strip().rstrip(".:")
        # Dialects that have a place for the code's title write it themselves.
        is_title = message.lower() == codes.title_of(found.code, found.type).lower()
        return found.replace(message=f"{message}: {found.message}") if message and not is_title else found

    def raise_if_any(self) -> None:
        """Raise the problems noted so far, or do nothing.

        Raises:
            Invalid: a problem was noted.
        """
        if failure := self.failure:
            raise Invalid(failure)
