"""Engines that retry durably: Temporal's activities, a workflow of DBOS on SQLite. Run by `nox -s durable`."""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from dbos import DBOS, DBOSConfig
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

import failwell as fw
from failwell.integrations.dbos import durable_acall, durable_call
from failwell.integrations.temporal import application_error, durable

LIMITED = fw.Failure(code="RATE_LIMITED", message="Only 10 a minute.", retry_after=90)
LOST = fw.Failure(code="TIMEOUT", message="No answer.")


@pytest.mark.parametrize(
    ("failure", "hints", "attempt", "expected"),
    [
        (LIMITED, None, 1, (False, timedelta(seconds=90))),
        (LIMITED.replace(retry_after=3600), None, 1, (False, timedelta(hours=1))),
        (LIMITED, None, 3, (True, None)),
        (LOST, None, 1, (True, None)),
        (LOST, {"readOnlyHint": True}, 1, (False, timedelta(seconds=0.05))),
        (fw.Failure(code="NOT_FOUND", message="No such order."), None, 1, (True, None)),
        (fw.Failure(code="CONFLICT", message="Locked by ada.", retry_after=5), None, 2, (True, None)),
    ],
    ids=[
        "rate limit",
        "longer than a process waits",
        "tries used up",
        "outcome unknown",
        "safe tool",
        "not found",
        "conflict",
    ],
)
def test_temporal_makes_again_what_is_worth_it_and_safe(
    failure: fw.Failure, hints: Any, attempt: int, expected: tuple[bool, timedelta | None]
) -> None:
    error = application_error(failure, hints=hints, attempt=attempt)

    assert (error.non_retryable, error.next_retry_delay) == expected
    assert error.type == failure.code
    assert fw.failure_of({"_meta": {"dev.failwell/failure": error.details[0]}}) == failure


async def _limited() -> str:
    raise fw.RateLimited("Token sk-live-0123456789abcdefghij made too many calls.", retry_after=90)


async def _said() -> dict[str, Any]:
    return fw.encode(LOST)


@pytest.mark.parametrize(
    ("activity", "code", "is_final"), [(_limited, "RATE_LIMITED", False), (_said, "TIMEOUT", True)]
)
def test_an_activity_raises_what_temporal_acts_on(activity: Any, code: str, is_final: bool) -> None:
    with pytest.raises(ApplicationError) as raised:
        asyncio.run(ActivityEnvironment().run(durable()(activity)))

    assert (raised.value.type, raised.value.non_retryable) == (code, is_final)
    assert "sk-live" not in f"{raised.value} {raised.value.details}"


def test_an_activity_that_succeeds_gives_its_result() -> None:
    async def fine() -> str:
        return "fine"

    assert asyncio.run(ActivityEnvironment().run(durable()(fine))) == "fine"


def test_a_synchronous_activity_raises_and_returns_the_same() -> None:
    def limited() -> str:
        raise fw.RateLimited("Too many requests.", retry_after=90)

    with pytest.raises(ApplicationError) as raised:
        ActivityEnvironment().run(durable()(limited))

    assert (raised.value.type, raised.value.next_retry_delay) == ("RATE_LIMITED", timedelta(seconds=90))
    assert ActivityEnvironment().run(durable()(lambda: "fine")) == "fine"


def test_a_step_of_the_other_kind_is_refused() -> None:
    async def waits() -> str:
        raise AssertionError("it began")

    with pytest.raises(TypeError, match="await durable_acall"):
        durable_call(waits)
    with pytest.raises(TypeError, match="use durable_call"):
        asyncio.run(durable_acall(lambda: "done"))  # type: ignore[arg-type,return-value]  # that is the mistake


def test_a_workflow_of_dbos_waits_out_what_passes_and_repeats_nothing_that_may_have_happened(
    tmp_path: Path,
) -> None:
    made: list[str] = []

    @DBOS.step()
    def search() -> str:
        made.append("search")
        if made.count("search") < 3:
            raise fw.RateLimited("Too many requests.", retry_after=0.01)
        return "found"

    @DBOS.step()
    def pay() -> str:
        made.append("pay")
        raise fw.TimedOut("The bank did not answer.")

    @DBOS.workflow()
    def order() -> str:
        found = durable_call(search)
        try:
            return durable_call(pay)
        except fw.TimedOut as lost:
            return f"{found}, {lost.failure.outcome}"

    config: DBOSConfig = {"name": "shop", "system_database_url": f"sqlite:///{tmp_path}/dbos.sqlite"}
    DBOS(config=config)
    DBOS.launch()
    try:
        handle = DBOS.start_workflow(order)
        assert handle.get_result() == "found, unknown"
        steps = DBOS.list_workflow_steps(handle.workflow_id)
    finally:
        DBOS.destroy()

    assert made == ["search"] * 3 + ["pay"]
    assert [step["function_name"].rpartition(".")[2] for step in steps] == [
        "search", "sleep", "search", "sleep", "search", "pay",
    ]  # fmt: skip
