"""`protect`: every failure of every tool of a server structured, in one line, whatever its SDK."""

from collections.abc import Callable, Collection, Iterable, Mapping
from time import perf_counter
from typing import Any, NamedTuple

from failwell import _sdks, codes, dialects
from failwell._json import is_mapping
from failwell._log import log
from failwell.advice import Hints
from failwell.dialects._placement import encode
from failwell.errors import ToolFailure
from failwell.event import CallArguments, Observer
from failwell.failure import Failure
from failwell.server._claims import ClaimStore
from failwell.server._contract import contract_meta, declared
from failwell.server._contract import raises as declare
from failwell.server._idempotency import DECLARED, VERIFIED_BY, Idempotency, idempotency_of, pairing_of
from failwell.server._responder import Responder, notify
from failwell.server._schemas import unknown_arguments

CHOICE_KEY = "dev.failwell/dialect"
"""Where in a request's `_meta` a client names the dialect it wants."""

_ATTRIBUTE = "_failwell_protection"
_NO_SETTINGS: Mapping[str, Any] = {}
_SESSION_HEADER = "mcp-session-id"


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
        raises: what tools fail with, by name, besides what their functions declare.
        observers: called with an `Event` after each call, such as a `Meter`.
        idempotent: the tools that take idempotency keys, by name, besides those marked with `idempotent`: each with its
            `Idempotency`, or only the names with a *store*.
        store: where the claims of *idempotent* tools are kept, or the address of that.
        settings: what the dialect takes.

    Raises:
        ValueError: there is no such dialect, or something declared is no code.
        TypeError: the dialect does not take a setting.
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
        raises: Mapping[str, Iterable[type[ToolFailure] | str]] | None = None,
        observers: Iterable[Observer] = (),
        idempotent: Mapping[str, Idempotency] | Collection[str] = (),
        store: ClaimStore | str | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(single_effect, str):
            raise TypeError("single_effect takes the names of tools, such as {'send_mail'}")
        for name in (dialect, *(dialects or {}).values()):
            _check_dialect(name)
        encode(Failure(message="x"), dialect, **settings)
        self.dialect = dialect
        self.dialects = dict(dialects or {})
        self.client_choice = client_choice
        self.structured = structured
        self.describe = describe
        self.allow_unknown = allow_unknown
        self.single_effect = frozenset(single_effect)
        self.raises = {tool: _codes(what) for tool, what in (raises or {}).items()}
        self.observers = tuple(observers)
        self.idempotent = _idempotency(idempotent, store)
        self.server = ""
        self.settings = settings
        self.says = "This protection is not in use."

    def __repr__(self) -> str:
        return f"<Protection: {self.says}>"

    def put_on(self, server: Any, attach: "Callable[[Any, Protection], str]") -> None:
        """Protect a server in the way of its SDK, and say so.

        Raises:
            ValueError: the server is protected already, or its SDK is not supported.
        """
        name = getattr(server, "name", None) or type(server).__name__
        if getattr(server, _ATTRIBUTE, None) is not None:
            raise ValueError(f"{name} is protected already")
        self.server = str(name)
        done = attach(server, self)
        setattr(server, _ATTRIBUTE, self)
        self.says = f"Failures of {name} are answered in the dialect {self.dialect}: {done}."
        log.info("%s", self.says)

    def responder(self, info: CallInfo) -> Responder:
        """Return how this call is answered if it fails."""
        dialect = self._dialect_for(info)
        settings = {
            **(self.settings if dialect == self.dialect else _NO_SETTINGS),
            "structured": self.structured,
            "output_schema": info.has_output_schema,
            "attempts": info.attempts if info.attempts > 1 else None,
        }
        pairing = pairing_of(info.function)
        verifier = pairing.tool if pairing is not None else None
        return Responder(info.tool, dialect, settings, _hints(info), info.tool in self.single_effect, verifier)

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
    ) -> None:
        """Tell the observers that a call with these arguments ended, and what a failure is answered with.

        *context* is the SDK's, which knows the client.
        """
        if self.observers:
            notify(
                self.observers,
                tool,
                started,
                failure,
                arguments=arguments,
                wire=wire,
                server=self.server,
                session=_session_of(context),
            )

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
    entries = meta if is_mapping(meta) else getattr(meta, "model_extra", None)
    return entries.get(key) if is_mapping(entries) else None


def _codes(what: Iterable[type[ToolFailure] | str]) -> tuple[str, ...]:
    if isinstance(what, str | type):
        what = (what,)

    @declare(*what)
    def tool() -> None: ...

    return declared(tool)


def _idempotency(
    tools: Mapping[str, Idempotency] | Collection[str], store: ClaimStore | str | None
) -> dict[str, Idempotency]:
    if isinstance(tools, str):
        raise TypeError("idempotent takes the names of tools, such as {'pay'}, or a mapping to their Idempotency")
    if is_mapping(tools):
        return dict(tools)
    if not tools:
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
    raises: Mapping[str, Iterable[type[ToolFailure] | str]] | None = None,
    observers: Iterable[Observer] = (),
    idempotent: Mapping[str, Idempotency] | Collection[str] = (),
    store: ClaimStore | str | None = None,
    **settings: Any,
) -> Protection:
    """Make a server of fastmcp or the mcp SDK, high level or low level, answer every failure as a `Failure`.

    Declared failures, returned ones, any exception, wrong arguments, unknown tools and results that break their schema
    arrive in the dialect; what succeeds is not touched. Tools may be added before or after. What was done is logged,
    and said in `says` of what this returns.

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
        raises: what tools fail with, by name, besides what their functions declare.
        observers: called with an `Event` after each call, such as a `Meter`.
        idempotent: the tools that take idempotency keys, by name, besides those marked with `idempotent`: each with its
            `Idempotency`, or only the names with a *store*.
        store: where the claims of *idempotent* tools are kept, or the address of that.
        settings: what the dialect takes.

    Raises:
        TypeError: this is no server, or the dialect does not take a setting.
        ValueError: the server is protected already, its SDK is not supported, or there is no such dialect.
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
        raises=raises,
        observers=observers,
        idempotent=idempotent,
        store=store,
        **settings,
    )
    protection.put_on(server, sdk.attach)
    return protection
