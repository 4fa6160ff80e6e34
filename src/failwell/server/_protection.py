"""`protect`: every failure of every tool of a server structured, in one line, whatever its SDK."""

import inspect
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

from failwell import _sdks, codes, dialects
from failwell._json import is_mapping
from failwell._log import log
from failwell._spelling import did_you_mean
from failwell._trace import (
    ADDRESS,
    PORT,
    PROTOCOL_VERSION,
    REQUEST_ID,
    SESSION_ID,
    TRACEPARENT,
    TRANSPORT,
    Attribute,
    CallTrace,
    parse_traceparent,
)
from failwell.advice import Hints
from failwell.dialects._placement import check_settings, encode
from failwell.errors import ToolFailure
from failwell.event import CallArguments, Event, Observer
from failwell.exceptions.rules import Scope, all_rules, scope_of
from failwell.failure import Failure, FieldProblem
from failwell.retry._call_key import DECLARED, VERIFIED_BY
from failwell.server._claims import ClaimStore
from failwell.server._contract import contract_meta, declared
from failwell.server._contract import raises as declare
from failwell.server._idempotency import Idempotency, idempotency_of, pairing_of
from failwell.server._responder import Responder, end_of_call, notify, package_of, public_classes
from failwell.server._schemas import unknown_arguments
from failwell.server._timeout import TimeLimits, Timeouts

CHOICE_KEY = "dev.failwell/dialect"
"""Where in a request's `_meta` a client names the dialect it wants."""

_EXAMPLE = Failure(
    code="VALIDATION_FAILED",
    message="number must be an integer, not a string.",
    fields=(FieldProblem(path="number", kind="type", sent="seven", expected="integer"),),
)

PublicErrors: TypeAlias = (
    type[Exception] | Collection[type[Exception]] | Mapping[str, type[Exception] | Collection[type[Exception]]]
)

_ATTRIBUTE = "_failwell_protection"
_NO_SETTINGS: Mapping[str, Any] = {}
_SESSION_HEADER = "mcp-session-id"
_VERSION_HEADER = "mcp-protocol-version"


class HeldEvent:
    """The last event of a call, until it is known that it stands. Those before it are of calls within the call."""

    def __init__(self, observers: tuple[Observer, ...]) -> None:
        self._observers = observers
        self._event: Event | None = None
        self._is_closed = False

    @contextmanager
    def held(self) -> Generator[None]:
        """Hold what is told of the call that runs inside."""
        token = _held.set(self)
        try:
            yield
        finally:
            _held.reset(token)

    def replace(self, event: Event) -> None:
        """Hold another event, and tell the one before; after the call was answered there are no more."""
        if not self._is_closed:
            self._tell()
            self._event = event

    def drop(self) -> None:
        """Forget the event: the call ends in another way than its tool."""
        self._event = None

    def close(self) -> None:
        """Tell the event, and no more: the call was answered."""
        self._tell()
        self._is_closed = True

    def _tell(self) -> None:
        event, self._event = self._event, None
        if event is not None:
            notify(self._observers, event)


_held: ContextVar[HeldEvent | None] = ContextVar("failwell_held_event", default=None)


class CallInfo(NamedTuple):
    """A call as its failure is answered: the tool, what is known of it, and how to get at the request's `_meta`."""

    tool: str
    annotations: Any = None
    has_output_schema: bool = False
    meta: Callable[[], Any] | None = None
    attempts: int = 1
    function: Any = None


