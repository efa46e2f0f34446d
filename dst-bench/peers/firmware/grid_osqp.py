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
if p.case["kind"] != "dense":
    forms.append(("sparse", sparse_form(p)))


def score(form, rho, tolerance):
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
        if unsolved > 5:
            break
    error = np.quantile(errors, 0.99)
    good = error <= 0.01 and not unsolved
    return (0, iterations) if good else (1, error + unsolved)


for name, form in forms:
    tried = [(score(form, rho, tolerance), rho, tolerance)
             for rho in 10.0 ** np.arange(-5, 3.5, 0.5) for tolerance in (1e-3, 1e-4, 1e-5)]
    _, rho, tolerance = min(tried)
    print(name, f"{rho:.3g}", tolerance)
