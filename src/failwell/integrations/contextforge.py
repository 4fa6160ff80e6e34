"""ContextForge: failing tools of every server behind the gateway fail well.

Needs mcp-contextforge-gateway 1.0.7 or newer: `failwell.integrations.contextforge.FailwellPlugin` is the `kind` of a
plugin with the hook `tool_post_invoke`.
"""

from failwell.dialects import get
from failwell.proxy.rewrite import rewrite_result

try:
    from cpex.framework import Plugin, PluginConfig, PluginContext, ToolPostInvokePayload, ToolPostInvokeResult
except ImportError as missing:
    raise ImportError("this needs ContextForge: pip install mcp-contextforge-gateway") from missing

__all__ = ["FailwellPlugin"]


class FailwellPlugin(Plugin):
    """Makes the failure in a result structured after each call.

    The gateway passes on the text and the flag of a result and drops `_meta`. So `config` may have `dialect: compact`,
    for agents that read structure from the text; `flip_unflagged: true` flags error texts that are sent as successes.
    It never retries: the gateway has a plugin for that, and two layers would multiply.

    Raises:
        ValueError: there is no such dialect.
    """

    def __init__(self, config: PluginConfig) -> None:
        super().__init__(config)
        options = config.config or {}
        self._dialect = str(options.get("dialect", "meta"))
        self._flip = options.get("flip_unflagged") is True
        get(self._dialect)

    async def tool_post_invoke(self, payload: ToolPostInvokePayload, context: PluginContext) -> ToolPostInvokeResult:
        """Return the result with its failure structured, or nothing: it passes as it is."""
        del context
        if not isinstance(payload.result, dict):
            return ToolPostInvokeResult()
        found = rewrite_result(payload.result, tool=payload.name, dialect=self._dialect, flip=self._flip)
        if found is None:
            return ToolPostInvokeResult()
        return ToolPostInvokeResult(modified_payload=ToolPostInvokePayload(name=payload.name, result=found))
