"""Packages that load their names late, and patterns that are compiled late."""

import ast
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import failwell as fw
from failwell._lazy import lazy_pattern

SOURCES = Path(fw.__file__).parent
PACKAGES = [
    import_module(".".join(("failwell", *path.parent.relative_to(SOURCES).parts)))
    for path in SOURCES.rglob("__init__.py")
    if "from failwell._lazy import exports" in path.read_text(encoding="utf-8")
]


def tree_of(package: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(package))


def imported_for_type_checkers(package: ModuleType) -> dict[str, str]:
    """Return the names in the `if TYPE_CHECKING:` block, and the module that each comes from."""
    [block] = [node for node in tree_of(package).body if isinstance(node, ast.If)]
    assert isinstance(block.test, ast.Name)
    assert block.test.id == "TYPE_CHECKING"
    return {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if node.module != package.__name__  # these are modules
    }


def loaded_late(package: ModuleType) -> dict[str, str]:
    """Return the names that `exports` is given, and the module that each comes from."""
    [homes] = [
        found
        for node in ast.walk(tree_of(package))
        if isinstance(node, ast.Dict) and (found := _literal(node)) and all(isinstance(key, str) for key in found)
    ]
    return {
        name: home if home.startswith("failwell.") else f"{package.__name__}.{home}"
        for home, names in homes.items()
        for name in names.split()
    }


def _literal(node: ast.Dict) -> dict[Any, Any]:
    found: dict[Any, Any] = ast.literal_eval(node)
    return found


def modules_of(package: ModuleType) -> set[str]:
    return set(getattr(package, "_MODULES", ()))


def test_the_packages_that_load_late_are_found() -> None:
    assert fw in PACKAGES


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_type_checkers_read_the_names_that_are_loaded_late(package: ModuleType) -> None:
    assert imported_for_type_checkers(package) == loaded_late(package)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_name_that_is_loaded_late_is_exported_and_nothing_else(package: ModuleType) -> None:
    exported = sorted({*loaded_late(package), *modules_of(package)})

    assert package.__all__ == exported
    assert dir(package) == exported


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_name_is_the_object_of_its_module(package: ModuleType) -> None:
    for name, home in loaded_late(package).items():
        assert getattr(package, name) is getattr(import_module(home), name)
    for name in modules_of(package):
        assert getattr(package, name) is import_module(f"{package.__name__}.{name}")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_name_that_does_not_exist_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018 - asking for it is the test


HOLDERS = [
    ".".join(("failwell", *path.relative_to(SOURCES).with_suffix("").parts))
    for path in SOURCES.rglob("*.py")
    if "from failwell._lazy import lazy_pattern" in path.read_text(encoding="utf-8")
]


EVERY_PATTERN = """
import gc, importlib, re, sys
from failwell._lazy import LazyPattern
for name in sys.argv[1:]:
    importlib.import_module(name)
patterns = [one for one in gc.get_objects() if isinstance(one, LazyPattern)]
for one in patterns:
    re.compile(one.pattern, one.flags)
print(len(patterns))
"""


def test_every_pattern_that_is_compiled_late_can_be() -> None:
    command = [sys.executable, "-c", EVERY_PATTERN, *HOLDERS]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)

    assert len(HOLDERS) > 20
    assert int(ran.stdout) > 100


def test_a_pattern_does_what_a_compiled_one_does() -> None:
    pattern = lazy_pattern(r"(\d+)-([a-z]+)", re.IGNORECASE)
    same = re.compile(r"(\d+)-([a-z]+)", re.IGNORECASE)
    text = "1-a, 22-BB"

    assert [m.span() for m in pattern.finditer(text)] == [m.span() for m in same.finditer(text)]
    assert pattern.sub("x", text) == same.sub("x", text)
    assert pattern.subn("x", text) == same.subn("x", text)
    assert pattern.split(text) == same.split(text)
    assert pattern.findall(text) == same.findall(text)
    assert (pattern.match(text) or [])[0] == (same.match(text) or [])[0]
    assert pattern.fullmatch(text) is same.fullmatch(text) is None
    assert pattern.pattern == same.pattern
    with pytest.raises(AttributeError, match="serach"):
        _ = pattern.serach  # type: ignore[attr-defined]  # that is what is tested


