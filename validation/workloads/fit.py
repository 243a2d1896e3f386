#!/usr/bin/env python3
"""Print the figures the kernel-compile model uses, from the tables beside this script.

    fit.py          (reads compile-time.csv, hand-over.csv, make-sh-ld.csv)

The git rows are the calibration; the other sets are printed in the same way to judge it. Needs python3.
"""
import csv, math, os
from statistics import mean, median, stdev

HERE = os.path.dirname(os.path.abspath(__file__))


def table(name):
    with open(os.path.join(HERE, name)) as f:
        return list(csv.DictReader(f))


def column(rows, key):
    return [float(r[key]) for r in rows]


def line(x, y):
    """Least squares y = a + b x: (a, b, r)."""
    mx, my = mean(x), mean(y)
    xy = sum((p - mx) * (q - my) for p, q in zip(x, y))
    xx, yy = sum((p - mx) ** 2 for p in x), sum((q - my) ** 2 for q in y)
    return my - xy / xx * mx, xy / xx, xy / math.sqrt(xx * yy)


def plane(u, v, y):
    """Least squares y = a + b u + c v: (a, b, c, R squared), by the normal equations."""
    mu, mv, my = mean(u), mean(v), mean(y)
    u, v, y = [p - mu for p in u], [p - mv for p in v], [p - my for p in y]
    dot = lambda p, q: sum(i * j for i, j in zip(p, q))
    det = dot(u, u) * dot(v, v) - dot(u, v) ** 2
    b = (dot(u, y) * dot(v, v) - dot(v, y) * dot(u, v)) / det
    c = (dot(v, y) * dot(u, u) - dot(u, y) * dot(u, v)) / det
    return my - b * mu - c * mv, b, c, (b * dot(u, y) + c * dot(v, y)) / dot(y, y)


def compile_time(rows):
    for key in ("cc1_us", "gcc_us", "as_us", "asm_bytes"):
        v = column(rows, key)
        logs = [math.log(x) for x in v]
        print(f"  {key:10} geometric mean {math.exp(mean(logs)):8.0f}  sigma {stdev(logs):.3f}  median {median(v):8.0f}"
              f"  mean {mean(v):8.0f}  log-normal's mean {math.exp(mean(logs) + stdev(logs) ** 2 / 2):8.0f}")
    print("  cc1_us = %.0f + %.4f bytes, r = %.3f" % line(column(rows, "asm_bytes"), column(rows, "cc1_us")))
    print(f"  shortest text {min(column(rows, 'asm_bytes')):.0f} bytes")


def hand_over(rows, driver_us):
    size, front = column(rows, "asm_bytes"), column(rows, "front_us")
    cc1 = [c - driver_us for c in column(rows, "cc1_us")]
    feed, tail = column(rows, "as_feed_us"), column(rows, "as_tail_us")
    a, b, r = line(cc1, front)
    print(f"  front_us = {a:.0f} + {b:.4f} cc1_us, R2 = {r * r:.3f}")
    single = [c - f for c, f, n in zip(cc1, front, column(rows, "reads")) if n == 1]
    print(f"  cc1 after its only write, median {median(single):.0f} us (n = {len(single)})")
    pieces = [math.ceil(s / 4096) for s in size]
    small = [i for i, s in enumerate(size) if s < 60_000]
    per_piece = sum(feed[i] for i in small) / sum(pieces[i] for i in small)
    print(f"  as: start, median {median(column(rows, 'as_start_us')):.0f} us; one piece {per_piece:.1f} us")
    large = [i for i, s in enumerate(size) if s >= 65_536]
    parse = sum(feed[i] - per_piece * pieces[i] for i in large) / sum(size[i] // 65_536 * 65_536 for i in large)
    print(f"  as: parsing within the input {parse * 1e3:.1f} ns/byte (n = {len(large)})")
    print("  as: tail_us = %.0f + %.4f bytes + %.4f (bytes mod 64 KiB), R2 = %.2f"
          % plane(size, [s % 65_536 for s in size], tail))


def main():
    compiled, handed = table("compile-time.csv"), table("hand-over.csv")
    driver = None
    for name in ("git", "redis", "lua"):
        rows = [r for r in compiled if r["set"] == name]
        print(f"{name}: compile-time.csv, n = {len(rows)}")
        compile_time(rows)
        driver = driver or math.exp(mean(math.log(x) for x in column(rows, "gcc_us")))
        if rows := [r for r in handed if r["set"] == name]:
            print(f"{name}: hand-over.csv, n = {len(rows)}")
            hand_over(rows, driver)
    rest = table("make-sh-ld.csv")
    ld = [r for r in rest if r["what"] == "ld"]
    print("make-sh-ld.csv:", ", ".join(f"{r['what']} {r['us']} us" for r in rest if r["what"] != "ld"))
    print("  ld_us = %.0f + %.1f objects, r = %.3f" % line(column(ld, "n"), column(ld, "us")))


if __name__ == "__main__":
    main()
