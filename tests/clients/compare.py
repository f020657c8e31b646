#!/usr/bin/env python3
"""The servers beside each other, on standard input and output: tests/clients/compare.py [--only WORD]... [--rounds N] [--entries N] [--ours FILE]

Builds this server, installs the reference server (npm) and the fastest other one in Rust (cargo) below target/compare, and has them work on the same
files. What is measured takes turns in one run, so that what else the machine does falls on all alike; each figure is a median, with the middle
half of what was measured behind it, and each ratio is ours to theirs. `--only` takes the rows that have WORD in their name. `--ours` measures
another build of this server beside. Needs node 20 or newer, npm, cargo and Linux; 4 GiB of an apparent size for one file that is mostly a hole.
"""

import argparse
import itertools
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
REFERENCE = "@modelcontextprotocol/server-filesystem@2026.8.31"
PEER = ("rust-mcp-filesystem", "0.4.5")
TEXT = "A small file.\n"
PIPELINED = 4000
LARGE = 3 << 30


class Server:
    """One process and its client."""

    def __init__(self, command):
        self.last = 0
        begun = time.perf_counter()
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        self.answers = self.process.stdout
        self.rest = b""
        client = {"name": "compare", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.start = time.perf_counter() - begun
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, data):
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view) :]

    def send(self, message):
        self.write(json.dumps(message).encode() + b"\n")

    def lines(self):
        """Lines as they come, several at once."""
        data = os.read(self.answers.fileno(), 1 << 20)
        assert data, "the server has ended"
        if b"\n" not in data:
            parts = [self.rest, data]
            while b"\n" not in data:
                data = os.read(self.answers.fileno(), 1 << 20)
                assert data, "the server has ended"
                parts.append(data)
            data = b"".join(parts)
        else:
            data = self.rest + data
        *whole, self.rest = data.split(b"\n")
        return whole

    def ask(self, method, params):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})
        while True:
            for line in self.lines():
                answer = json.loads(line)
                if answer.get("id") == self.last and "method" not in answer:
                    return answer["result"]

    def call(self, tool, arguments):
        """The text of an answer, and how many seconds it took; no time for one that is an error."""
        begun = time.perf_counter()
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        taken = time.perf_counter() - begun
        return result["content"][0]["text"], None if result.get("isError") else taken

    def rate(self, tool, arguments, count):
        """Calls a second where all are sent at once. Each has to be answered, with the text of the file."""
        first = self.last + 1
        self.last += count
        params = {"name": tool, "arguments": arguments}
        ids = range(first, self.last + 1)
        requests = b"".join(
            json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode() + b"\n" for id in ids
        )
        begun = time.perf_counter()
        sender = threading.Thread(target=self.write, args=(requests,))
        sender.start()
        answers = []
        while len(answers) < count:
            answers += self.lines()
        taken = time.perf_counter() - begun
        sender.join()
        read = [json.loads(line) for line in answers]
        assert sorted(answer["id"] for answer in read) == list(ids)
        assert all(answer["result"]["content"][0]["text"] == TEXT for answer in read)
        return count / taken

    def memory(self, what):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(f"{what}:")[1].split()[0]) / 1024

    def forget_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def end(self):
        self.process.stdin.close()
        while os.read(self.answers.fileno(), 1 << 20):
            pass
        self.process.wait(30)


def target():
    told = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked"], cwd=TOP, check=True, stdout=subprocess.PIPE
    )
    return pathlib.Path(json.loads(told.stdout)["target_directory"])


def install(options):
    """The commands, by name, without the directory that they serve."""
    folder = target()
    build = ["cargo", "build", "--release", "--locked", "--quiet", "-p", "cap-roots-mcp", "--bins", "--example", "empty_tool"]
    subprocess.run(build, cwd=TOP, check=True)
    work = folder / "compare"
    work.mkdir(exist_ok=True)
    reference = work / "node_modules/.bin/mcp-server-filesystem"
    if not reference.exists():
        (work / "package.json").write_text('{ "private": true }')
        npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", REFERENCE]
        subprocess.run(npm, cwd=work, check=True)
    name, version = PEER
    peer = work / "bin" / name
    if not peer.exists():
        cargo = ["cargo", "install", name, "--version", version, "--locked", "--quiet", "--root", work]
        subprocess.run(cargo, cwd=work, check=True, env={**os.environ, "CARGO_TARGET_DIR": str(work / "build")})
    lifted = ["--max-text-bytes", str(1 << 30), "--max-entries", "10000000", "--max-seconds", "600"]
    commands = {"ours": [folder / "release/cap-roots-mcp", *lifted]}
    if options.ours:
        commands["other build"] = [options.ours, *lifted]
    commands["reference"] = [reference]
    commands["Rust peer"] = [peer, "--allow-write"]
    commands["empty tool"] = [folder / "release/examples/empty_tool"]
    return commands


