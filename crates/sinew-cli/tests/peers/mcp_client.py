"""A client of the Python SDK, in both eras: `mcp_client.py PROGRAM ARGUMENT...`."""
import asyncio
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def check(mode, version):
    server = stdio_client(StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ)))
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == version, client.protocol_version
        tools = await client.list_tools()
        assert [tool.name for tool in tools.tools][0] == "grep", tools
        result = await client.call_tool("grep", {"pattern": "needle"})
        assert "needle();" in result.content[0].text, result
        best = await client.call_tool("fuzzy_find", {"query": "mainrs"})
        assert best.structured_content == {"paths": ["src/main.rs"], "total": 1}, best
        refused = await client.call_tool("read", {"path": "/etc/passwd"})
        assert refused.is_error, refused


asyncio.run(check("auto", "2026-07-28"))
asyncio.run(check("legacy", "2025-11-25"))
print("all is well")
