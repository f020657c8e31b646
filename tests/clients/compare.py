#!/usr/bin/env python3
"""The reference server and this one beside each other: tests/clients/compare.py OURS REFERENCE...

OURS is our program, REFERENCE the command of the other; both serve the same folder, on standard input and output. The calls take turns, so that what
else the machine does falls on both alike. Prints the median of each and the ratio, for the README's table.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

FILES = 20_000


class Server:
    def __init__(self, command):
        self.last = 0
        begun = time.perf_counter()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        client = {"name": "compare", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.start = time.perf_counter() - begun
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.last and "method" not in answer:
                return answer["result"]

    def call(self, tool, arguments):
        begun = time.perf_counter()
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        taken = time.perf_counter() - begun
        assert not result.get("isError"), result
        return taken

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)


def build(folder):
    for number in range(FILES):
        if number % 100 == 0:
            at = folder / f"d{number // 2000}" / f"e{number // 100}"
            at.mkdir(parents=True)
        (at / f"{number}.txt").write_text(f"line one of {number}\nline two\n")
    (folder / "flat").mkdir()
    for number in range(1000):
        (folder / "flat" / f"{number}.md").write_text("x")
    (folder / "one.txt").write_text("word " * 200)


def main():
    ours, reference = [sys.argv[1], "--max-text-bytes", str(64 << 20)], sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        build(folder)
        commands = [[*command, str(folder)] for command in (ours, reference)]
        rows = {}

        def take(name, each):
            taken = [[], []]
            for _ in range(each[0]):
                for at in (0, 1):
                    taken[at].append(each[1](at))
            rows[name] = [statistics.median(values) for values in taken]

        def start(at):
            server = Server(commands[at])
            server.end()
            return server.start * 1000

        take("start, until initialize is answered (ms)", (15, start))
        servers = [Server(command) for command in commands]
        rows["memory after the start (MiB)"] = [server.memory() for server in servers]
        for name, times, tool, arguments in [
            ("read_text_file, 1 KB (ms)", 300, "read_text_file", {"path": f"{folder}/one.txt"}),
            ("write_file, 1 KB (ms)", 60, "write_file", {"path": f"{folder}/written.txt", "content": "word " * 200}),
            ("list_directory, 1,000 names (ms)", 30, "list_directory", {"path": f"{folder}/flat"}),
            (f"search_files, **/*77.txt in {FILES:,} files (ms)", 7, "search_files", {"path": str(folder), "pattern": "**/*77.txt"}),
            (f"directory_tree, {FILES:,} files (ms)", 7, "directory_tree", {"path": str(folder)}),
        ]:
            take(name, (times, lambda at: servers[at].call(tool, arguments) * 1000))
        rows["memory behind these calls (MiB)"] = [server.memory() for server in servers]
        print(f"| | cap-roots-mcp | reference server | ratio |\n| --- | --- | --- | --- |")
        for name, (our, other) in rows.items():
            print(f"| {name} | {our:.3g} | {other:.3g} | {our / other:.2f} |")
        for server in servers:
            server.end()


main()
