"""Best settings of OSQP for a case, one for each form of the program, found in double precision on this machine.

Least iterations among the settings of a grid that solve all ticks with an error of the inputs (99th percentile) of at most a hundredth
of half the width of the bounds; if there is none, the least error. Ticks of a loop start from the last solution.
"""
import argparse

import numpy as np
import osqp
import scipy.sparse as sparse

from forms import condensed, sparse_form
from program import Program

parser = argparse.ArgumentParser()
parser.add_argument("--case", required=True)
args = parser.parse_args()

p = Program(args.case)
words = np.fromfile(f"{args.case}/ticks", dtype="<u4")
cold = words[3:].reshape(words[0], -1)[:, 0] & 1
exact = np.fromfile(f"{args.case}/exact", dtype="<f8").reshape(-1, p.blocks, p.answers)
half = (p.upper[: p.answers] - p.lower[: p.answers]) / 2
forms = [("condensed", condensed(p))]
# In single precision the sparse form does not solve the safety filter.
if p.case["kind"] == "regulator":
    forms.append(("sparse", sparse_form(p)))


def score(form, rho, tolerance, most):
    """Rank of a setting; one that needs more than `most` iterations is given up."""
    solvers = []
    for _ in range(p.blocks):
        solver = osqp.OSQP()
        solver.setup(sparse.triu(form.P).tocsc(), np.zeros(form.P.shape[0]), sparse.csc_matrix(form.A), form.lower, form.upper,
                     verbose=False, rho=rho, adaptive_rho=0, check_termination=5, max_iter=4000, eps_abs=tolerance, eps_rel=tolerance)
        solvers.append(solver)
    iterations, errors, unsolved = 0, [], 0
    for k, tick in enumerate(p.ticks(args.case)):
        for solver, theta, known in zip(solvers, tick, exact[k]):
            if cold[k]:
                solver.warm_start(np.zeros(form.P.shape[0]), np.zeros(len(form.A)))
            q, lower, upper = form.at(theta)
            solver.update(q=q, l=lower, u=upper)
            found = solver.solve()
            unsolved += found.info.status != "solved"
            iterations += found.info.iter
            errors.append((np.abs(found.x[: p.answers] - known) / half).max())
        if unsolved > 2 or iterations > most:
            return 1, np.inf
    error = np.quantile(errors, 0.99)
    good = error <= 0.01 and not unsolved
    return (0, iterations) if good else (1, error + unsolved)


found = []
for name, form in forms:
    best, most = ((2, 0.0), None, None), np.inf
    # From the middle outwards, so that a good setting is found early.
    for rho in sorted(10.0 ** np.arange(-5, 3.5, 0.5), key=lambda rho: abs(np.log10(rho) + 1)):
        for tolerance in (1e-3, 1e-4, 1e-5):
            rank = score(form, rho, tolerance, most)
            best = min(best, (rank, rho, tolerance))
            if rank[0] == 0:
                most = min(most, rank[1])
    found.append((name, *best))
# A form without a good setting is not worth its time on the chip, unless there is no other.
good = [f for f in found if f[1][0] == 0]
for name, _, rho, tolerance in good or found[:1]:
    print(name, f"{rho:.3g}", tolerance)
