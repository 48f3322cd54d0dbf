# SPDX-License-Identifier: BSD-3-Clause
"""A contender whose tasks cost what it is told: made_up.py OVERHEAD_US RANKS THREADS TASK_BENCH_OPTIONS...

A task works 0.01 us for each iteration; unless the pattern is trivial, the overhead comes on top. So its smallest
granularity of 50 % efficiency is twice the overhead. OVERHEAD_US may also be `crash` or `silent`.
"""

import sys

overhead, ranks, threads, *options = sys.argv[1:]
if overhead == "crash":
    sys.exit("made_up: about to fall over")
given = dict(zip(options[::2], options[1::2], strict=True))
cores = int(ranks) * int(threads)
assert int(given["-width"]) % cores == 0, given
assert given["-kernel"] == ("load_imbalance" if "-imbalance" in given else "compute_bound"), given
steps, width, iterations = (int(given[name]) for name in ("-steps", "-width", "-iter"))
work = 1e-8 * iterations
each = work + (0 if given["-type"] == "trivial" or overhead == "silent" else float(overhead) * 1e-6)
seconds = each * steps * width / cores
if overhead != "silent":
    print(f"Total Tasks {steps * width}")
    print(f"Elapsed Time {seconds:e} seconds")
    print(f"FLOP/s {iterations * 128 * steps * width / seconds:e}")