class Protection:
    """The settings of a protected server, and in `says` what was done to it.

    Args:
        dialect: how failures are written.
        dialects: another dialect for some tools, by name.
        client_choice: let a client choose the dialect, by `dev.failwell/dialect` in the `_meta` of its request.
        structured: put failures into `structuredContent` too, for tools without an output schema.
        describe: name the failures a tool declares in its description too.
        allow_unknown: let arguments pass that a tool's schema does not mention, instead of refusing the call.
        single_effect: tools that have one effect at most, the operation that may fail.
        public_errors: exception classes whose text was written for the caller, for all tools or by the names of tools.
        raises: what tools fail with, by name, besides what their functions declare.
        observers: called with an `Event` after each call, such as a `Meter`.
        idempotent: the tools that take idempotency keys, by name, besides those marked with `idempotent`: each with its
            `Idempotency`, or only the names with a *store*.
        store: where the claims of *idempotent* tools are kept, or the address of that.
        timeout: how many seconds tools may take; or a mapping from the names of tools to their seconds, where `"*"`
            stands for all others and None for no limit. A call that takes longer is answered `TIMEOUT`.
        catch_exit: answer a tool that calls `sys.exit()` as a failure, instead of ending the server.
        settings: what the dialect takes.

    Raises:
        ValueError: there is no such dialect, or something declared is not a code.
        TypeError: the dialect does not take a setting, or a setting is of another kind.
    """

    def __init__(
        self,
        *,
        dialect: str = "meta",
        dialects: Mapping[str, str] | None = None,
        client_choice: bool = False,
        structured: bool = False,
        describe: bool = False,
        allow_unknown: bool = False,
        single_effect: Collection[str] = (),
        public_errors: PublicErrors = (),
        raises: Mapping[str, Iterable[type[ToolFailure] | str]] | None = None,
        observers: Iterable[Observer] = (),
        idempotent: Mapping[str, Idempotency] | Collection[str] = (),
        store: ClaimStore | str | None = None,
        timeout: TimeLimits = None,
        catch_exit: bool = False,
        **settings: Any,
    ) -> None:
        if isinstance(single_effect, str):
            raise TypeError("single_effect takes the names of tools, such as {'send_mail'}")
        for setting, given in (("dialects", dialects), ("raises", raises)):
            if given is not None and not is_mapping(given):
                raise TypeError(f"{setting} takes a mapping from the names of tools, not {given!r}")
        switches = {
            "client_choice": client_choice,
            "structured": structured,
            "describe": describe,
            "allow_unknown": allow_unknown,
            "catch_exit": catch_exit,
        }
        for setting, switch in switches.items():
            if type(switch) is not bool:
                raise TypeError(f"{setting} must be True or False, not {switch!r}")
        told = () if callable(observers) or not isinstance(observers, Iterable) else tuple(observers)
        if callable(observers) or not isinstance(observers, Iterable) or not all(map(callable, told)):
            raise TypeError("observers takes a list of functions of an Event, such as [Meter()]")
        for name in (dialect, *(dialects or {}).values()):
            _check_dialect(name)
        try:
            encode(Failure(message="x"), dialect, **settings)
        except TypeError:
            check_settings(dialect, settings, others=_own_settings())
            raise
        self.dialect = dialect
        self.dialects = dict(dialects or {})
        self.client_choice = client_choice
        self.structured = structured
        self.describe = describe
        self.allow_unknown = allow_unknown
        self.single_effect = frozenset(single_effect)
        self.public_errors = _public_by_tool(public_errors)
        self.rules: Scope | None = None
        self.raises = {tool: _codes(what) for tool, what in (raises or {}).items()}
        self.observers = told
        self.idempotent = _idempotency(idempotent, store)
        self.timeouts = Timeouts(timeout)
        self.catch_exit = catch_exit
        self.server = ""
        self.settings = settings
        self._named: dict[str, Collection[str]] = {
            "dialects": self.dialects,
            "single_effect": self.single_effect,
            "public_errors": [name for name in self.public_errors if name],
            "raises": self.raises,
            "idempotent": self.idempotent,
            "timeout": self.timeouts.tools,
        }
        self._is_logged = False
        self._repeatable: dict[str, Hints] = {}
        """What tools promised that may run twice, for events: those of others promise nothing."""
        self.says = "This protection is not in use."

    def __repr__(self) -> str:
        return f"<Protection: {self.says}>"

    def put_on(self, server: Any, attach: "Callable[[Any, Protection], str]") -> None:
        """Protect a server as its SDK requires, and say so.

        Raises:
            ValueError: the server is already protected, or its SDK is not supported.
        """
        name = getattr(server, "name", None) or type(server).__name__
        if getattr(server, _ATTRIBUTE, None) is not None:
            raise ValueError(f"{name} is already protected")
        self.server = str(name)
        self.rules = scope_of(server)
        # Much is loaded and compiled by a first failure, which would keep the event loop waiting.
        all_rules()
        encode(_EXAMPLE, self.dialect)
        done = attach(server, self)
        setattr(server, _ATTRIBUTE, self)
        self.says = f"Failures of {name} are answered in the dialect {self.dialect}: {done}."
        log.info("%s", self.says)

    def check_names(self, tools: Iterable[str]) -> None:
        """Check the names of tools in the settings against all the tools that the server has, once it starts.

        Raises:
            ValueError: one is not the name of a tool.
        """
        if wrong := self._wrong_name(tools):
            raise ValueError(wrong)

    def log_names(self, tools: Iterable[str]) -> None:
        """Log, once, a name in the settings that is not among the tools listed; another caller may be listed more."""
        if not self._is_logged:
            self._is_logged = True
            if wrong := self._wrong_name(tools):
                log.error("%s", wrong)

    def _wrong_name(self, tools: Iterable[str]) -> str | None:
        known = set(tools)
        for setting, names in self._named.items():
            for name in names:
                if name not in known:
                    return f"{setting} names {name!r}, which is not a tool of {self.server}{did_you_mean(name, known)}"
        return None

    def responder(self, info: CallInfo) -> Responder:
        """Return how this call is answered if it fails."""
        dialect = self._dialect_for(info)
        hints = _hints(info)
        if hints.repeatable:
            self._repeatable[info.tool] = hints
        pairing = pairing_of(info.function)
        verifier = pairing.tool if pairing is not None else None
        return Responder(
            info.tool,
            dialect,
            self.settings if dialect == self.dialect else _NO_SETTINGS,
            hints,
            info.tool in self.single_effect,
            verifier,
            self.public_errors.get(info.tool, self.public_errors[""]),
            package_of(info.function),
            self.rules,
            placement={
                "structured": self.structured,
                "output_schema": info.has_output_schema,
                "attempts": info.attempts if info.attempts > 1 else None,
            },
        )

    def unknown_arguments(self, arguments: Any, schema: Any, tool: str) -> Failure | None:
        """Return the failure of a call with arguments that its tool does not have, or None."""
        return None if self.allow_unknown else unknown_arguments(arguments, schema, tool=tool)

    def result(self, failure: Failure, info: CallInfo) -> tuple[dict[str, Any], Failure]:
        """Return the wire-shaped result for a failure of this call, and the failure with the tool's name."""
        return self.responder(info).encode(failure)

    def start(self) -> float:
        """Return when a call began, for `finish`; the clock is read only if there are observers."""
        return perf_counter() if self.observers else 0.0

    def finish(
        self,
        tool: str,
        started: float,
        failure: Failure | None = None,
        *,
        arguments: Any = None,
        wire: dict[str, Any] | None = None,
        context: Any = None,
        is_cancelled: bool = False,
        is_task: bool = False,
    ) -> None:
        """Tell the observers that a call with these arguments ended, and what a failure is answered with.

        *context* is the SDK's, which knows the client. *is_cancelled* says that nobody waits for the answer,
        *is_task* that the call itself was answered before, with a task.
        """
        if not self.observers:
            return
        session = _session_of(context)
        event = end_of_call(
            tool,
            started,
            failure,
            arguments=arguments,
            wire=wire,
            hints=self._repeatable.get(tool),
            server=self.server,
            session=session,
            trace=request_trace(context, session),
            is_cancelled=is_cancelled,
        )
        held = None if is_task else _held.get()
        if held is None:
            notify(self.observers, event)
        else:
            held.replace(event)

    def codes_of(self, tool: str, function: Callable[..., Any] | None = None) -> tuple[str, ...]:
        """Return the codes a tool declares, on its function and in the settings."""
        of_function = declared(function) if function is not None else ()
        return tuple(dict.fromkeys((*of_function, *self.raises.get(tool, ()))))

    def listing(
        self, tool: str, function: Callable[..., Any] | None, meta: Any, description: str | None
    ) -> dict[str, Any]:
        """Return what `tools/list` says otherwise of a tool: its `meta`, and its `description` if that is wanted."""
        codes = self.codes_of(tool, function)
        published = {**contract_meta(codes), **self._published(tool, function)}
        if not published:
            return {}
        changes: dict[str, Any] = {"meta": {**(meta or {}), **published}}
        if self.describe and codes:
            sentence = f"Can fail with: {', '.join(map(_described, codes))}."
            changes["description"] = f"{description}\n\n{sentence}" if description else sentence
        return changes

    def _published(self, tool: str, function: Callable[..., Any] | None) -> dict[str, Any]:
        """Return what is published of a tool whose effects happen once, or can be looked up."""
        settings, pairing = self.idempotent.get(tool) or idempotency_of(function), pairing_of(function)
        found: dict[str, Any] = {DECLARED: settings.declaration()} if settings is not None else {}
        if pairing is not None:
            found[VERIFIED_BY] = {"tool": pairing.tool, "arguments": pairing.arguments}
        return found

    def _dialect_for(self, info: CallInfo) -> str:
        own = self.dialects.get(info.tool, self.dialect)
        if not self.client_choice:
            return own
        chosen = meta_value(info.meta(), CHOICE_KEY) if info.meta is not None else None
        return chosen if isinstance(chosen, str) and chosen in dialects.DIALECTS else own


