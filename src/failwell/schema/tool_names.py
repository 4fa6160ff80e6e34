"""Conclusions from tool names: which tool was probably meant, which one lists what is missing, which one runs code."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from itertools import islice, takewhile
from typing import Any

from failwell._json import is_object
from failwell._lazy import lazy_pattern
from failwell._spelling import closest, in_snake_case, normalised

# What a tool does, by its verb. Tools whose verbs stand in different rows are never taken for each other.
VERBS: dict[str, str] = {
    "list": "list ls enumerate browse all",
    "search": "search find lookup locate filter grep",
    "read": "get read fetch show view describe retrieve load download open inspect explain export count check watch",
    "create": "create add new insert make register import upload fork generate init",
    "write": "write save put store append",
    "change": "update edit set modify patch replace rename move change upsert sort format merge resize manage handle",
    "delete": "delete remove drop destroy clear purge erase unset uninstall cleanup",
    "copy": "copy clone duplicate",
    "send": "send post publish push submit reply notify email",
    "pull": "pull sync",
    "run": "run exec execute eval evaluate invoke call launch",
    "start": "start restart resume reopen enable connect install",
    "stop": "stop pause cancel disable disconnect close kill abort revoke archive",
    "convert": "convert transform translate",
    "commit": "commit checkout reset stash revert rebase",
    "pay": "pay charge transfer buy order book",
    "refund": "refund chargeback",
    "approve": "approve accept grant allow confirm",
    "refuse": "deny reject decline refuse block ban",
}
_KIND_OF_VERB = {verb: kind for kind, verbs in VERBS.items() for verb in verbs.split()}
_LISTS = ("list", "search", "read")
_FILLING_WORDS = """
    a an the of by for in on to from with and or id ids name names info details data content contents text api mcp tool
    current multiple available not resource object value argument be it this that any such error executing calling
    """
_FILLING = frozenset(_FILLING_WORDS.split())
# In a name, what comes after these words says where, whence or how: `list_issues_for_repo` lists no repositories.
_RELATING = frozenset(("from", "in", "for", "by", "with", "to", "into", "on", "using", "at", "per"))
_TURNING = ("un", "de", "dis", "en", "re")
_SHORTEST_STEM = 3
_LONGEST_LIST = 400
_LONGEST_REMEMBERED = 100


class ToolName:
    """A name in its words: what kind of verb it has, and its nouns in the singular."""

    def __init__(self, name: str, *, prefix: str = "") -> None:
        words = in_snake_case(name).split("_")
        self.words = words[1:] if prefix and words[0] == prefix and len(words) > 1 else words
        kinds = [kind for word in self.words if (kind := _kind_of(word))]
        self.kind = "list" if "list" in kinds else kinds[0] if kinds else None
        self.nouns = frozenset(
            singular(word) for word in self.words if word not in _KIND_OF_VERB and word not in _FILLING
        )
        before = takewhile(lambda word: word not in _RELATING, self.words)
        self.things = self.nouns & {singular(word) for word in before}
        """The nouns of what it lists, reads or creates: not of where, whence or how it does so."""
        if not self.things and self.kind != "create":
            self.things = self.nouns
        self.text = "_".join(self.words)
        """The words, without what all tools of the server begin with."""
        self.stems = {word: _stem(word) for word in self.words}
        """The words without a syllable that turns them around."""
        self.is_turned = any(word != stem for word, stem in self.stems.items())


def _stem(word: str) -> str:
    if not word.startswith(_TURNING):
        return word
    turned = (word.removeprefix(start) for start in _TURNING if word.startswith(start))
    return next((stem for stem in turned if len(stem) >= _SHORTEST_STEM), word)


def _listed_name(name: str, prefix: str) -> ToolName:
    """Return the name of a tool that a server lists: it comes back from call to call."""
    return _remembered(name, prefix) if len(name) <= _LONGEST_REMEMBERED else ToolName(name, prefix=prefix)


@lru_cache(maxsize=2048)
def _remembered(name: str, prefix: str) -> ToolName:
    return ToolName(name, prefix=prefix)


@lru_cache(maxsize=4)
def _names_of_server(names: tuple[str, ...]) -> tuple[str, dict[str, ToolName], dict[str, frozenset[str]]]:
    """Return the word that its tools begin with, the words of each, and what else the things are called that they name.

    The list comes back from call to call, too.
    """
    prefix = _shared_prefix(names)
    known = {name: _listed_name(name, prefix) for name in names[:_LONGEST_LIST]}
    nouns = frozenset(noun for part in known.values() for noun in part.nouns)
    called = {noun: frozenset((noun,)) for noun in nouns} | _SAME_THING
    return prefix, known, {thing: others for thing, others in called.items() if not others.isdisjoint(nouns)}


def _kind_of(word: str) -> str | None:
    return _KIND_OF_VERB.get(word)


@lru_cache(maxsize=256)  # words of tools come back, those that callers make up don't
def singular(word: str) -> str:
    """Return an English noun in the singular; what is none may come out odd, but always in the same way."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def _shared_prefix(names: Sequence[str]) -> str:
    """Return the word that all tools of a server begin with, if there is one and it says nothing of what they do."""
    first = {normalised(name).partition("_")[0] for name in names[:_LONGEST_LIST]}
    return first.pop() if len(first) == 1 and len(names) > 1 and not first & _KIND_OF_VERB.keys() else ""


