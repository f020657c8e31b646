"""A Python client changes its roots while calls run: python roots.py MODE SERVER BASE

MODE is v1 (mcp 1.x), or legacy, auto or pinned (mcp 2.x).
"""

import asyncio
import contextlib
import json
import pathlib
import sys

mode, server, base = sys.argv[1:]
modern = mode in ("auto", "pinned")
sent = []
asked = 0


def answer_with(types):
    async def answer(*_):
        global asked
        asked += 1
        return types.ListRootsResult(roots=[types.Root(uri=pathlib.Path(path).as_uri()) for path in sent])

    return answer


@contextlib.asynccontextmanager
async def connect(arguments):
    from mcp import StdioServerParameters
    from mcp.client.stdio import stdio_client

    launch = StdioServerParameters(command=server, args=arguments)
    if mode == "v1":
        from mcp import ClientSession, types

        async with stdio_client(launch) as (read, write):
            async with ClientSession(read, write, list_roots_callback=answer_with(types)) as client:
                await client.initialize()
                yield client
        return
    from mcp import Client, types

    asked_mode = {"legacy": "legacy", "auto": "auto", "pinned": "2026-07-28"}[mode]
    async with Client(stdio_client(launch), mode=asked_mode, list_roots_callback=answer_with(types)) as client:
        yield client


async def read(client, path):
    """The content of a file, or the code of the refusal."""
    answer = await client.call_tool("read_text_file", {"path": path})
    answer = json.loads(answer.model_dump_json(by_alias=True, exclude_none=True))
    return answer["_meta"]["cap-roots/code"] if answer.get("isError") else answer["content"][0]["text"]


async def change(client, names):
    sent[:] = [f"{base}/{name}" for name in names]
    if not modern:
        await client.send_roots_list_changed()


async def main():
    global asked
    async with connect(["--client-roots", "narrow", base]) as client:
        await change(client, ["ws"])
        asked = 0
        assert await read(client, "where.txt") == "ws"
        assert await read(client, f"{base}/ws2/where.txt") == "outside-roots"
        assert asked == (2 if modern else 1), asked
        for _ in range(5):
            await change(client, ["ws"])
            before = [asyncio.create_task(read(client, "where.txt")) for _ in range(8)]
            await asyncio.sleep(0)
            await change(client, ["ws2"])
            behind = [asyncio.create_task(read(client, "where.txt")) for _ in range(8)]
            for got in await asyncio.gather(*before):
                assert got in ("ws", "ws2", "cancelled", "no-roots"), got
            for got in await asyncio.gather(*behind):
                assert got == "ws2", got
        await change(client, [])
        assert await read(client, "where.txt") == "no-roots"
    async with connect(["--client-roots", "narrow", f"{base}/ws"]) as client:
        for wider, want in [("", "ws"), ("ws2", "no-roots"), ("ws/out", "no-roots")]:
            await change(client, [wider])
            assert await read(client, f"{base}/ws/where.txt") == want, wider
            assert await read(client, f"{base}/ws2/where.txt") in ("outside-roots", "no-roots")
    print(f"python {mode}: roots that change")


asyncio.run(main())
