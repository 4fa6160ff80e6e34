"""What the pages on limits and fleets show works as it is shown."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tools.pictures import fleet

import failwell as fw
from failwell.proxy.options import parse
from failwell.retry import FleetLimits, Policy, Run
from tests.retry.fleet.servers import RedisServer
from tests.retry.steps import begin, failed

DOCS = Path(__file__).parents[3] / "docs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_user_on_the_page_may_do_what_limits_need(own_redis: RedisServer, make: Any) -> None:
    [line] = [block for block in blocks("howto/limits.md", "text") if block.startswith("user ")]
    own_redis.client.execute_command("ACL", "SETUSER", *shlex.split(line)[1:])
    warnings: list[str] = []
    limits: FleetLimits = make(
        own_redis.url.replace("//", "//failwell:PASSWORD@").replace("/0", "/1"), warn=warnings.append
    )
    for number in range(150):
        run = Run(Policy(), limits, "s", "t", arguments=number)
        begin(run, 0.0)
        failed(run, fw.Temporary("m", code="OVERLOADED", outcome="not_executed").failure, 0.0, jitter=0)
    limits.succeeded(("s", "t"), {}, 0.0, paid=14)
    limits.released(("s", "t"), caller=1)
    limits.flush()
    limits._store.check()

    assert warnings == []


def test_the_picture_is_the_one_that_is_drawn() -> None:
    assert (DOCS / "pictures" / "fleet.svg").read_text(encoding="utf-8") == fleet.picture()


@pytest.mark.parametrize("page", ["howto/fleet.md", "howto/limits.md"])
def test_commands_on_the_pages_take_their_options(page: str) -> None:
    commands = [block for block in blocks(page, "text") if block.startswith("failwell proxy ")]
    for command in commands:
        options = parse(shlex.split(command.replace("\\\n", " "))[2:])
        assert options.limits is not None

    assert len(commands) == (1 if page == "howto/fleet.md" else 0)
