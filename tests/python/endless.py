"""The main program of generators: random cases until the time is over, then their counts.

    python random_x.py [--seconds N] [--seed S]     from seed S on; without N until it is stopped
    python random_x.py FROM TO                      these seeds

Each line names a seed before it runs, so that the last one tells which case ended the process. A
case that fails is printed with what shrinks it to, and the exit status is 1.
"""

import argparse
import collections
import time
import traceback


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("seeds", nargs="*", type=int, metavar="FROM TO")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if len(args.seeds) not in (0, 2):
        parser.error("expected FROM and TO")
    return args


def seeds_of(args):
    if args.seeds:
        yield from range(*args.seeds)
        return
    end, seed = time.monotonic() + args.seconds, args.seed
    while time.monotonic() < end:
        yield seed
        seed += 1


def main(check, shrink=None):
    """check(seed) says what it did in a word or two ("compared", "too large") or raises;
    shrink(seed) gives the text of a smaller case that fails. @return exit status"""
    counts = collections.Counter()
    for seed in seeds_of(arguments()):
        print(f"seed {seed}", flush=True)
        try:
            counts[check(seed)] += 1
        except Exception:
            counts["failed"] += 1
            print(f"seed {seed} failed:\n{traceback.format_exc()}", flush=True)
            if shrink:
                print(f"seed {seed}, made smaller:\n{shrink(seed)}", flush=True)
    counts.setdefault("failed", 0)
    print(", ".join(f"{n} {what}" for what, n in counts.items()), flush=True)
    return 1 if counts["failed"] else 0
