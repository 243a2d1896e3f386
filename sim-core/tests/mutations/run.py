#!/usr/bin/env python3
"""Breaks the rules of rules.txt one by one and lists which tests notice.

A copy of the source gets every wrong expression beside the right one, chosen by name at run time, so that one build
serves all. Usage: run.py SCRATCH_DIRECTORY [NAME...]; writes the table of MUTATIONS.md to standard output. Ends with 1
if a broken rule passes every test.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parents[2]
SWITCH = """
/// Whether this rule is broken.
pub(crate) fn broken(name: &str) -> bool {
    static NAME: std::sync::LazyLock<Option<String>> = std::sync::LazyLock::new(|| std::env::var("BROKEN_RULE").ok());
    NAME.as_deref() == Some(name)
}
"""
# Histories of the property tests: enough for every rule that they can notice.
ENV = {"CFSIM_HISTORIES": "400", "CFSIM_UNSHRUNK": "1"}
# The same cases for every rule, and none remembered from the one before.
ENV |= {"PROPTEST_RNG_SEED": "1", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"}


def rules():
    text = "\n".join(l for l in (HERE / "rules.txt").read_text().splitlines() if not l.startswith("#"))
    for block in re.split(r"\n\s*\n", text.strip()):
        head, file, code, wrong = block.split("\n")
        name, section = head.split(" ", 1)
        yield name, section.replace("§ ", "§"), file, code, wrong


def copy(scratch):
    shutil.copytree(PROJECT, scratch, ignore=shutil.ignore_patterns("target*", ".git"), dirs_exist_ok=True)
    sources = scratch / "sim-core/src"
    by_place = {}
    for name, _, file, code, wrong in rules():
        by_place.setdefault((file, code), []).append((name, wrong))
    for (file, code), broken in by_place.items():
        path = sources / "kernel" / file
        text = path.read_text()
        before, right, after = re.fullmatch(r"(.*)«(.*)»(.*)", code).groups()
        right_code = before + right + after
        if text.count(right_code) != 1:
            sys.exit(f"{broken[0][0]}: {right_code!r} occurs {text.count(right_code)} times in {file}")
        choice = "".join(f'if crate::broken("{name}") {{ {wrong} }} else ' for name, wrong in broken)
        head, tail = text.split(right_code)
        # Its name is read from the environment, which a const function cannot.
        head = re.sub(r"\bconst (fn (?:(?!\bfn ).)*)\Z", r"\1", head, flags=re.S)
        path.write_text(f"{head}{before}({choice}{{ {right} }}){after}{tail}")
    lib = sources / "lib.rs"
    lib.write_text(lib.read_text() + SWITCH)


def build(scratch):
    command = ["cargo", "test", "-p", "sim-core", "--no-run", "--lib", "--test", "it", "--test", "reference"]
    command += ["--message-format", "json-render-diagnostics"]
    out = subprocess.run(command, cwd=scratch, stdout=subprocess.PIPE, check=True, text=True).stdout
    found = [json.loads(l) for l in out.splitlines() if l.startswith("{")]
    return [(m["target"]["name"], m["executable"]) for m in found if m.get("executable")]


def failures(scratch, tests, name):
    failed = []
    for target, program in tests:
        env = {**os.environ, **ENV, "BROKEN_RULE": name}
        out = subprocess.run([program], cwd=scratch / "sim-core", env=env, capture_output=True, text=True).stdout
        failed += [f"{target}::{t}" for t in re.findall(r"^test (\S+) \.\.\. FAILED", out, re.M)]
    return failed


def main():
    scratch = pathlib.Path(sys.argv[1])
    copy(scratch)
    tests = build(scratch)
    if before := failures(scratch, tests, "none"):
        sys.exit(f"fails with no rule broken: {before}")
    print("| rule broken | core.md | noticed by |\n|---|---|---|")
    missed = 0
    for name, section, *_ in rules():
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        failed = failures(scratch, tests, name)
        missed += not failed
        # The worked examples first: they say what is wrong.
        failed.sort(key=lambda t: (t.startswith("reference"), not t.startswith("it::")))
        more = f" and {len(failed) - 4} more" if len(failed) > 4 else ""
        print(f"| {name} | {section} | {', '.join(f'`{t}`' for t in failed[:4]) or '**nothing**'}{more} |", flush=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
