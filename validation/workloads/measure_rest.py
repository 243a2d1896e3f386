#!/usr/bin/env python3
"""Measure what make, the shell and ld ask of a CPU.

    measure_rest.py --max N --out TABLE.csv DIR [-- GCC FLAGS]

Rows `what,n,us`, CPU time (user + system, wait4(2)), the median of nine runs:

    sh          one `sh -c` that forks two `/bin/true`, itself, until just before its exit
    make_start  make with one recipe to run, itself, until that recipe runs
    make_job    what each of 200 recipes before that one adds to make itself, with -j2
    ld          `ld -r` over the first n objects of DIR, compiled with -O2: n = N/4, N/2, N

A process's own time, without its children's, is the first number of its /proc/PID/schedstat, read by the shell.
Needs Linux, gcc, ld, make and python3.
"""
import argparse, csv, os, statistics, subprocess, tempfile

JOBS = 200
# In a makefile `$$` is one dollar sign. `read` is built into the shell, so that reading starts no process.
OWN = "read ns rest < /proc/$$PPID/schedstat; echo $$ns"


def median(once):
    once()
    return statistics.median(once() for _ in range(9))


def cpu_us(argv):
    """CPU time of a program and its children."""
    p = subprocess.Popen(argv)
    _, status, u = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode != 0:
        raise SystemExit(f"{argv[0]} failed")
    return (u.ru_utime + u.ru_stime) * 1e6


def shell_us():
    script = "/bin/true; /bin/true; read ns rest < /proc/$$/schedstat; echo $ns"
    return int(subprocess.check_output(["/bin/sh", "-c", script])) / 1e3


def make_us(jobs, tmp):
    names = " ".join(f"job{i}" for i in range(jobs))
    with open(os.path.join(tmp, "Makefile"), "w") as f:
        f.write(f"own: {names}\n\t@{OWN}\n")
        if jobs:
            f.write(f"{names}:\n\t@/bin/true; /bin/true\n")
    return int(subprocess.check_output(["make", "-rR", "-j2"], cwd=tmp)) / 1e3


def main():
    p = argparse.ArgumentParser(description="CPU time of make, sh and ld")
    p.add_argument("--max", type=int, default=40)
    p.add_argument("--out", required=True)
    p.add_argument("dir")
    p.add_argument("flags", nargs="*")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        start, jobs = (median(lambda: make_us(n, tmp)) for n in (0, JOBS))
        rows = [("sh", 1, median(shell_us)), ("make_start", 1, start), ("make_job", 1, (jobs - start) / JOBS)]
        objects = []
        for name in sorted(f for f in os.listdir(a.dir) if f.endswith(".c")):
            obj = os.path.join(tmp, f"{len(objects)}.o")
            gcc = ["gcc", "-O2", "-w", *a.flags, "-c", os.path.join(a.dir, name), "-o", obj]
            if subprocess.run(gcc, stderr=subprocess.DEVNULL).returncode == 0:
                objects.append(obj)
            if len(objects) == a.max:
                break
        for n in (len(objects) // 4, len(objects) // 2, len(objects)):
            link = ["ld", "-r", "-o", os.path.join(tmp, "all.o"), *objects[:n]]
            rows.append(("ld", n, median(lambda: cpu_us(link))))
    with open(a.out, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(("what", "n", "us"))
        out.writerows((what, n, round(us)) for what, n, us in rows)


if __name__ == "__main__":
    main()
