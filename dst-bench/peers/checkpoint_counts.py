"""Forward steps of Revolve, which must know N beforehand: one line of JSON for pairs of steps and slots given as N:S."""
import json
import sys
from importlib.metadata import version

from checkpoint_schedules import EndReverse, Forward, Revolve


def forward_steps(steps, slots):
    """The run's own and those done again, without the one evaluation per step that records what the backward step needs. Revolve
    records the last step while it makes it; that one belongs to the run."""
    total = 1
    for action in Revolve(steps, slots):
        if isinstance(action, Forward) and not action.write_adj_deps:
            total += action.n1 - action.n0
        if isinstance(action, EndReverse):
            return total


counts = [forward_steps(*map(int, pair.split(":"))) for pair in sys.argv[1:]]
print(json.dumps({"version": f"checkpoint_schedules {version('checkpoint_schedules')}", "counts": counts}))
