"""Writes the code that OSQP generates for a case, and problem.h with the maps from the parameters to its vectors."""
import argparse

import numpy as np
import osqp
import scipy.sparse as sparse

from forms import condensed, sparse_form
from program import Program, table

parser = argparse.ArgumentParser()
parser.add_argument("--case", required=True)
parser.add_argument("--out", required=True)
parser.add_argument("--form", choices=["condensed", "sparse"], default="condensed")
parser.add_argument("--rho", type=float, default=0.1)
parser.add_argument("--check", type=int, default=25)
parser.add_argument("--adaptive", type=int, default=0)
parser.add_argument("--tolerance", type=float, default=1e-3)
args = parser.parse_args()

p = Program(args.case)
form = condensed(p) if args.form == "condensed" else sparse_form(p)
P, A = form.P, form.A

settings = dict(verbose=False, rho=args.rho, check_termination=args.check, adaptive_rho=args.adaptive, max_iter=4000,
                eps_abs=args.tolerance, eps_rel=args.tolerance)
solver = osqp.OSQP()
solver.setup(sparse.triu(P).tocsc(), np.zeros(P.shape[0]), sparse.csc_matrix(A), form.lower, form.upper, **settings)
solver.codegen(args.out, parameters="matrices" if args.adaptive else "vectors", use_float=True, force_rewrite=True,
               extension_name=None)
with open(f"{args.out}/problem.h", "w") as file:
    file.write(f"#define N {P.shape[0]}\n#define M_ALL {len(A)}\n#define MOVED {form.moved}\n#define BLOCKS {p.blocks}\n")
    file.write(f"#define INPUTS {p.answers}\n#define OWN {p.own}\n#define EXTRA {p.extra}\n#define ADAPTIVE {args.adaptive}\n")
    file.write(f"#define RHO {args.rho!r}\n#define LINEAR_MAP {int(np.any(form.linear))}\n")
    file.write(table("problem_linear", form.linear))
    file.write(table("problem_map", form.bounds))
    file.write(table("problem_lower", form.lower))
    file.write(table("problem_upper", form.upper))