def build_files(folder, entries):
    (folder / "one.txt").write_text(TEXT)
    at = None
    tree = folder / "tree"
    made = 0
    while made < entries:
        if made % 100 == 0:
            at = tree / f"d{made // 10_000}" / f"e{made // 100}"
            # Itself, and one more for the first of ten thousand.
            made += 1 + (not at.parent.exists())
            at.mkdir(parents=True)
        (at / f"name-{made}.txt").touch()
        made += 1
    names = folder / "names"
    names.mkdir()
    for number in range(1000):
        (names / f"name-{number}.txt").touch()
    line = "{:07} a line of some text in a file that is edited\n"
    (folder / "edit.txt").write_text("".join(line.format(number) for number in range((5 << 20) // len(line.format(0)))))
    with open(folder / "large.txt", "w") as large:
        large.writelines(f"line {number}\n" for number in range(1, 2001))
        large.truncate(LARGE)


def edits(round):
    """Of three lines, there and back again."""
    old, new = ("some", "other") if round % 2 == 0 else ("other", "some")
    line = "{:07} a line of {} text in a file"
    return [{"oldText": line.format(number, old), "newText": line.format(number, new)} for number in (7, 50_000, 90_000)]


class Table:
    def __init__(self, names, options):
        self.names, self.options = names, options
        print("| | " + " | ".join(names) + " | " + " | ".join(f"ours to {name}" for name in names[1:]) + " |")
        print("| --- " * (2 * len(names)) + "|", flush=True)

    def wants(self, row):
        return not self.options.only or any(word in row for word in self.options.only)

    def row(self, row, rounds, who, measure):
        """`measure` of each in `who`, in turns."""
        if not self.wants(row):
            return
        taken = {name: [] for name in self.names if name in who}
        for round in range(self.options.rounds or rounds):
            for name, values in taken.items():
                values.append(measure(name, round))
        # Who answers with an error is not compared, but for us that is a fault.
        errors = {name for name, values in taken.items() if None in values}
        assert "ours" not in errors, row
        taken = {name: values for name, values in taken.items() if name not in errors}
        middle = {name: statistics.median(values) for name, values in taken.items()}

        def told(name):
            if name not in taken:
                return "error" if name in errors else "-"
            values = sorted(taken[name])
            low, high = values[len(values) // 4], values[(3 * len(values) - 1) // 4]
            return f"{middle[name]:.4g} ({low:.3g}-{high:.3g})"

        def ratio(name):
            return f"{middle['ours'] / middle[name]:.3g}" if name in middle else "-"

        cells = [told(name) for name in self.names] + [ratio(name) for name in self.names[1:]]
        print(f"| {row} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="WORD", help="the rows with WORD in their name")
    parser.add_argument("--rounds", type=int, help="how often each is measured")
    parser.add_argument("--entries", type=int, default=200_000, help="how many the tree has")
    parser.add_argument("--ours", help="another build of this server")
    options = parser.parse_args()
    # Not every server gets by with the usual number of descriptors on such a tree.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    programs = install(options)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder).resolve()
        build_files(folder, options.entries)
        measure(programs, folder, options)


def measure(programs, folder, options):
    table = Table(list(programs), options)
    commands = {name: [*command, folder] if name != "empty tool" else command for name, command in programs.items()}
    everybody = list(commands)
    servers = [name for name in everybody if name != "empty tool"]
    alone = [name for name in servers if name in ("ours", "other build")]
    tree = {"path": str(folder / "tree")}

    def fresh(name, work):
        server = Server(commands[name])
        try:
            return work(server)
        finally:
            server.end()

    table.row("start to first answer (ms)", 15, everybody, lambda name, _: fresh(name, lambda server: server.start * 1000))

    def idle(server):
        server.ask("tools/list", {})
        time.sleep(0.3)
        return server.memory("VmRSS")

    table.row("memory, idle (MiB)", 3, everybody, lambda name, _: fresh(name, idle))

    kept = {}

    def server(name):
        if name not in kept:
            kept[name] = Server(commands[name])
        return kept[name]

    read = {"path": str(folder / "one.txt")}
    table.row(
        "read_text_file, pipelined (calls/s)", 9, everybody, lambda name, _: server(name).rate("read_text_file", read, PIPELINED)
    )
    table.row(
        "read_text_file, one after the other (ms)",
        300,
        everybody,
        lambda name, _: server(name).call("read_text_file", read)[1] * 1000,
    )
    edit = str(folder / "edit.txt")

    count = itertools.count()

    def edited(name, _):
        text, taken = server(name).call("edit_file", {"path": edit, "edits": edits(next(count))})
        assert taken, text[:1000]
        # With the two lines of its head.
        assert text.count("\n-") == text.count("\n+") == 4, text[:1000]
        return taken * 1000

    table.row("edit_file, 3 lines of 5 MiB (ms)", 9, servers, edited)

    def listed(name, _):
        text, taken = server(name).call("list_directory", {"path": str(folder / "names")})
        assert text.count("name-") == 1000, text[:1000]
        return taken * 1000

    table.row("list_directory, 1,000 names (ms)", 60, servers, listed)

    def walked(tool, arguments, count):
        def taken(name, _):
            text, taken = server(name).call(tool, arguments)
            assert taken is None or count(text) == expected, (name, count(text), expected)
            return taken

        expected = options.entries if tool == "directory_tree" else found
        return taken

    found = sum(file.name.endswith("77.txt") for file in (folder / "tree").rglob("*.txt"))
    table.row(f"directory_tree, {options.entries:,} entries (s)", 5, servers, walked("directory_tree", tree, lambda text: text.count('"name"')))
    search = {**tree, "pattern": "**/*77.txt"}
    table.row(f"search_files, {options.entries:,} entries (s)", 5, servers, walked("search_files", search, lambda text: len(text.split())))
    for one in kept.values():
        one.end()

    def peak(server):
        server.call("directory_tree", tree)
        return server.memory("VmHWM")

    table.row(f"memory, peak of directory_tree, {options.entries:,} entries (MiB)", 3, servers, lambda name, _: fresh(name, peak))

    def page(server):
        server.forget_peak()
        before = server.memory("VmRSS")
        text, _ = server.call("read_text_file", {"path": str(folder / "large.txt"), "offset": 900, "limit": 101})
        assert text.split("\n") == [f"line {number}" for number in range(900, 1001)], text[:200]
        return server.memory("VmHWM") - before

    table.row("memory, growth by lines 900-1000 of 3 GiB (MiB)", 3, alone, lambda name, _: fresh(name, page))


main()
