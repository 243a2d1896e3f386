#!/usr/bin/env python3
"""Measure what compiling C files asks of a CPU, by kind of process.

    measure_compile.py --set NAME --max N --out TABLE.csv DIR [-- GCC FLAGS]

Compiles up to N of the C files in DIR (every k-th by name; files that do not compile are skipped) with
`gcc -O2 FLAGS -c` and writes one row per file:

    set,file,asm_bytes,gcc_us,cc1_us,as_us

CPU times are user + system time from wait4(2). cc1 and as are started through gcc's own `-wrapper` option, and the
row holds the time of the wrapped program, not of the wrapper. gcc_us is the driver itself: its time with both
programs replaced by `true`, less the time of two `true`. Not with `-pipe`: gcc wraps only the first program of a
pipeline. Every file is compiled once before it is measured, so that
the page cache is warm. Needs gcc and python3, nothing else.
"""
import argparse, csv, os, subprocess, sys, tempfile


def run(argv, **kw):
    """Runs argv; returns (exit status, rusage)."""
    pid = os.posix_spawnp(argv[0], argv, os.environ, **kw)
    _, status, usage = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), usage


def cpu_us(usage):
    return round((usage.ru_utime + usage.ru_stime) * 1e6)


def wrapper(log, argv):
    """The side that gcc starts: run one sub-program, append its cost to the log."""
    code, usage = run(argv)
    with open(log, "a") as f:
        f.write(f"{os.path.basename(argv[0])} {cpu_us(usage)}\n")
    sys.exit(code)


def quiet():
    null = os.open(os.devnull, os.O_WRONLY)
    return [(os.POSIX_SPAWN_DUP2, null, 2), (os.POSIX_SPAWN_CLOSE, null)]


def measure(path, flags, tmp):
    """One row without its set and file, or None when the file does not compile."""
    asm, obj, log = (os.path.join(tmp, n) for n in ("a.s", "a.o", "log"))
    base = ["gcc", "-O2", "-w", *flags, path]
    if run([*base, "-S", "-o", asm], file_actions=quiet())[0] != 0:
        return None
    open(log, "w").close()
    me = f"{sys.executable},{os.path.abspath(__file__)},--wrapped,{log}"
    if run([*base, "-c", "-o", obj, "-wrapper", me], file_actions=quiet())[0] != 0:
        return None
    cost = {}
    with open(log) as f:
        for line in f:
            name, us = line.split()
            cost[name] = int(us)
    # The least of three: the figures are a few hundred microseconds and noise only adds.
    bare = min(cpu_us(run(["true"])[1]) for _ in range(3))
    driver = min(cpu_us(run([*base, "-c", "-o", obj, "-wrapper", "true"], file_actions=quiet())[1]) for _ in range(3))
    return [os.path.getsize(asm), max(driver - 2 * bare, 0), cost["cc1"], cost["as"]]


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--wrapped":
        wrapper(sys.argv[2], sys.argv[3:])
    p = argparse.ArgumentParser(description="CPU time of gcc, cc1 and as by file")
    p.add_argument("--set", required=True)
    p.add_argument("--max", type=int, default=100)
    p.add_argument("--out", required=True)
    p.add_argument("dir")
    p.add_argument("flags", nargs="*")
    a = p.parse_args()
    files = sorted(f for f in os.listdir(a.dir) if f.endswith(".c"))
    step = max(1, len(files) // a.max)
    fresh = not os.path.exists(a.out)
    with open(a.out, "a", newline="") as f, tempfile.TemporaryDirectory() as tmp:
        out = csv.writer(f, lineterminator="\n")
        if fresh:
            out.writerow("set,file,asm_bytes,gcc_us,cc1_us,as_us".split(","))
        for name in files[::step][: a.max]:
            row = measure(os.path.join(a.dir, name), a.flags, tmp)
            if row is None:
                print(f"skipped {name}: does not compile", file=sys.stderr)
                continue
            out.writerow([a.set, name, *row])
            f.flush()


if __name__ == "__main__":
    main()
