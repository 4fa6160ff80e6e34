"""The demo, run for real: what it shows is true."""

import asyncio
import json
import sys

import pytest

from failwell.demo import client, runner
from failwell.demo.scenes import SCENES, SIDES, AgentRun, AgentStep, DemoScore, Scene, SceneResult


def agent_run(results: list[SceneResult], side: str, tool: str) -> AgentRun:
    [found] = [one.runs[side] for one in results if one.scene.tool == tool]
    return found


def test_the_score_is_the_one_in_the_docs(results: list[SceneResult]) -> None:
    assert runner.scores(results) == {
        "bare": DemoScore(scenes=14, recovered=2, calls=24, wasted=8, duplicates=4, secrets=3),
        "failwell": DemoScore(scenes=14, recovered=11, calls=26, wasted=0, duplicates=0, secrets=0),
    }


def test_every_scene_fails_at_first_on_both_sides(results: list[SceneResult]) -> None:
    careless = {"track_parcel"}
    assert len(results) == len(SCENES)
    for one in results:
        assert one.runs["failwell"].steps[0].failed, one.scene.title
        assert one.runs["bare"].steps[0].failed or one.scene.tool in careless, one.scene.title


def test_all_six_types_and_all_kinds_of_steps_are_staged(results: list[SceneResult]) -> None:
    codes = {one.runs["failwell"].steps[0].got.partition(":")[0] for one in results}
    first_words = {step.decided.split()[0] for one in results for step in one.runs["failwell"].steps}

    assert codes == {
        "NOT_FOUND", "VALIDATION_FAILED", "UNKNOWN_TOOL", "RATE_LIMITED", "LOCK_TIMEOUT", "TIMEOUT", "LOCKED",
        "FORBIDDEN", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE",
    }  # fmt: skip
    assert {"retry", "fix", "use", "look", "verify", "verify:", "escalate:", "hand", "take"} <= first_words


@pytest.mark.parametrize("tool", ["send_email", "charge_card"])
def test_only_the_bare_agent_repeats_a_side_effect(results: list[SceneResult], tool: str) -> None:
    assert (agent_run(results, "bare", tool).effects, agent_run(results, "failwell", tool).effects) == (3, 1)


def test_a_mail_that_left_is_found_without_sending_it_again(results: list[SceneResult]) -> None:
    found = agent_run(results, "failwell", "send_email")

    assert [step.tool for step in found.steps] == ["send_email", "list_sent"]
    assert found.recovered


def test_the_rate_limit_is_waited_out_as_long_as_the_server_asked(results: list[SceneResult]) -> None:
    assert [step.decided for step in agent_run(results, "failwell", "find_products").steps] == [
        "retry in 15 s",
        "take it",
    ]


def test_what_passes_by_itself_is_recovered_on_both_sides(results: list[SceneResult]) -> None:
    both = {one.scene.tool for one in results if all(found.recovered for found in one.runs.values())}

    assert both == {"set_stock", "exchange_rate"}


def test_only_the_bare_server_gives_the_password_away(results: list[SceneResult]) -> None:
    assert {side: agent_run(results, side, "export_customers").secrets for side in SIDES} == {
        "bare": 3,
        "failwell": 0,
    }


def test_an_error_sent_as_a_success_misleads_the_bare_agent(results: list[SceneResult]) -> None:
    assert agent_run(results, "bare", "track_parcel").ending == "misled"
    assert agent_run(results, "failwell", "track_parcel").ending == "recovered"


def test_as_json_it_has_the_documented_shape(results: list[SceneResult]) -> None:
    found = json.loads(json.dumps(runner.as_json("compact", results)))

    assert list(found) == ["version", "dialect", "scenes", "score"]
    assert (found["version"], found["dialect"]) == (1, "compact")
    assert len(found["scenes"]) == len(SCENES)
    assert list(found["scenes"][0]) == ["title", "tool", "arguments", "bare", "failwell"]
    assert set(found["scenes"][0]["bare"]) == {
        "steps", "ending", "effects", "secrets", "recovered", "wasted", "duplicates"
    }  # fmt: skip
    assert set(found["scenes"][0]["bare"]["steps"][0]) == set(AgentStep.__struct_fields__)
    assert set(found["score"]["failwell"]) == set(DemoScore.__struct_fields__)


def test_both_servers_offer_the_same_tools(tmp_path_factory: pytest.TempPathFactory) -> None:
    async def offered(dialect: str | None) -> dict[str, client.DemoTool]:
        async with client.connect(tmp_path_factory.mktemp("demo") / "shop", dialect) as connection:
            return connection.tools

    async def both() -> list[dict[str, client.DemoTool]]:
        return list(await asyncio.gather(offered(None), offered("xml")))

    bare, protected = asyncio.run(both())

    assert bare == protected
    assert {scene.tool for scene in SCENES} - set(bare) == {"list_order"}


def test_steps_and_scenes_are_told_while_it_is_played(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(runner, "SCENES", SCENES[:1])

    def on_step(side: str, scene: Scene, step: AgentStep) -> None:
        told.append((side, step.decided))

    found = asyncio.run(
        runner.run_demo("flat", on_step=on_step, on_scene=lambda one: told.append(("done", one.scene.title)))
    )

    assert sorted(told[:-1]) == [
        ("bare", "hand it over"),
        ("failwell", "go by it"),
        ("failwell", "look in list_orders"),
        ("failwell", "take it"),
    ]
    assert told[-1] == ("done", found[0].scene.title)


def test_a_server_that_does_not_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "no-such-python")

    with pytest.raises(runner.DemoFailed) as failed:
        asyncio.run(runner.run_demo("compact"))

    assert str(failed.value).startswith("the demo servers could not run: FileNotFoundError: ")
    assert "\n" not in str(failed.value)


def test_a_demo_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "_TIMEOUT", 0.0)

    with pytest.raises(runner.DemoFailed, match="did not finish within 0 s"):
        asyncio.run(runner.run_demo("compact"))
