"""An agent of Google's ADK: one plugin of the app, and a hook tells the application about failures."""

import asyncio
import sys
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
from google.genai import types
from mcp import StdioServerParameters

import failwell as fw
from failwell.integrations.google_adk import fail_well
from failwell.retry import Event

DESK = Path(__file__).with_name("desk.py")
PLAN = [("find_tickets", {"text": "printer"}), ("send_mail", {"to": "ada"}), ("sent_mails", {})]


class Script(BaseLlm):
    """Stands in for a model: prints what the last call showed, and makes the next one."""

    async def generate_content_async(self, llm_request, *args, **kwargs):
        parts = [part.function_response for content in llm_request.contents for part in content.parts]
        shown = [part for part in parts if part]
        if shown:
            print(f"{shown[-1].name}: {shown[-1].response}")
        if len(shown) < len(PLAN):
            said = types.Part.from_function_call(name=PLAN[len(shown)][0], args=PLAN[len(shown)][1])
        else:
            said = types.Part(text="The mail is out.")
        yield LlmResponse(content=types.Content(role="model", parts=[said]))


def print_event(event: Event) -> None:
    if event.kind == "failure":
        print(f"  the application gets: {event.failure.code}, outcome {event.failure.outcome}")


async def main() -> None:
    server = StdioServerParameters(command=sys.executable, args=[str(DESK)])
    desk = McpToolset(connection_params=StdioConnectionParams(server_params=server))
    agent = LlmAgent(name="desk", model=Script(model="script"), tools=[desk])
    app = App(name="desk", root_agent=agent, plugins=[fail_well(fw.client.Caller(hook=print_event))])
    async with InMemoryRunner(app=app) as runner:
        events = await runner.run_debug("Tell ada about the printer.", quiet=True)
    print(events[-1].content.parts[0].text)


if __name__ == "__main__":
    asyncio.run(main())