def _own_settings() -> Collection[str]:
    """Return the settings that `protect` takes for itself."""
    return [name for name in inspect.signature(Protection).parameters if name != "settings"]


def _hints(call: CallInfo) -> Hints:
    """Return whether a tool may run twice; annotations that cannot be read promise nothing."""
    try:
        return Hints.of(call.annotations)
    except Exception:
        log.exception("the annotations of tool %s could not be read; it counts as unsafe to repeat", call.tool)
        return Hints()


def _check_dialect(name: str) -> None:
    dialects.get(name)


def meta_value(meta: Any, key: str) -> Any:
    """Return an entry of a request's `_meta`: a dict, or a model that keeps unknown entries beside its fields."""
    if meta is None:
        return None
    entries = meta if is_mapping(meta) else getattr(meta, "model_extra", None)
    return entries.get(key) if is_mapping(entries) else None


def _codes(what: Iterable[type[ToolFailure] | str]) -> tuple[str, ...]:
    if isinstance(what, str | type):
        what = (what,)

    @declare(*what)
    def tool() -> None: ...

    return declared(tool)


def _public_by_tool(public: PublicErrors) -> dict[str, tuple[type[Exception], ...]]:
    """Return the public errors by the names of tools; under no name, those of all others."""
    if is_mapping(public):
        return {"": ()} | {tool: public_classes(classes) for tool, classes in public.items()}
    return {"": public_classes(public)}


