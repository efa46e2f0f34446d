"""Two forms of a program for OSQP. Condensed: the variables are the inputs. Sparse: inputs and states, the plant as equations.

Rows that move with the parameters come first.
"""
import numpy as np
import scipy.sparse as sparse


class Form:
    def __init__(self, P, A, lower, upper, moved, bounds, linear, extra):
        self.P, self.A, self.lower, self.upper = sparse.csc_matrix(P), A, lower, upper
        self.moved, self.bounds, self.linear, self.extra = moved, bounds, linear, extra

    def at(self, theta):
        """q, l, u at these parameters."""
        own = self.linear.shape[1]
        q = self.linear @ theta[:own]
        q[: self.extra] += theta[own:]
        lower, upper = self.lower.copy(), self.upper.copy()
        move = self.bounds @ theta[:own]
        lower[: self.moved] -= move
        upper[: self.moved] -= move
        return q, lower, upper


def condensed(p):
    moves = p.E.any(axis=1)
    order = np.argsort(~moves, kind="stable")
    moved = int(moves.sum())
    bounds = p.E[order, : p.own][:moved]
    return Form(p.H, p.A[order], p.lower[order], p.upper[order], moved, bounds, p.F[:, : p.own], p.extra)


def sparse_form(p):
    N, nx = p.case["horizon"], p.own
    inputs = len(p.H)
    weights = [p.q] * (N - 1) + [p.last]
    P = sparse.block_diag([np.kron(np.eye(N), p.r)] + weights)
    # x1 = a x0 + b u0, ...; the first rows have a x0 on their right.
    plant = np.hstack([np.kron(np.eye(N), -p.b), np.eye(N * nx) - np.kron(np.eye(N, k=-1), p.a)])
    zero = np.zeros(N * nx)
    states = len(p.A) > inputs
    box = np.eye(inputs + N * nx)[: inputs + (N * nx if states else 0)]
    lower, upper = np.hstack([zero, p.lower]), np.hstack([zero, p.upper])
    return Form(P, np.vstack([plant, box]), lower, upper, nx, -p.a, np.zeros((inputs + N * nx, nx)), p.extra)
