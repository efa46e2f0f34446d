"""The programs of a case as numpy arrays: min u'Hu/2 + (F t)'u with lower <= A u + E t <= upper, t the parameters of a block.

A plant is condensed here from its A, B and weights, independently of the code that is compared.
"""
import json

import numpy as np
from scipy.linalg import solve_discrete_are


class Program:
    def __init__(self, folder):
        with open(f"{folder}/case.json") as file:
            case = json.load(file)
        self.case = case
        self.blocks, self.own, self.extra = case["blocks"], case["parameters"], case["extra"]
        self.parameters = self.own + self.extra
        self.answers = case["answers"] // self.blocks
        if case["kind"] == "dense":
            self.dense()
        else:
            self.plant()

    def dense(self):
        n = self.own
        self.H = np.reshape(self.case["hessian"], (n, n))
        self.F, self.A, self.E = np.eye(n), np.eye(n), np.zeros((n, n))
        self.lower, self.upper = (np.array(self.case[key], dtype=float) for key in ("lower", "upper"))
        self.simple = n

    def plant(self):
        case, N = self.case, self.case["horizon"]
        nx = self.own
        self.a = a = np.reshape(case["a"], (nx, nx))
        self.b = b = np.reshape(case["b"], (nx, -1))
        nu = b.shape[1]
        self.r = np.diag(np.atleast_1d(case["r"]).astype(float) * np.ones(nu))
        regulator = case["kind"] == "regulator"
        self.q = np.diag(case["q"]) if regulator else np.zeros((nx, nx))
        self.last = solve_discrete_are(a, b, self.q, self.r) if regulator else self.q
        # States after every stage: x = free x0 + forced u.
        self.free = np.vstack([np.linalg.matrix_power(a, k + 1) for k in range(N)])
        forced = np.zeros((N * nx, N * nu))
        for k in range(N):
            for j in range(k + 1):
                forced[k * nx:(k + 1) * nx, j * nu:(j + 1) * nu] = np.linalg.matrix_power(a, k - j) @ b
        self.forced = forced
        n = N * nu
        self.H, F = self.condense(self.last)
        self.F = np.hstack([F, np.eye(n)[:, : self.extra]])
        self.A, self.E = np.eye(n), np.zeros((n, self.parameters))
        lower, upper = (np.array(case[key], dtype=float) for key in ("lower", "upper"))
        self.lower, self.upper = np.tile(lower[:nu], N), np.tile(upper[:nu], N)
        self.simple = n
        if not regulator:
            self.A = np.vstack([self.A, forced])
            self.E = np.vstack([self.E, np.hstack([self.free, np.zeros((N * nx, self.extra))])])
            self.lower = np.hstack([self.lower, np.tile(lower[nu:], N)])
            self.upper = np.hstack([self.upper, np.tile(upper[nu:], N)])

    def condense(self, last):
        """H, and F of the state, with this weight of the last state."""
        N = self.case["horizon"]
        weights = np.kron(np.eye(N), self.q)
        nx = self.own
        weights[-nx:, -nx:] = last
        H = self.forced.T @ weights @ self.forced + np.kron(np.eye(N), self.r)
        return (H + H.T) / 2, self.forced.T @ weights @ self.free

    def ticks(self, folder):
        """Parameters of every tick and block."""
        words = np.fromfile(f"{folder}/ticks", dtype="<u4")
        count, p, extra = words[:3]
        rows = words[3:].reshape(count, 1 + p + extra)[:, 1:].copy().view("<f4").astype(float)
        own = rows[:, :p].reshape(count, self.blocks, self.own)
        more = rows[:, p:].reshape(count, self.blocks, self.extra)
        return np.concatenate([own, more], axis=2)


def table(name, values, kind="static const float"):
    numbers = np.asarray(values, dtype=np.float32).ravel()
    text = ", ".join(f"{v!r}f" if "." in repr(v) or "e" in repr(v) else f"{v!r}.0f" for v in map(float, numbers))
    return f"{kind} {name}[{max(len(numbers), 1)}] = {{ {text or '0.0f'} }};\n"