def _idempotency(
    tools: Mapping[str, Idempotency] | Collection[str], store: ClaimStore | str | None
) -> dict[str, Idempotency]:
    if isinstance(tools, str):
        raise TypeError("idempotent takes the names of tools, such as {'pay'}, or a mapping to their Idempotency")
    if is_mapping(tools):
        for name, settings in tools.items():
            if not isinstance(settings, Idempotency):
                raise TypeError(f"idempotent takes an Idempotency for {name!r}, not {settings!r}")
        return dict(tools)
    if not tools:
        if store is not None:
            raise TypeError("store needs idempotent, the names of the tools that take keys")
        return {}
    if store is None:
        raise TypeError("idempotent needs a store, such as store='sqlite:///effects.db'")
    settings = Idempotency(store)
    return dict.fromkeys(tools, settings)


def _described(code: str) -> str:
    row = codes.get(code)
    return f"{code} ({row.title})" if row else code


def _session_of(context: Any) -> str:
    """Return a name for the session of a request over HTTP; nothing where there is none: one client, or no session.

    The id itself lets whoever knows it take part in the session, so it is never told.
    """
    try:
        request = getattr(context, "request_context", context).request
        given = request.headers.get(_SESSION_HEADER)
    except Exception:  # standard input and output, memory, no request at all: SDKs differ in what they say then
        return ""
    return CallArguments(given).digest[:16] if isinstance(given, str) and given else ""


