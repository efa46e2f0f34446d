"""Writes TinyMPC's solver for a case into a folder: a copy of admm.cpp and types.hpp, problem.h, and the exact inputs of its program.

In the copy, in its favour:
- numbers are float, and every matrix has the size that its comment states, so that there is no heap;
- the message at the end of a solve is left out (it takes std::cout), and so is the adaptation of rho: that allocates two dense matrices of
  more than 175 kB each on the heap, reads a flag before anything sets it, and leaves two of the matrices that the solver reads as they were.
Its setup adds rho to the weights twice. The gains are computed here with rho added once.
The weight of its last state is that of the infinite horizon of the weights with rho, less rho. It depends on rho, so the exact inputs are
those of the program with that weight: `exact`.
"""
import argparse
import re

import daqp
import numpy as np
from ctypes import c_int
from scipy.linalg import solve_discrete_are

from program import Program, table

parser = argparse.ArgumentParser()
parser.add_argument("--case", required=True)
parser.add_argument("--out", required=True)
parser.add_argument("--source", required=True, help="folder with admm.cpp")
parser.add_argument("--rho", type=float, default=1.0)
parser.add_argument("--tolerance", type=float, default=1e-3)
parser.add_argument("--check", type=int, default=1)
parser.add_argument("--most", type=int, default=1000)
args = parser.parse_args()

p = Program(args.case)
N, nx, nu = p.case["horizon"], p.own, p.b.shape[1]


def read(name):
    with open(f"{args.source}/{name}") as file:
        return file.read()


def write(name, text):
    with open(f"{args.out}/{name}", "w") as file:
        file.write(text)


def replaced(text, old, new):
    assert old in text, f"tinympc: '{old}' is not in its source"
    return text.replace(old, new)


def without_block(text, head):
    """The text without this statement and its braces."""
    start = text.index(head)
    at = text.index("{", start)
    depth = 0
    for i in range(at, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if depth == 0:
            return text[:start] + text[i + 1:]
    raise AssertionError("tinympc: a brace is missing")


sizes = {"nx": nx, "nu": nu, "N": N + 1, "N-1": N, "1": 1}
types = read("types.hpp")
types = replaced(types, "#include <Eigen.h>", "#include <Eigen/Core>")
types = replaced(types, "typedef double tinytype;", "typedef float tinytype;")
member = re.compile(r"tiny(?:Matrix|Vector) (\w+);\s*// (\w+) x ([\w-]+)$", re.M)
types, count = member.subn(lambda m: f"Matrix<tinytype, {sizes[m[2]]}, {sizes[m[3]]}> {m[1]};", types)
assert count == 29, f"tinympc: {count} members of known size"
write("types.hpp", types)
solver = read("admm.cpp")
solver = replaced(solver, "#include <iostream>", "")
solver = replaced(solver, '#include "rho_benchmark.hpp"', "")
solver = re.sub(r"std::cout << \"Solver converged.*?;", "", solver)
solver = without_block(solver, "if (solver->settings->adaptive_rho) ")
solver = re.sub(r"^\s*(RhoAdapter adapter;|adapter\.\w+ = .*;|RhoBenchmarkResult rho_result;)$", "", solver, flags=re.M)
solver = re.sub(r"^\s*(tinyMatrix )?[vz]_prev = .*;$", "", solver, flags=re.M)
assert "cout" not in solver and "adapter" not in solver, "tinympc: its source is not the one known"
write("admm.cpp", solver)
write("admm.hpp", read("admm.hpp"))

rho = args.rho
Q, R = p.q + rho * np.eye(nx), p.r + rho * np.eye(nu)
P = solve_discrete_are(p.a, p.b, Q, R)
quu = np.linalg.inv(R + p.b.T @ P @ p.b)
K = quu @ p.b.T @ P @ p.a
last = P - rho * np.eye(nx)
write("problem.h", "".join([
    f"#define STATES {nx}\n#define INPUTS {nu}\n#define STAGES {N}\n#define RHO {rho!r}f\n",
    f"#define LOWER {p.lower[0]!r}f\n#define UPPER {p.upper[0]!r}f\n".replace("np.float64(", "").replace(")", ""),
    f"#define TOLERANCE {args.tolerance!r}f\n#define MOST {args.most}\n#define CHECK {args.check}\n",
    table("problem_k", K), table("problem_p", P), table("problem_quu", quu), table("problem_closed", (p.a - p.b @ K).T),
    table("problem_a", p.a), table("problem_b", p.b), table("problem_q", np.diag(Q)), table("problem_r", np.diag(R)),
]))

H, F = p.condense(last)
none = np.zeros((0, len(H)))
exact = []
for tick in p.ticks(args.case)[:, 0, :]:
    u, _, status, _ = daqp.solve(H, F @ tick, none, p.upper, p.lower, np.zeros(len(H), dtype=c_int), primal_tol=1e-10)
    assert status == 1, status
    exact.append(u[:nu])
np.array(exact, dtype="<f8").tofile(f"{args.out}/exact")