def closest_tools(name: str, names: Iterable[str], *, most: int = 3) -> list[str]:
    """Return up to *most* tools that *name* may be a slip of, best first.

    A tool that does something else is none: `delete_file` never finds `edit_file`, nor `unlock_door` `lock_door`.
    """
    prefix, parts, _ = _names_of_server(tuple(names))
    wanted = ToolName(name, prefix=prefix)
    kind = wanted.kind or _misspelt_kind(wanted)
    kinds = (None, *(_LISTS if kind in _LISTS else (kind,)))
    fitting = {
        one: part
        for one, part in parts.items()
        if (kind is None or part.kind in kinds) and not _are_opposites(wanted, part)
    }
    by_text = {part.text: one for one, part in fitting.items()}
    sought = wanted.stems.keys()
    wider = [
        one
        for one, part in fitting.items()
        if len(sought) > 1 and (sought <= part.stems.keys() or (len(part.words) > 1 and part.stems.keys() <= sought))
    ]
    if prefix and len(sought) == 1 and wanted.text != in_snake_case(name):
        # One word beside what all tools begin with: it tells a tool if no other has it.
        holders = [one for one, part in fitting.items() if sought <= part.stems.keys()]
        wider = holders if len(holders) == 1 else []
    near = (by_text[text] for text in closest(wanted.text, by_text, most=most))
    alike = [one for one in near if _is_same_thing(wanted, parts[one])]
    exact = [one for one in alike if parts[one].stems.keys() == sought]
    return list(dict.fromkeys([*exact, *wider] or alike))[:most]


def _are_opposites(one: ToolName, other: ToolName) -> bool:
    """Return whether two names differ in a word that turns into that of the other: `lock` and `unlock`."""
    if not one.is_turned and not other.is_turned:
        return False
    stems = {stem for word, stem in other.stems.items() if word not in one.stems}
    return not stems.isdisjoint(stem for word, stem in one.stems.items() if word not in other.stems)


def _is_same_thing(one: ToolName, other: ToolName) -> bool:
    """Return whether the nouns of two names are the same, or spelt alike; a name may have none.

    Of names that share a noun and go on with another one each, those must be spelt alike.
    """
    if not one.nouns or not other.nouns:
        return True
    own, others = one.nouns - other.nouns, other.nouns - one.nouns
    return not own or not others or any(closest(noun, others, most=1) for noun in own)


def _misspelt_kind(name: ToolName) -> str | None:
    """Return what a tool would do whose verb is misspelt, such as `delte_file`."""
    near = (closest(word, _KIND_OF_VERB, most=1) for word in name.words if len(word) > 3)
    return next((_KIND_OF_VERB[found[0]] for found in near if found), None)