def request_trace(context: Any, session: str = "") -> CallTrace | None:
    """Return what a request says of its trace, given the SDK's context; None if that is nothing.

    Args:
        context: the SDK's, which knows the request.
        session: the name of its session.
    """
    try:
        found = getattr(context, "request_context", context)
        id = getattr(found, "request_id", None)
        parent = parse_traceparent(meta_value(getattr(found, "meta", None), TRACEPARENT))
        attributes: dict[str, Attribute] = {} if id is None else {REQUEST_ID: str(id)}
        request = getattr(found, "request", None)
        version = getattr(found, "protocol_version", None) or getattr(request, "headers", {}).get(_VERSION_HEADER)
        attributes |= {PROTOCOL_VERSION: str(version)} if version else {}
        attributes |= {SESSION_ID: session} if session else {}
        url: Any = getattr(request, "url", None)
        if getattr(url, "hostname", None):
            attributes |= {TRANSPORT: "tcp", ADDRESS: str(url.hostname)} | ({PORT: url.port} if url.port else {})
    except Exception:  # outside a request, SDKs differ in what they raise
        return None
    if parent is None:
        return CallTrace(attributes=attributes) if attributes else None
    return CallTrace(
        trace_id=parent.trace_id, parent_id=parent.span_id, is_sampled=parent.is_sampled, attributes=attributes
    )


def protect(
    server: Any,
    /,
    *,
    dialect: str = "meta",
    dialects: Mapping[str, str] | None = None,
    client_choice: bool = False,
    structured: bool = False,
    describe: bool = False,
    allow_unknown: bool = False,
    single_effect: Collection[str] = (),
    public_errors: PublicErrors = (),
    raises: Mapping[str, Iterable[type[ToolFailure] | str]] | None = None,
    observers: Iterable[Observer] = (),
    idempotent: Mapping[str, Idempotency] | Collection[str] = (),
    store: ClaimStore | str | None = None,
    timeout: TimeLimits = None,
    catch_exit: bool = False,
    **settings: Any,
) -> Protection:
    """Make a server of fastmcp or the mcp SDK, high level or low level, answer every failure as a `Failure`.

    Declared failures, returned ones, any exception, wrong arguments, unknown tools and results that break their
    schema arrive in the dialect; successes don't change. Tools may be added before or after. What was done is
    logged, and `says` of the returned object repeats it.

    Args:
        server: the server.
        dialect: how failures are written.
        dialects: another dialect for some tools, by name.
        client_choice: let a client choose the dialect, by `dev.failwell/dialect` in the `_meta` of its request.
        structured: put failures into `structuredContent` too, for tools without an output schema.
        describe: name the failures a tool declares in its description too.
        allow_unknown: let arguments pass that a tool's schema does not mention, instead of refusing the call.
        single_effect: tools that have one effect at most, the operation that may fail; then the outcome of that
            operation is the outcome of the call.
        public_errors: exception classes whose text was written for the caller, such as `(ValueError,)`, or a mapping
            from the names of tools to such classes. The text is sent if a `raise` statement in the package of the tool
            raised the exception; what a library that it calls raises stays in the log.
        raises: what tools fail with, by name, besides what their functions declare.
        observers: called with an `Event` after each call, such as a `Meter`.
        idempotent: the tools that take idempotency keys, by name, besides those marked with `idempotent`: each with its
            `Idempotency`, or only the names with a *store*.
        store: where the claims of *idempotent* tools are kept, or the address of that.
        timeout: how many seconds tools may take; or a mapping from the names of tools to their seconds, where `"*"`
            stands for all others and None for no limit. A call that takes longer is answered `TIMEOUT`.
        catch_exit: answer a tool that calls `sys.exit()` as a failure, instead of ending the server.
        settings: what the dialect takes.

    Raises:
        TypeError: *server* is not a server, or the dialect does not take a setting.
        ValueError: the server is already protected, its SDK is not supported, or there is no such dialect.
    """
    sdk = _sdks.module_for(server, _sdks.SERVERS)
    if sdk is None:
        raise TypeError(f"protect takes a server of fastmcp or the mcp SDK, not {type(server).__name__}")
    protection = Protection(
        dialect=dialect,
        dialects=dialects,
        client_choice=client_choice,
        structured=structured,
        describe=describe,
        allow_unknown=allow_unknown,
        single_effect=single_effect,
        public_errors=public_errors,
        raises=raises,
        observers=observers,
        idempotent=idempotent,
        store=store,
        timeout=timeout,
        catch_exit=catch_exit,
        **settings,
    )
    protection.put_on(server, sdk.attach)
    return protection
