"""The MCP Inspector sends roots: by its command line in each of its protocol eras, and changed between the calls of one connection:
python inspector_roots.py NODE BIN SERVER BASE
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

node, tools, server, base = sys.argv[1:]
IS_ERROR = 5


def uri(name):
    return {"uri": (pathlib.Path(base) / name).as_uri(), "name": name}


def run(home, program, *arguments):
    environment = {**os.environ, "HOME": home, "MCP_INSPECTOR_SECRET_STORE": "memory"}
    command = [node, f"{tools}/{program}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)


def config(home, era, roots):
    launch = {"type": "stdio", "command": server, "args": ["--client-roots", "narrow", base], "protocolEra": era}
    if roots is not None:
        launch["roots"] = [uri(name) for name in roots]
    path = pathlib.Path(home) / "config.json"
    path.write_text(json.dumps({"mcpServers": {"s": launch}}), encoding="utf-8")
    return str(path)


def read(home, era, roots, path, want):
    file = config(home, era, roots)
    done = run(home, "mcp-inspector", "--cli", "--config", file, "--server", "s", "--method", "tools/call", "--tool-name",
               "read_text_file", "--format", "json", "--tool-arg", f"path={path}")
    said = f"{era} {roots} {path}: {done.stdout} {done.stderr}"
    answer = json.loads(done.stdout.splitlines()[0])["result"]
    if answer.get("isError"):
        assert done.returncode == IS_ERROR and answer["_meta"]["cap-roots/code"] == want, said
    else:
        assert done.returncode == 0 and answer["content"][0]["text"] == want, said


def one_connection(home):
    """Roots that are set while the connection stays."""
    file = config(home, "legacy", ["ws"])

    def do(*arguments):
        done = run(home, "mcpdo", "--config", file, "--format", "json", *arguments)
        return done.stdout + done.stderr

    try:
        do("connect", "s")
        for roots, want in [(["ws"], '"ws"'), (["ws2"], '"ws2"'), ([], "no-roots"), (["ws"], '"ws"')]:
            do("@s", "roots/set", "--roots-json", json.dumps([uri(name) for name in roots]))
            said = do("@s", "tools/call", "read_text_file", "path:=where.txt")
            assert want in said and ("ws2" in said) == (want == '"ws2"'), f"{roots}: {said}"
    finally:
        do("daemon", "stop")
    print("inspector, one connection: roots that change")


with tempfile.TemporaryDirectory() as scratch:
    for protocol in ["legacy", "auto", "modern"]:
        read(scratch, protocol, ["ws"], "where.txt", "ws")
        read(scratch, protocol, ["ws"], f"{base}/ws2/where.txt", "outside-roots")
        # It says that it has roots, and then that there are none.
        read(scratch, protocol, None, "where.txt", "no-roots")
        print(f"inspector {protocol}: roots")
    one_connection(scratch)