FIRST_FAILURE = """
import gc, sys
import msgspec  # loads what it likes
before = {*sys.modules}
from failwell.proxy.rewriter import Rewriter, ProxiedCall
from failwell._lazy import LazyPattern
content = [{"type": "text", "text": "ENOENT: no such file or directory, open '/srv/data/a.txt'"}]
message = {"jsonrpc": "2.0", "id": 1, "result": {"content": content, "isError": True}}
call = ProxiedCall(id=1, tool="open_file", arguments={"path": "/srv/data/a.txt"})
rewriter = Rewriter()
answer, _ = rewriter.write_answer(call, rewriter.read_answer(call, message, is_failed=True))
assert answer["result"]["_meta"]["errorCode"] == "FILE_NOT_FOUND", answer
patterns = [one for one in gc.get_objects() if isinstance(one, LazyPattern)]
def is_compiled(one):
    try:
        return bool(LazyPattern.search.__get__(one))  # the slot itself
    except AttributeError:
        return False
print(len(patterns), sum(map(is_compiled, patterns)), *({*sys.modules} - before))
"""


def test_the_first_failure_compiles_few_patterns_and_loads_little() -> None:
    ran = subprocess.run([sys.executable, "-c", FIRST_FAILURE], capture_output=True, text=True, check=True)
    known, compiled, *modules = ran.stdout.split()

    assert int(known) > 100
    assert 5 < int(compiled) < int(known) / 3
    assert {"logging", "pathlib", "urllib.parse", "socket", "inspect", "asyncio", "json", "copy"}.isdisjoint(modules)


PROTECTED = """
import logging, sys
from failwell.server._protection import CallInfo, Protection
logging.disable()
class Server:
    name = "tasks"
protection = Protection()
protection.put_on(Server(), lambda server, protection: "nothing")
before = set(sys.modules)
responder = protection.responder(CallInfo("claim"))
responder.encode(responder.failure_of(KeyError("task")))
print(*sorted(name for name in set(sys.modules) - before if name.startswith("failwell")))
"""


def test_the_first_failure_of_a_protected_server_keeps_nobody_waiting_for_modules() -> None:
    ran = subprocess.run([sys.executable, "-c", PROTECTED], capture_output=True, text=True, check=True)

    assert ran.stdout.split() == []


OF_A_GUARD = """
import logging, sys
import failwell as fw
logging.disable(logging.CRITICAL)
def tool():
    raise eval(sys.argv[1])
fw.guard(tool)()
print(*sorted(sys.modules))
"""


@pytest.mark.parametrize(
    "raised", ["fw.NotFound('Task 7 does not exist.')", "ConnectionRefusedError(111, 'Connection refused')"]
)
def test_the_first_failure_of_a_guard_loads_what_it_needs_and_no_more(raised: str) -> None:
    command = [sys.executable, "-I", "-c", OF_A_GUARD, raised]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())

    needless = {"asyncio", "concurrent.futures", "failwell.exceptions.sql", "failwell.exceptions.aws"}
    needless |= {"failwell.phrases.vendors", "failwell.schema.problems", "failwell.reading", "jsonschema_rs"}
    assert "failwell.exceptions.engine" in loaded
    assert loaded & needless == set()


AFTER_PROTECT = """
import asyncio, logging, re, sys
from unittest import mock
from mcp.client.client import Client
from mcp.server import MCPServer
import failwell as fw

logging.disable(logging.CRITICAL)
server = MCPServer("example")

@server.tool()
async def work(number: int) -> str:
    if number == 1:
        raise fw.NotFound("Task 1 does not exist.")
    raise KeyError(number)

fw.protect(server)

async def main():
    async with Client(server) as client:
        before, compiled, compile = set(sys.modules), [], re.compile
        with mock.patch("re.compile", lambda text, *flags: compiled.append(text) or compile(text, *flags)):
            for tool, arguments in (("work", {"number": 1}), ("work", {"number": 2}), ("work", {}), ("wrk", {})):
                assert (await client.call_tool(tool, arguments)).is_error
        print(sorted(name for name in set(sys.modules) - before if name.startswith("failwell")))
        print([text for text in compiled if len(text) > 500])

asyncio.run(main())
"""


def test_a_protected_server_loads_before_its_first_call_what_failures_need() -> None:
    ran = subprocess.run([sys.executable, "-I", "-c", AFTER_PROTECT], capture_output=True, text=True, check=True)

    assert ran.stdout.splitlines() == ["[]", "[]"]
