"""The MCP Inspector's command line calls every tool, well and badly, in each of its protocol eras: python inspector.py NODE INSPECTOR SERVER BASE"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

node, inspector, server, base = sys.argv[1:]
text = (pathlib.Path(__file__).parent / "cases.json").read_text(encoding="utf-8")
rows = json.loads(text.replace("$WS2", f"{base}/ws2").replace("$WS", f"{base}/ws"))
IS_ERROR = 5

# The first good and the first bad call of each tool; the command line cannot name an argument that is missing or has a wrong type.
# Calls that change files, or come after such a change, have their place in the order ("changes" in cases.json) and are left to the other
# clients.
chosen = {}
for row in rows:
    if row["tool"] == "no_such_tool":
        continue  # refused by the Inspector itself
    if row.get("changes"):
        continue
    if all(isinstance(value, str) and value for value in row["arguments"].values()):
        chosen.setdefault((row["tool"], "code" in row), row)
    elif row["tool"] == "read_multiple_files" and "text" in row:
        chosen.setdefault((row["tool"], False), row)


def call(era, row, home):
    config = pathlib.Path(home) / f"{era}.json"
    arguments = [
        f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in row["arguments"].items()
    ]
    command = [node, inspector, "--cli", "--config", str(config), "--server", "s", "--method", "tools/call"]
    command += ["--tool-name", row["tool"], "--format", "json"]
    for argument in arguments:
        command += ["--tool-arg", argument]
    environment = {**os.environ, "HOME": home, "MCP_INSPECTOR_SECRET_STORE": "memory"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    said = f"{era} {row['tool']} {row['arguments']}: {done.stdout} {done.stderr}"
    answer = json.loads(done.stdout.splitlines()[0])["result"] if done.stdout.strip() else {}
    if "code" in row:
        assert done.returncode == IS_ERROR and answer["_meta"]["cap-roots/code"] == row["code"], said
    else:
        assert done.returncode == 0, said
        if "text" in row:
            assert answer["content"][0]["text"] == row["text"], said


with tempfile.TemporaryDirectory() as home:
    for era in ["legacy", "auto", "modern"]:
        launch = {"type": "stdio", "command": server, "args": [f"{base}/ws", f"{base}/ws2"], "protocolEra": era}
        (pathlib.Path(home) / f"{era}.json").write_text(json.dumps({"mcpServers": {"s": launch}}), encoding="utf-8")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda row, era=era: call(era, row, home), chosen.values()))
        print(f"inspector {era}: {len(chosen)} calls")
