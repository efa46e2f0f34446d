"""Writes problem.h for DAQP: the least-distance problem min |w|^2 with normalised rows, as its own code generator stores it."""
import argparse

import numpy as np

from program import Program, table

parser = argparse.ArgumentParser()
parser.add_argument("--case", required=True)
parser.add_argument("--out", required=True)
parser.add_argument("--primal-tolerance", type=float, default=1e-6)
args = parser.parse_args()

p = Program(args.case)
n, m = len(p.H), len(p.A)
# u = Ri (w - v) with Ri upper triangular, so that H = R'R.
R = np.linalg.cholesky(p.H).T
Ri = np.linalg.inv(R)
rows = p.A @ Ri
scale = 1 / np.linalg.norm(rows, axis=1)
rows *= scale[:, None]
free = -np.linalg.solve(p.H, p.F)
bounds = -(p.E + p.A @ free) * scale[:, None]
simple = rows[: p.simple]
# A diagonal Hessian: simple bounds are rows of the identity, which DAQP then knows.
diagonal = np.allclose(simple, np.eye(n)[: p.simple])
with open(f"{args.out}/problem.h", "w") as file:
    file.write(f"#define N {n}\n#define M_ALL {m}\n#define SIMPLE {p.simple}\n#define BLOCKS {p.blocks}\n")
    file.write(f"#define INPUTS {p.answers}\n#define OWN {p.own}\n#define PARAMETERS {p.parameters}\n")
    file.write(f"#define PRIMAL_TOLERANCE {args.primal_tolerance!r}\n")
    if diagonal:
        file.write("#define problem_rinv 0\n")
    else:
        packed = np.concatenate([simple[i, i:] for i in range(n)])
        file.write(table("problem_rinv", packed))
    file.write(table("problem_m", rows[p.simple:]))
    file.write(table("problem_map", bounds))
    file.write(table("problem_upper", p.upper * scale))
    file.write(table("problem_lower", p.lower * scale))
    file.write(table("problem_free", free[: p.answers]))
    file.write(table("problem_back", Ri[: p.answers]))
