"""One side of a comparison: gets ready, then runs once for every line it is sent and answers with the seconds it took.

    first line out     {"version", "steps", "time", "value", "before_mb"}: the answer of the first run, which is not timed
    every line in      one run; one line out: its seconds
    end of input       {"peak_mb"}

`before_mb` is what the process held with the problem made and nothing run, so that the libraries are not counted as the method's.
The gradient goes to the file `--gradient`, numbers of 64 bits, little endian.
"""
import json
import sys
import time


def say(line):
    print(line, flush=True)


def memory_mb(name):
    """A figure of Linux: VmRSS is what the process holds now, VmHWM the most that it held."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024 / 1e6


def serve(version, prepare, gradient_file=None):
    """`prepare` makes `run`, which returns a dict with some of steps, time, value, gradient.

    If it also returns `seconds`, those take the place of the seconds of the whole run.
    """
    # The peak counts from here on: making the problem may have taken more.
    with open("/proc/self/clear_refs", "w") as forget:
        forget.write("5")
    before = memory_mb("VmRSS")
    try:
        run = prepare()
        answer = run()
    except Exception as error:  # whatever it is, the table has to say it
        say(json.dumps({"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}))
        sys.exit(1)
    answer.pop("seconds", None)
    gradient = answer.pop("gradient", None)
    if gradient is not None and gradient_file:
        gradient.astype("<f8").tofile(gradient_file)
    del gradient
    say(json.dumps({"version": version, "before_mb": before, **answer}))
    for _ in sys.stdin:
        start = time.perf_counter()
        answer = run()
        whole = time.perf_counter() - start
        say(repr(float(answer.get("seconds", whole))))
    say(json.dumps({"peak_mb": memory_mb("VmHWM")}))
