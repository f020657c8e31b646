"""Runs each server scenario of the conformance suite and compares what came of it with scenarios.json: python check.py NODE SUITE URL RESULTS

A scenario stands in one of two lists. One that applies must pass; single checks of it that cannot are named with the reason, and must go on
failing, so that the list cannot rot. One that does not apply has a reason, and must not pass a check of its own; what the server said in it
must be valid all the same.
"""

import collections
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

node, suite, url, results = sys.argv[1:]
lists = json.loads((pathlib.Path(__file__).parent / "scenarios.json").read_text(encoding="utf-8"))
applies, does_not = lists["applies"], lists["does_not_apply"]
VERSIONS = ["2025-11-25", "2026-07-28"]
# Said of every message of every scenario.
ALWAYS = "wire-schema-valid"

listed = subprocess.run([node, suite, "list", "--server"], capture_output=True, text=True, timeout=60, check=True).stdout
found = {name: versions.split(",") for name, versions in re.findall(r"^  - (\S+) \[(.*)\]", listed, re.MULTILINE)}


def outcome(scenario, version):
    """The checks of one scenario in one version of the protocol, or of an extension."""
    into = pathlib.Path(results) / f"{scenario}-{version}"
    command = [node, suite, "server", "--url", url, "--scenario", scenario, "-o", str(into)]
    if version in VERSIONS:
        command += ["--spec-version", version]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    files = list(into.rglob("checks.json"))
    if len(files) != 1:
        return None, done.stdout + done.stderr
    seen = collections.defaultdict(set)
    for check in json.loads(files[0].read_text(encoding="utf-8")):
        seen[check["id"]].add(check["status"])
    return seen, done.stdout


def faults(scenario, version):
    """A line on what came of it, and what is wrong with that."""
    seen, said = outcome(scenario, version)
    wrong = []
    if seen is None:
        return "no result", [f"no result: {said}"]
    failed = {check for check, states in seen.items() if states & {"FAILURE", "WARNING"}}
    passed = {check for check, states in seen.items() if states == {"SUCCESS"} and check != ALWAYS}
    if "FAILURE" in seen.get(ALWAYS, set()):
        wrong.append(f"{ALWAYS} fails: {said}")
    if scenario in applies:
        excused = applies[scenario].get("except", {}).keys()
        wrong += [f"{check} fails: {said}" for check in sorted(failed - excused)]
        wrong += [f"{check} does not fail any more: take it out of the list" for check in sorted(excused - failed)]
        if not passed:
            wrong.append(f"nothing passed: {said}")
        excuses = f"; not {', '.join(sorted(excused))}" if excused else ""
        return f"{len(passed)} checks passed{excuses}", wrong
    if scenario in does_not:
        if passed and not failed:
            wrong.append("passes now: it belongs to those that apply")
        return f"does not apply: {does_not[scenario]}", wrong
    return "unknown", ["is in neither list"]


jobs = [(name, version) for name, versions in found.items() for version in versions if version in [*VERSIONS, "extension"]]
missing = (applies.keys() | does_not.keys()) - found.keys()
bad = [f"{name}: the suite has no such scenario" for name in sorted(missing)]
bad += [f"{name}: is in both lists" for name in sorted(applies.keys() & does_not.keys())]
bad += [f"{name}: is of no version that is run" for name in sorted(found.keys() - {name for name, _ in jobs})]
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    for (name, version), (line, wrong) in zip(jobs, pool.map(lambda job: faults(*job), jobs)):
        print(f"{'FAILED' if wrong else 'ok':6} {name} ({version}): {line}")
        bad += [f"{name} ({version}): {fault}" for fault in wrong]
print(f"{len(jobs)} runs of {len(found)} scenarios, {len(applies)} of which apply")
if bad:
    sys.exit("\n".join(bad))
