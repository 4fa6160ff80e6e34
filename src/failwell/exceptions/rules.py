"""Look up the rules for an exception class, users' and built-in ones, nearest class in the MRO first.

A rule is keyed by the top-level package and the name of a class, so no library is imported to know its exceptions.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from threading import Lock
from typing import Any, NamedTuple, TypeVar, cast, overload
from weakref import WeakKeyDictionary

from failwell._spelling import did_you_mean
from failwell.codes import is_code
from failwell.failure import Failure
from failwell.phrases import names
from failwell.phrases.meanings import Meaning, failure_from

Verdict = str | dict[str, Any] | BaseException | Failure | None
"""What a rule says: a catalog code; fields of `Failure`; another exception to look at instead; a whole failure, from a
user's rule; or None, when it does not know and the next class along the MRO decides."""

Rule = str | dict[str, Any] | Callable[[Any], Verdict]
"""A code or fields that always hold, or a function of the exception."""

Family = Mapping[str, Mapping[str, Rule]]
"""Rules for libraries that have something in common: by the top-level packages of a class's module, with blanks between
them where several have the same classes, and then by the class's name."""

STANDARD = ("stdlib", "network")
FAMILIES = (
    *STANDARD,
    "web",
    "protocols",
    "formats",
    "databases",
    "search",
    "sql",
    "aws",
    "cloud",
    "grpc",
    "vendors",
    "automation",
)
"""The modules of this package that hold rules, each as `RULES`: a library's exceptions stand in one of them, those of
the standard library in the first two, which are all that its own classes need."""

Key = type[BaseException] | tuple[str, str]

_Function = TypeVar("_Function", bound=Callable[[Any], Verdict])

_lock = Lock()


class Plan(NamedTuple):
    """The rules of one class, nearest first."""

    users: tuple[tuple[tuple[Rule, ...], tuple[Rule, ...]], ...]  # for each class that has some: ours below it, theirs
    libraries: tuple[Rule, ...]  # of classes outside the standard library
    standard: tuple[tuple[Rule, bool], ...]  # of the standard library, and guesses (True) from names of unknown classes
    is_guessed_by_base: bool  # whether the first guess comes from the name of a base
    is_foreign: bool  # whether the class itself comes from outside the standard library
    attributes: frozenset[str]  # what the classes from outside the standard library define
    is_about_tries: bool  # whether its name says that several tries were made


class Scope:
    """The rules that users added for one server, or for all; its plans are a cache."""

    def __init__(self) -> None:
        self.rules: dict[Key, list[Rule]] = {}
        self.plans: WeakKeyDictionary[type, Plan] = WeakKeyDictionary()


_EVERYWHERE = Scope()
_servers: "WeakKeyDictionary[Any, Scope]" = WeakKeyDictionary()
_loaded: dict[tuple[str, ...], dict[tuple[str, str], Rule]] = {}


def scope_of(server: Any) -> Scope:
    """Return the rules of a server; the first call for it makes them.

    Raises:
        TypeError: this is nothing that rules can be kept for.
    """
    try:
        return _servers.setdefault(server, Scope())
    except TypeError:
        raise TypeError(f"server takes a server of fastmcp or the mcp SDK, not {type(server).__name__}") from None


def all_rules() -> Mapping[tuple[str, str], Rule]:
    """Return all our rules by package and class; the modules that hold them are imported by the first call."""
    return _rules_in(FAMILIES)


def _rules_in(names: tuple[str, ...]) -> Mapping[tuple[str, str], Rule]:
    if names not in _loaded:
        families: list[Family] = [importlib.import_module(f"{__package__}.{name}").RULES for name in names]
        _loaded[names] = {
            (package, name): rule
            for family in families
            for packages, rules in family.items()
            for package in packages.split()
            for name, rule in rules.items()
        }
    return _loaded[names]


def plan_of(cls: type, scope: Scope | None = None) -> Plan:
    """Return the rules of a class, from the cache after the first time; those of a server go before those for all."""
    scope = scope or _EVERYWHERE
    plans = scope.plans  # a registration meanwhile replaces the cache, so what is stored here is never stale
    plan = plans.get(cls)
    if plan is None:
        plan = plans[cls] = _plan(cls, (_EVERYWHERE,) if scope is _EVERYWHERE else (scope, _EVERYWHERE))
    return plan


def list_rules() -> Iterator[tuple[str, str, str]]:
    """Yield package, class and meaning of each of our rules: its code, or what it depends on."""
    for (package, name), verdict in sorted(all_rules().items()):
        yield package, name, describe_rule(verdict)


def describe_rule(verdict: Rule) -> str:
    """Return the code a rule gives, or the first line of its docstring, which says what it depends on."""
    if isinstance(verdict, str):
        return verdict
    if callable(verdict):
        return (verdict.__doc__ or "").partition("\n")[0]
    return str(verdict.get("code") or verdict["type"])


def otherwise(rule: Callable[[Any], Verdict], meaning: Meaning) -> Callable[[Any], Verdict]:
    """Return a rule that gives a code, or fields of `Failure`, where the other one does not know."""

    def decide(exc: Any) -> Verdict:
        return rule(exc) or meaning

    decide.__doc__ = f"{describe_rule(rule).rstrip('.')}; else {describe_rule(meaning)}."
    decide.otherwise = meaning  # type: ignore[attr-defined]  # for when the exception it points to says nothing
    decide.first = rule  # type: ignore[attr-defined]  # for classes whose own names say more than the meaning
    return decide


@overload
def rule(of: Key, verdict: Rule, *, server: Any = ...) -> "Registration": ...


@overload
def rule(of: Key, *, server: Any = ...) -> Callable[[_Function], _Function]: ...