# What else the things are called that tools list: a path is found by listing a directory.
_SAME_THING_WORDS: dict[str, str] = {
    "path": "file directory folder",
    "file": "file directory folder",
    "filename": "file document workbook directory",
    "filepath": "file workbook directory",
    "directory": "directory folder",
    "folder": "folder directory",
    "repo": "repository repo",
    "db": "database",
    "relation": "table relation",
    "column": "column schema",
    "field": "field schema",
    "doc": "document",
    "worksheet": "sheet worksheet",
    "entity": "entity node",
    "node": "node entity",
    "pod": "pod resource",
    "conversation": "channel conversation",
}
_SAME_THING = {thing: frozenset(others.split()) for thing, others in _SAME_THING_WORDS.items()}
_PATHS = frozenset(("path", "file", "filename", "filepath", "directory", "folder"))
# Arguments that lead nowhere in one tool and to what there is in another: a query for tables lists them.
_SEEKING = _PATHS | {
    "dir",
    "query",
    "sql",
    "statement",
    "search",
    "q",
    "term",
    "keyword",
    "keywords",
    "pattern",
    "filter",
}
_NEEDS_NO_NEW = frozenset(("list", "search", "read", "delete", "copy"))
# In lower case. Each wording begins with a letter: to search for letters is fast.
_NOT_FOUND = lazy_pattern(
    r"n(?:ot(?:[ _]found| exist| be found| find| open)|'t (?:exist|find|open)"
    r"|o (?:such|\w{2,30} (?:found|named|called|with|exists?)))"
    r"|un(?:known|defined)|missing|can(?:not|'t) (?:find|open)"
)
# A path is looked for where a word begins, or after a quote: from each of its letters would take several times as long.
_QUOTED = lazy_pattern(r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`|(?<![^\s'\"`])[^\s/\\]*+[/\\]\S*+")
_QUOTES = frozenset("'\"`/\\")
_WORD = lazy_pattern(r"[a-z]{3,30}")
_LONGEST_TEXT = 4000
_MOST_CLAUSES, _BEFORE, _AFTER = 5, 100, 60


def missing_things(text: str) -> list[str]:
    """Return the words about what a text says is missing, in their order: of "Table 'x' does not exist", `table`."""
    text = text[:_LONGEST_TEXT].lower()
    if not _QUOTES.isdisjoint(text):
        text = _QUOTED.sub(" ", text)
    found: dict[str, None] = {}
    for match in islice(_NOT_FOUND.finditer(text), _MOST_CLAUSES):
        start, end = match.span()
        before = text[max(0, start - _BEFORE) : start].rpartition(": ")[2]  # not what the tool did then
        for word in _WORD.findall(before + text[start : end + _AFTER]):
            if word not in _FILLING:
                found[singular(word)] = None
    return list(found)


_NO_MATCH = lazy_pattern(
    r"\b(?:exact|no) match|\bmatch(?:es)? for\b|\boccurrences?\b|\bold[ _]?(?:text|str)", re.IGNORECASE
)

_CONTENT = frozenset(("read", "view", "show", "open", "content", "contents", "text"))


