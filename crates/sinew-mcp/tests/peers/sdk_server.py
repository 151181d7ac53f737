"""A server of the Python SDK over the transport in its argument."""
import os
import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult
from pydantic import BaseModel

server = MCPServer("sdk", instructions="Ask nicely.")


class Who(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
async def slow(ctx: Context) -> str:
    """Reports progress."""
    for step in (1, 2, 3):
        await ctx.report_progress(step, 3)
    return "done"


@server.tool()
async def who(ctx: Context) -> str | InputRequiredResult:
    """Asks for a name: in the middle of the call before 2026-07-28, by its result since then."""
    if ctx.input_responses:
        return ctx.input_responses["q"].content["name"]
    try:
        answer = await ctx.elicit("Who are you?", Who)
    except Exception:
        schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        params = ElicitRequestFormParams(message="Who are you?", requested_schema=schema)
        return InputRequiredResult(input_requests={"q": ElicitRequest(params=params)})
    return answer.data.name


cancelled = 0


@server.tool()
async def wait() -> str:
    """Ends when it is cancelled."""
    global cancelled
    try:
        await anyio.sleep_forever()
    finally:
        cancelled += 1


@server.tool()
def count() -> int:
    """The number of calls that were cancelled."""
    return cancelled


@server.resource("note://one")
def one() -> str:
    """A note."""
    return "one"


@server.prompt()
def greet(name: str) -> str:
    """A greeting."""
    return f"Say hello to {name}."


if sys.argv[1] == "stdio":
    server.run("stdio")
else:
    server.run(sys.argv[1], port=int(os.environ["PORT"]))
