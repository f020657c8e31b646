"""A Python client drives the server through cases.json and its resources: python drive.py MODE SERVER BASE

MODE is v1 (mcp 1.x), or legacy, auto or pinned (mcp 2.x).
"""

import asyncio
import json
import pathlib
import sys


def cases(base):
    text = (pathlib.Path(__file__).parent / "cases.json").read_text(encoding="utf-8")
    return json.loads(text.replace("$WS2", f"{base}/ws2").replace("$WS", f"{base}/ws"))


def plain(value):
    """A result in the names of the protocol, whatever the client calls them."""
    return json.loads(value.model_dump_json(by_alias=True, exclude_none=True))


async def resources(client, mode, base):
    """What there is, and the code of what is not there in either era."""
    listed = plain(await client.list_resources())["resources"]
    assert [root["uri"] for root in listed] == ["root://ws/", "root://ws2/"], listed
    templates = plain(await client.list_resource_templates())["resourceTemplates"]
    assert [template["uriTemplate"] for template in templates] == ["root://{name}/{+path}"], templates

    async def read(uri):
        return plain(await client.read_resource(uri))["contents"]

    name = "root://ws/sub/%C3%9Cbersicht%20%E9%9F%B3.md"
    for want in [
        {"uri": name, "mimeType": "text/markdown", "text": "text\n"},
        {"uri": "root://ws/pixel.png", "mimeType": "image/png", "blob": "iVBORw0KGgo="},
        {"uri": "root://ws/sub/", "mimeType": "inode/directory", "text": name + "\n"},
    ]:
        assert await read(want["uri"]) == [want], want
    not_found = -32002 if mode in ("v1", "legacy") else -32602
    for uri in ["root://ws/missing", "root://ws/out/secret.txt", f"file://{base}/ws/notes.txt"]:
        try:
            raise AssertionError(f"{uri}: {await read(uri)}")
        except Exception as error:
            assert getattr(error, "error", None) and error.error.code == not_found, f"{uri}: {error!r}"


async def drive(client, mode, rows):
    tools = plain(await client.list_tools())["tools"]
    used = {row["tool"] for row in rows}
    for tool in tools:
        assert tool["name"] in used, f"no case for {tool['name']}"
    for row in rows:
        said = f"{row['tool']} {json.dumps(row['arguments'])}"
        answer = plain(await client.call_tool(row["tool"], row["arguments"]))
        text = answer["content"][0].get("text")
        if "code" in row:
            assert answer["isError"] is True, said
            assert answer["_meta"]["cap-roots/code"] == row["code"], f"{said}: {answer}"
            assert text.startswith(row["code"] + ": "), f"{said}: {text}"
            assert "SECRET" not in json.dumps(answer), said
            continue
        assert not answer.get("isError"), f"{said}: {text}"
        if "content" in row:
            assert answer["content"] == row["content"], f"{said}: {answer}"
            assert answer["structuredContent"]["content"] == row["content"], said
        else:
            assert text.startswith(row["start"]) if "start" in row else text == row["text"], f"{said}: {text!r}"
            # A notice is a block of its own, for programs in _meta, and the last line of the structured form where that is no file and no tree.
            blocks = [block["text"] for block in answer["content"][1:]]
            assert (answer.get("_meta") or {}).get("cap-roots/notice") == (blocks[0][1:-1] if blocks else None), said
            exact = row["tool"] in ("read_file", "read_text_file", "directory_tree")
            notice = "".join("\n" + block for block in blocks if not exact)
            assert answer["structuredContent"]["content"] == text + notice, said
    print(f"python {mode}: {len(rows)} calls, {len(tools)} tools")


async def main():
    mode, server, base = sys.argv[1:]
    rows = cases(base)
    launch = {"command": server, "args": [f"{base}/ws", f"{base}/ws2"]}
    if mode == "v1":
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client

        async with stdio_client(StdioServerParameters(**launch)) as (read, write):
            async with ClientSession(read, write) as client:
                await client.initialize()
                await resources(client, mode, base)
                await drive(client, mode, rows)
        return
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    asked = {"legacy": "legacy", "auto": "auto", "pinned": "2026-07-28"}[mode]
    async with Client(stdio_client(StdioServerParameters(**launch)), mode=asked) as client:
        await resources(client, mode, base)
        await drive(client, mode, rows)


asyncio.run(main())
