"""The validation problem of `dst validate`, made anew from its declaration, random numbers included.

f = x'Qx/2 with eigenvalues 0.1*100^(i/(d-1)); x' = -p(theta, x, t)*Qx with a small network p for every coordinate; J = |Qx|^2.
Basis `haar`: Q = V diag(lambda) V' with the orthogonal factor V of a Gaussian matrix; `hhM`: V is a product of M reflections,
kept here as I - W'TW (M rows W), so that a product with it is two small matrix products.
"""
import argparse
from types import SimpleNamespace

import numpy as np

# Where softplus is 1.
LEVEL = np.log(np.e - 1.0)


def uniforms(seed, count):
    """SplitMix64, by counter."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return ((z >> np.uint64(11)).astype(float) + 0.5) / 2.0**53


def normals(seed, count):
    """Box-Muller, in pairs."""
    u = uniforms(seed, count + count % 2).reshape(-1, 2)
    radius, angle = np.sqrt(-2.0 * np.log(u[:, 0])), 2.0 * np.pi * u[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).ravel()[:count]


def problem(dim, basis, seed=1):
    """x0, theta (10 rows), and either q, the matrix, or lam, w, t for its parts."""
    lam = 0.1 * 100.0 ** (np.arange(dim) / (dim - 1.0))
    scale = np.array([0.5] * 8 + [0.3] * 2)[:, None]
    made = SimpleNamespace(
        x0=normals(1000 * seed + 1, dim),
        theta=scale * normals(1000 * seed + 2, 10 * dim).reshape(10, dim),
        q=None,
    )
    if basis == "haar":
        v, r = np.linalg.qr(normals(1000 * seed + 3, dim * dim).reshape(dim, dim))
        v *= np.sign(np.diag(r))
        q = (v * lam) @ v.T
        made.q = 0.5 * (q + q.T)
        return made
    w = np.stack([normals(1000 * seed + 10 + r, dim) for r in range(int(basis[2:]))])
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    # The product of the first reflections is I - W'TW; one more adds a column to T.
    t, gram = 2.0 * np.eye(len(w)), w @ w.T
    for j in range(1, len(w)):
        t[:j, j] = -2.0 * t[:j, :j] @ gram[:j, j]
    made.lam, made.w, made.t = lam, w, t
    return made


def score(tanh, theta, x, g, t):
    """What softplus makes the preconditioner of."""
    tau = t / (1.0 + t)
    hidden = [tanh(theta[k] * x + theta[k + 1] * g + theta[k + 2] * tau + theta[k + 3]) for k in (0, 4)]
    return LEVEL + theta[8] * hidden[0] + theta[9] * hidden[1]


def arguments(methods):
    parser = argparse.ArgumentParser()
    parser.add_argument("--method", required=True, choices=methods)
    parser.add_argument("--dim", type=int, required=True)
    parser.add_argument("--basis", default="haar")
    parser.add_argument("--step", type=float, default=0.1)
    parser.add_argument("--eps", type=float, default=1e-3)
    parser.add_argument("--rtol", type=float, default=1e-7)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--gradient")
    return parser.parse_args()