def helpful_tools(
    tool: str,
    names: Sequence[str],
    *,
    text: str,
    fields: Collection[str] = (),
    requires: Callable[[str], Collection[str]] = lambda _: (),
) -> tuple[str, ...]:
    """Return the tool that lists what a call of *tool* did not find, and the one that creates it where that may help.

    For a text that was to be changed, that is the tool that reads it. A tool that *requires* the very argument that
    leads nowhere does not list what it could be, unless that is a path or a query.

    What is missing is what the *text* of the failure names; else what the names of the *fields* at fault say, else the
    name of the tool.
    """
    prefix, known, called_too = _names_of_server(tuple(names))
    lost = {field for field in fields if _SEEKING.isdisjoint(_listed_name(field, "").words)}
    parts = {
        name: part
        for name, part in known.items()
        if name != tool and (part.kind == "create" or not lost or lost.isdisjoint(requires(name)))
    }
    if not parts:
        return ()
    called = _listed_name(tool, prefix)
    if called.kind == "change" and _NO_MATCH.search(text[:_LONGEST_TEXT]):  # the thing is there, and reads otherwise
        readers = [name for name, part in parts.items() if part.kind == "read" and part.nouns == called.nouns]
        return tuple(sorted(readers, key=lambda name: (_CONTENT.isdisjoint(parts[name].words), len(name)))[:1])
    named = missing_things(text)
    argued = [set(name.nouns or name.words) for name in (_listed_name(field, "") for field in fields)]
    # What a path leads to is found where paths are listed, and nowhere else.
    is_path = not _PATHS.isdisjoint(named) or any(things & _PATHS for things in argued)
    sought = [{thing} for thing in named if thing in called_too] + argued
    acts = {part.nouns for part in known.values() if part.kind in ("start", "stop")}
    for things in sought if is_path else (*sought, set(called.nouns)):
        if called_too.keys().isdisjoint(things):
            continue
        wanted = {other for thing in things for other in _SAME_THING.get(thing, (thing,))}
        listing = _best(parts, wanted, _LISTS, acts)
        creating = None if called.kind in _NEEDS_NO_NEW else _best(parts, wanted, ("create",), acts)
        if found := [name for name in (listing, creating) if name]:
            return tuple(found)
    return ()


def _best(parts: dict[str, ToolName], wanted: set[str], kinds: Sequence[str], acts: set[frozenset[str]]) -> str | None:
    """Return the tool that does one of these things with all of what is *wanted* and little else.

    A tool without a verb shows what it is named after, unless that is something to be started or stopped: an *act*.
    """
    best: tuple[int, int, int] | None = None
    found: str | None = None
    for name, part in parts.items():
        if not part.things & wanted:
            continue
        is_shown = part.nouns <= wanted and part.nouns not in acts  # `git_branch` shows branches
        kind = part.kind or ("read" if is_shown else None)
        if kind not in kinds or (part.kind == "read" and not _is_overview(part)):
            continue
        rank = (kinds.index(kind), len(part.nouns - wanted), len(part.words))
        if best is None or rank < best:
            best, found = rank, name
    return found


def _is_overview(part: ToolName) -> bool:
    """Return whether a tool that reads shows many things: its noun is in the plural, or it is a schema."""
    return bool(part.nouns & {"schema", "tree"}) or any(
        word.endswith("s") and singular(word) in part.things and singular(word) != word for word in part.words
    )


# Tools whose purpose is to run what the caller wrote.
_RUNNABLE_WORDS = """
    bash shell command commands cmd script scripts code python python3 javascript js node test tests pytest repl cell
    notebook terminal sandbox jupyter interpreter program programs process powershell ruby go java kernel build job
    """
_RUNNABLE = frozenset(_RUNNABLE_WORDS.split())
_CODE_ARGUMENTS = frozenset(
    ("code", "script", "command", "commands", "cmd", "program", "python_code", "source_code", "cell", "test_command")
)
_PROGRAM_MARKS = frozenset("\n (=;/")
_ITSELF = frozenset(("bash", "shell", "python", "terminal", "repl", "interpreter", "powershell", "jupyter"))


def runs_code(tool: str, arguments: Any) -> bool:
    """Return whether a tool runs what its caller wrote: what fails then, a traceback say, is a part of its answer."""
    name = _listed_name(tool, "")
    words = set(name.words)
    if words & _ITSELF or (name.kind == "run" and words & _RUNNABLE) or "test" in words or "tests" in words:
        return True
    if not is_object(arguments):
        return False
    given = [name for name in arguments if name in _CODE_ARGUMENTS]
    return any(name != "code" or _is_program(arguments[name]) for name in given)


def _is_program(value: Any) -> bool:
    """Return whether a value is more than a code of another kind: a voucher's, a country's, a sign-in's."""
    return isinstance(value, str) and not _PROGRAM_MARKS.isdisjoint(value)
