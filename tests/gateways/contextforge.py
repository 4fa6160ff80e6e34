"""The plugin in ContextForge's own plugin manager; run by `nox -s gateways`, where it is installed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from cpex.framework import GlobalContext, PluginManager, ToolHookType, ToolPostInvokePayload

CONFIG = """
plugins:
  - name: failwell
    kind: failwell.integrations.contextforge.FailwellPlugin
    hooks: [tool_post_invoke]
    mode: sequential
    priority: 50
    config: {config}
plugin_dirs: []
plugin_settings: {{}}
"""
FAILED = {"content": [{"type": "text", "text": "429 Too Many Requests, retry after 30 s"}], "isError": True}
SUCCEEDED = {"content": [{"type": "text", "text": "4 files"}], "isError": False}


def invoke(folder: Path, result: Any, config: str = "{}") -> Any:
    """Return what the gateway goes on with: the modified result, or None."""
    file = folder / "plugins.yaml"
    file.write_text(CONFIG.format(config=config), encoding="utf-8")

    async def run() -> Any:
        PluginManager.reset()  # all managers of a process share one state
        manager = PluginManager(str(file))
        await manager.initialize()
        try:
            outcome, _ = await manager.invoke_hook(
                ToolHookType.TOOL_POST_INVOKE,
                payload=ToolPostInvokePayload(name="search", result=result),
                global_context=GlobalContext(request_id="1"),
            )
        finally:
            await manager.shutdown()
        return outcome.modified_payload.result if outcome.modified_payload else None

    return asyncio.run(run())


def test_a_failure_becomes_structured(tmp_path: Path) -> None:
    found = invoke(tmp_path, FAILED)

    assert found["isError"] is True
    assert found["content"][0]["text"].startswith("429 Too Many Requests")
    assert found["_meta"]["errorCode"] == "RATE_LIMITED"


def test_the_text_itself_can_be_structured_as_the_gateway_drops_meta(tmp_path: Path) -> None:
    found = invoke(tmp_path, FAILED, "{dialect: compact}")

    assert '"RATE_LIMITED"' in found["content"][0]["text"]


@pytest.mark.parametrize("result", [SUCCEEDED, "text", None, {"other": 1}, [FAILED]])
def test_what_is_no_failure_passes_as_it_is(tmp_path: Path, result: Any) -> None:
    assert invoke(tmp_path, result) in (None, result)
