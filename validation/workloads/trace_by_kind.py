#!/usr/bin/env python3
"""Tabulate an ftrace text of a one-CPU machine by kind of process.

    trace_by_kind.py TRACE.txt.gz [KIND ...]

Reads sched_switch, sched_process_fork and sched_process_exec. One line per kind (the last name a task had): tasks, and
for each task in order of creation its CPU time in ms, voluntary and involuntary switches, turns, children and execs.
A turn ends when another task runs.
"""
import collections, gzip, re, sys

EVENT = re.compile(r"^\s*.+-\d+\s+\[\d+\]\s+\S+\s+(\d+\.\d+): (\w+): (.*)$")
FIELD = re.compile(r"(\w+)=(\S+)")


class Task:
    def __init__(self):
        self.name, self.cpu_us = "?", 0
        self.voluntary = self.involuntary = self.turns = self.children = self.execs = 0


def read(path):
    tasks = collections.defaultdict(Task)
    since = None
    for line in gzip.open(path, "rt"):
        m = EVENT.match(line)
        if not m:
            continue
        now, event, f = round(float(m[1]) * 1e6), m[2], dict(FIELD.findall(m[3]))
        if event == "sched_switch":
            prev, nxt = tasks[int(f["prev_pid"])], tasks[int(f["next_pid"])]
            if since is not None:
                prev.cpu_us += now - since
            since = now
            prev.name, nxt.name = f["prev_comm"], f["next_comm"]
            nxt.turns += 1
            if f["prev_state"].startswith("R"):
                prev.involuntary += 1
            else:
                prev.voluntary += 1
        elif event == "sched_process_fork":
            tasks[int(f["pid"])].children += 1
        elif event == "sched_process_exec":
            tasks[int(f["pid"])].execs += 1
    return [tasks[pid] for pid in sorted(tasks)]


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    kinds = collections.defaultdict(list)
    for task in read(sys.argv[1]):
        kinds[task.name].append(task)
    print("| kind | tasks | CPU ms | voluntary | involuntary | turns | children | execs |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in sys.argv[2:] or sorted(kinds):
        tasks = kinds[kind]
        cells = [" ".join(f"{t.cpu_us / 1e3:.2f}" for t in tasks)]
        for what in ("voluntary", "involuntary", "turns", "children", "execs"):
            cells.append(" ".join(str(getattr(t, what)) for t in tasks))
        print(f"| {kind} | {len(tasks)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