def rule(of: Key, verdict: Rule | None = None, *, server: Any = None) -> Any:
    """Say what an exception class means, in one line; your rule goes before ours for the same class, the latest first.

    ```python
    fw.rule(QuotaError, "QUOTA_EXHAUSTED")
    fw.rule(("acme", "ApiError"), lambda exc: {"code": "NOT_FOUND"} if exc.number == 7 else None)


    @fw.rule(StockError)
    def stock(exc: StockError) -> dict[str, Any]:
        return {"code": "OUT_OF_STOCK", "type": "CONFLICT", "details": {"left": exc.left}}
    ```

    The nearest class decides: a rule for `ValueError` does not affect `json.JSONDecodeError`, which has a built-in
    rule. A tuple names the top-level package and the class, for classes you do not want to import. Without a verdict
    this is a decorator; with one it returns a handle whose `remove()` takes the rule back, also usable in a `with`
    block.

    With *server*, the rule holds for the tools of that protected server alone and goes before those that hold for all.

    Raises:
        TypeError: the key is neither a class nor such a tuple, the verdict is not a rule, or *server* is not a server.
        ValueError: a field has a value that is not allowed.
    """
    _check_key(of)
    if verdict is None:

        def decorate(function: _Function) -> _Function:
            rule(of, function, server=server)
            return function

        return decorate
    given = cast(object, verdict)
    if (
        not callable(given)
        and not (isinstance(given, dict) and given)
        and not (isinstance(given, str) and is_code(given))
    ):
        raise TypeError(f"a rule must be a code such as 'NOT_FOUND', a dict of fields or a function, not {verdict!r}")
    if isinstance(given, dict):
        _check_fields(cast("dict[str, Any]", given))
    scope = _EVERYWHERE if server is None else scope_of(server)
    with _lock:
        scope.rules.setdefault(of, []).insert(0, verdict)
        _forget_plans()
    return Registration(of, verdict, scope)


class Registration:
    """A rule that was added, and can be taken back."""

    def __init__(self, of: Key, verdict: Rule, scope: Scope) -> None:
        self._of = of
        self._verdict = verdict
        self._scope = scope

    def remove(self) -> None:
        """Take the rule back; a second time does nothing."""
        with _lock:
            mine = self._scope.rules.get(self._of, [])
            mine[:] = [verdict for verdict in mine if verdict is not self._verdict]
            _forget_plans()

    def __enter__(self) -> "Registration":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def peek(thing: object, name: str) -> Any:
    """Return an attribute, or None if there is none or reading it fails."""
    try:
        return getattr(thing, name, None)
    except Exception:
        return None


def _forget_plans() -> None:
    for scope in (_EVERYWHERE, *_servers.values()):
        scope.plans = WeakKeyDictionary()


def _plan(cls: type, scopes: tuple[Scope, ...]) -> Plan:
    is_own = all(_is_standard(str(base.__module__).partition(".")[0]) for base in cls.__mro__)
    ours = _rules_in(STANDARD if is_own and FAMILIES not in _loaded else FAMILIES)
    package = str(cls.__module__).partition(".")[0]
    users: list[tuple[tuple[Rule, ...], tuple[Rule, ...]]] = []
    nearer: list[Rule] = []
    libraries: list[Rule] = []
    standard: list[tuple[Rule, bool]] = []
    for base in cls.__mro__[:-1]:
        key = (str(base.__module__).partition(".")[0], base.__name__)
        if theirs := [rule for scope in scopes for of in (base, key) for rule in scope.rules.get(of, ())]:
            users.append((tuple(nearer), tuple(theirs)))
        found = ours.get(key)
        if found is not None:
            nearer.append(found)
        if _is_standard(key[0]):
            if found is not None:
                standard.append((found, False))
        elif found is not None:
            reading, constant = _parts(found) if key[0] != package else (found, None)
            libraries += [reading] if reading is not None else []
            standard += [(constant, False)] if constant is not None else []
        if not _is_standard(key[0]) and (guess := names.guess(base.__name__)):
            standard.append((guess, True))
    foreign = [base for base in cls.__mro__ if not _is_standard(str(base.__module__).partition(".")[0])]
    return Plan(
        tuple(users),
        tuple(libraries),
        tuple(standard),
        is_guessed_by_base=names.guess(cls.__name__) is None,
        is_foreign=cls in foreign,
        attributes=frozenset(name for base in foreign for name in vars(base)),
        is_about_tries=any(names.is_about_tries(base.__name__) for base in foreign),
    )


def _parts(rule: Rule) -> tuple[Rule | None, Rule | None]:
    """Return what a rule reads from an exception, and what it says of its class alone.

    Where the class comes from another package than the rule, its own name and attributes go between the two.
    """
    if not callable(rule):
        return None, rule
    return peek(rule, "first") or rule, peek(rule, "otherwise")


def _is_standard(package: str) -> bool:
    return package == "builtins" or package in sys.stdlib_module_names


def _check_fields(given: dict[str, Any]) -> None:
    known = Failure.__struct_fields__
    for name in given:
        if name not in known:
            raise TypeError(f"a failure has no field {name!r}{did_you_mean(str(name), known)}")
    failure_from(given)  # a value that no failure can have is refused now, not when an exception is mapped


def _check_key(of: object) -> None:
    if isinstance(of, type) and issubclass(of, BaseException):
        return
    parts = cast("tuple[object, ...]", of) if isinstance(of, tuple) else ()
    if len(parts) == 2 and all(isinstance(part, str) and part for part in parts):
        return
    raise TypeError(f"a rule is for an exception class or a tuple ('package', 'ClassName'), not {of!r}")
