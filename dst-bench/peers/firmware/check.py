"""Fails if the programs of a case are not those whose exact inputs were recorded: DAQP and OSQP solve the first ticks in double precision."""
import argparse
from ctypes import c_int

import daqp
import numpy as np
import osqp
import scipy.sparse as sparse

from forms import condensed, sparse_form
from program import Program

parser = argparse.ArgumentParser()
parser.add_argument("--case", required=True)
args = parser.parse_args()

p = Program(args.case)
exact = np.fromfile(f"{args.case}/exact", dtype="<f8").reshape(-1, p.blocks, p.answers)
general, simple = p.A[p.simple:], p.simple
# The sparse form has a better condition than the condensed one, and both are checked: DAQP takes the condensed one.
form = condensed(p) if p.case["kind"] == "dense" else sparse_form(p)
solver = osqp.OSQP()
solver.setup(sparse.triu(form.P).tocsc(), np.zeros(form.P.shape[0]), sparse.csc_matrix(form.A), form.lower, form.upper, verbose=False,
             eps_abs=1e-9, eps_rel=1e-9, max_iter=400000, polishing=True)
worst = {"daqp": 0.0, "osqp": 0.0}
for tick, inputs in zip(p.ticks(args.case)[:20], exact):
    for theta, known in zip(tick, inputs):
        q, move = p.F @ theta, p.E @ theta
        lower, upper = p.lower - move, p.upper - move
        u, _, status, _ = daqp.solve(p.H, q, general, upper, lower, np.zeros(len(p.A), dtype=c_int), primal_tol=1e-9)
        assert status == 1, f"daqp: status {status}"
        worst["daqp"] = max(worst["daqp"], np.abs(u[: p.answers] - known).max())
        q, lower, upper = form.at(theta)
        solver.update(q=q, l=lower, u=upper)
        u = solver.solve().x
        worst["osqp"] = max(worst["osqp"], np.abs(u[: p.answers] - known).max())
for name, off in worst.items():
    assert off < 1e-5, f"{name}: its inputs differ from the recorded ones by {off}"
