"""A client of the Python SDK: `sdk_client.py SERVER FOLDER`, in both eras."""
import asyncio
import os
import random
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def check(mode, version):
    server = stdio_client(StdioServerParameters(command=sys.argv[1], args=sys.argv[2:]))
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == version, client.protocol_version
        tools = await client.list_tools()
        assert [tool.name for tool in tools.tools][0] == "grep", tools
        result = await client.call_tool("grep", {"pattern": "needle"})
        assert "src/main.rs:2:    needle();" in result.content[0].text, result
        refused = await client.call_tool("read", {"path": "/etc/passwd"})
        assert refused.is_error, refused
        await many(client)


async def many(client):
    """Concurrent calls, some of which are cancelled."""
    calls = int(os.environ.get("SINEW_RANDOM_CALLS", "100"))
    chance = random.Random(1)
    done = {"answered": 0, "given up": 0}

    async def one():
        task = asyncio.ensure_future(client.call_tool("grep", {"pattern": "needle"}))
        if chance.randrange(3) == 0:
            for _ in range(chance.randrange(20)):
                await asyncio.sleep(0)
            task.cancel()
        try:
            assert "needle" in (await task).content[0].text
            done["answered"] += 1
        except asyncio.CancelledError:
            done["given up"] += 1

    for at in range(0, calls, 10):
        await asyncio.gather(*(one() for _ in range(min(10, calls - at))))
    assert sum(done.values()) == calls and done["given up"] > 0 and done["answered"] > calls / 2, done
    again = await client.call_tool("grep", {"pattern": "needle"})
    assert "needle" in again.content[0].text, again


asyncio.run(check("auto", "2026-07-28"))
asyncio.run(check("legacy", "2025-11-25"))
print("all is well")
