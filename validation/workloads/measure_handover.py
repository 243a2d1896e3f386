#!/usr/bin/env python3
"""Measure how cc1 hands its output to as through a pipe.

    measure_handover.py --set NAME --max N --out TABLE.csv DIR [-- GCC FLAGS]

One row per file that compiles (every k-th by name, at most N):

    set,file,asm_bytes,reads,front_us,cc1_us,as_start_us,as_feed_us,as_tail_us

cc1 side: `gcc -O2 FLAGS -S -o -` writes into a pipe that is read at once. reads counts what read(2) returned,
front_us is cc1's CPU time when the first bytes came out (from /proc/PID/schedstat), cc1_us its CPU time in all (with
the driver's one or two milliseconds). as side: the same text is fed to `as -` in pieces of 4096 bytes, as cc1 writes
it. as_start_us is the CPU time until as first waits for input, as_feed_us that spent until all of it is taken in,
as_tail_us that spent between end of input and exit. Needs Linux, gcc and python3.
"""
import argparse, csv, os, subprocess, sys, tempfile, time

CHUNK = 4096


def cpu_us(pid):
    with open(f"/proc/{pid}/schedstat") as f:
        return int(f.read().split()[0]) / 1e3


def wait_until_blocked(pid):
    """Returns when the process has slept in two looks a millisecond apart."""
    seen = 0
    while seen < 2:
        with open(f"/proc/{pid}/stat") as f:
            seen = seen + 1 if f.read().rsplit(")", 1)[1].split()[0] == "S" else 0
        time.sleep(0.001)


def reap(pid):
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), (usage.ru_utime + usage.ru_stime) * 1e6


def cc1_side(gcc):
    """(text, reads, front, total), or None when the file does not compile."""
    p = subprocess.Popen([*gcc, "-S", "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    fd = p.stdout.fileno()
    pieces = [os.read(fd, 1 << 16)]
    front = None
    if pieces[0]:
        with open(f"/proc/{p.pid}/task/{p.pid}/children") as f:
            front = cpu_us(f.read().split()[0])
        while piece := os.read(fd, 1 << 16):
            pieces.append(piece)
    code, total = reap(p.pid)
    p.returncode = code
    return (b"".join(pieces), len(pieces), front, total) if code == 0 and front is not None else None


def as_side(text, obj):
    """CPU time (start, feed, tail)."""
    p = subprocess.Popen(["as", "-o", obj, "-"], stdin=subprocess.PIPE)
    wait_until_blocked(p.pid)
    start = cpu_us(p.pid)
    for at in range(0, len(text), CHUNK):
        os.write(p.stdin.fileno(), text[at : at + CHUNK])
    wait_until_blocked(p.pid)
    fed = cpu_us(p.pid)
    p.stdin.close()
    p.returncode, total = reap(p.pid)
    return start, fed - start, total - fed


def main():
    p = argparse.ArgumentParser(description="cc1's output on its way to as")
    p.add_argument("--set", required=True)
    p.add_argument("--max", type=int, default=40)
    p.add_argument("--out", required=True)
    p.add_argument("dir")
    p.add_argument("flags", nargs="*")
    a = p.parse_args()
    files = sorted(f for f in os.listdir(a.dir) if f.endswith(".c"))
    step = max(1, len(files) // a.max)
    with open(a.out, "w", newline="") as f, tempfile.TemporaryDirectory() as tmp:
        out = csv.writer(f, lineterminator="\n")
        out.writerow("set,file,asm_bytes,reads,front_us,cc1_us,as_start_us,as_feed_us,as_tail_us".split(","))
        for name in files[::step][: a.max]:
            gcc = ["gcc", "-O2", "-w", *a.flags, os.path.join(a.dir, name)]
            got = cc1_side(gcc) and cc1_side(gcc)
            if not got:
                print(f"skipped {name}: does not compile", file=sys.stderr)
                continue
            text, reads, front, total = got
            tail = as_side(text, os.path.join(tmp, "a.o"))
            out.writerow([a.set, name, len(text), reads, *(round(us) for us in (front, total, *tail))])


if __name__ == "__main__":
    main()
