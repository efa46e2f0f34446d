"""Parametric quadratic programs min x'Px/2 + q'x, l <= Ax <= u by OSQP, DAQP, Clarabel or PIQP.

P and A are set up once; a run updates q, l and u of each instance in turn and solves it. The seconds are the mean of the solve times
that the solver itself reports, without the update. All are asked for 1e-6.
"""
import argparse

import numpy as np
import scipy.sparse as sparse

from turns import serve

parser = argparse.ArgumentParser()
parser.add_argument("--solver", choices=["osqp", "daqp", "clarabel", "piqp"], required=True)
parser.add_argument("--problem", required=True)
parser.add_argument("--passes", type=int, required=True)
parser.add_argument("--gradient")
args = parser.parse_args()

data = np.load(args.problem)
P, A, q, l, u = (np.ascontiguousarray(data[key]) for key in "PAqlu")
TOLERANCE = 1e-6


def with_osqp():
    import osqp

    solver = osqp.OSQP()
    solver.setup(
        sparse.triu(P).tocsc(), q[0], sparse.csc_matrix(A), l[0], u[0],
        verbose=False, eps_abs=TOLERANCE, eps_rel=0, max_iter=100000,
        # From its last solution it ends three instances of lipmwalk as infeasible, whatever eps_prim_inf is.
        warm_starting=False,
    )

    def solve(i):
        solver.update(q=q[i], l=l[i], u=u[i])
        found = solver.solve()
        assert found.info.status == "solved", found.info.status
        return found.x, found.info.solve_time

    return f"osqp {osqp.__version__}", solve


def with_daqp():
    from importlib.metadata import version

    import daqp

    model = daqp.Model()
    lower = np.maximum(l, -1e30)
    model.setup(P, q[0], A, u[0], lower[0], np.zeros(len(A), dtype=np.int32))
    model.settings = {"primal_tol": TOLERANCE}

    def solve(i):
        model.update(f=q[i], bupper=u[i], blower=lower[i])
        x, _, status, info = model.solve()
        assert status == 1, status
        return x, info["solve_time"]

    return f"daqp {version('daqp')}", solve


def with_clarabel():
    import clarabel

    # Its rows are b - Ax >= 0; a family with lower bounds has them as further rows.
    below = np.isfinite(l).all(axis=0)
    assert np.isfinite(u).all() and (below | ~np.isfinite(l).any(axis=0)).all()
    rows = np.vstack([A, -A[below]])
    right = np.hstack([u, -l[:, below]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.presolve_enable = False
    settings.max_threads = 1
    settings.tol_feas = settings.tol_gap_abs = TOLERANCE
    settings.tol_gap_rel = 0.0
    cones = [clarabel.NonnegativeConeT(len(rows))]
    solver = clarabel.DefaultSolver(
        sparse.triu(P).tocsc(), q[0], sparse.csc_matrix(rows), right[0], cones, settings
    )

    def solve(i):
        solver.update(q=q[i], b=right[i])
        found = solver.solve()
        assert str(found.status) == "Solved", found.status
        return np.array(found.x), found.solve_time

    return f"clarabel {clarabel.__version__}", solve


def with_piqp():
    import piqp

    solver = piqp.DenseSolver()
    solver.settings.compute_timings = True
    solver.settings.eps_abs = TOLERANCE
    solver.settings.eps_rel = 0
    solver.setup(P, q[0], None, None, A, l[0], u[0])

    def solve(i):
        solver.update(c=q[i], h_l=l[i], h_u=u[i])
        status = solver.solve()
        assert status == piqp.PIQP_SOLVED, status
        return np.array(solver.result.x), solver.result.info.solve_time

    return f"piqp {piqp.__version__}", solve


version, solve = {"osqp": with_osqp, "daqp": with_daqp, "clarabel": with_clarabel, "piqp": with_piqp}[args.solver]()


def run():
    seconds = []
    for _ in range(args.passes):
        found = [solve(i) for i in range(len(q))]
        seconds.append(np.mean([time for _, time in found]))
    return {"gradient": np.concatenate([x for x, _ in found]), "seconds": np.median(seconds)}


serve(version, lambda: run, args.gradient)
