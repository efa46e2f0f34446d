"""Gradients of a stopping time with JAX, compiled and warm.

    adjoint    the paper's Algorithm 1 by hand: every state kept, jax.vjp of one step at a time. It is told N beforehand, because arrays
               have fixed sizes
    adjoint-g  the same, keeping Qx too: one product with Q less in every backward step
    equinox    jax.grad through equinox's checkpointed loop, which decides online
    diffrax    event and adjoint of diffrax: the continuous stopping time
"""
import numpy as np

from problem import arguments, problem, score
from turns import serve

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

args = arguments(["adjoint", "adjoint-g", "equinox", "diffrax"])
made = problem(args.dim, args.basis)
x0, theta = jnp.asarray(made.x0), jnp.asarray(made.theta)
h, eps = args.step, args.eps


def scaled(theta, x, g, t):
    return jax.nn.softplus(score(jnp.tanh, theta, x, g, t)) * g


# Constants are arguments of what is compiled: inside, they would be folded for minutes.
parts = (made.q,) if made.q is not None else (made.lam, made.w, made.t)
parts = tuple(map(jnp.asarray, parts))


def times(parts, x):
    if made.q is not None:
        return parts[0] @ x
    lam, w, t = parts
    y = lam * (x - (t.T @ (w @ x)) @ w)
    return y - (t @ (w @ y)) @ w


def forward(parts, theta, loop):
    """(x_N, N, g_N, J_N, J_{N-1}) by this loop, which takes a condition, a body and a start."""

    def body(s):
        x, k, g, j, _ = s
        x = x - h * scaled(theta, x, g, k * h)
        g = times(parts, x)
        return x, k + 1, g, g @ g, j

    g = times(parts, x0)
    return loop(lambda s: s[3] > eps, body, (x0, jnp.array(0), g, g @ g, jnp.array(jnp.inf)))


def adjoint(steps, keep_g):
    def gradient(parts, theta):
        rows = jnp.zeros((steps, 2 if keep_g else 1, args.dim))

        def body(s):
            (x, k, g, j, _), rows = s
            rows = rows.at[k, 0].set(x)
            rows = rows.at[k, 1].set(g) if keep_g else rows
            x = x - h * scaled(theta, x, g, k * h)
            g = times(parts, x)
            return (x, k + 1, g, g @ g, j), rows

        g = times(parts, x0)
        start = (x0, jnp.array(0), g, g @ g, jnp.array(jnp.inf))
        (_, n, g, j, before), rows = jax.lax.while_loop(lambda s: s[0][3] > eps, body, (start, rows))

        def back(s):
            k, bar, sum_ = s
            x, t = rows[k, 0], k * h
            if keep_g:
                _, pull = jax.vjp(lambda theta, x, g: scaled(theta, x, g, t), theta, x, rows[k, 1])
                by_theta, by_x, by_g = pull(bar)
                by_x = by_x + times(parts, by_g)
            else:
                _, pull = jax.vjp(lambda theta, x: scaled(theta, x, times(parts, x), t), theta, x)
                by_theta, by_x = pull(bar)
            return k - 1, bar - h * by_x, sum_ - h * by_theta

        start = (n - 1, 2.0 * times(parts, g), jnp.zeros_like(theta))
        _, _, sum_ = jax.lax.while_loop(lambda s: s[0] >= 0, back, start)
        return -h * sum_ / (j - before), n

    return gradient


def equinox(parts, theta):
    from equinox.internal import while_loop

    def last(theta):
        loop = lambda *a: while_loop(*a, kind="checkpointed", checkpoints=args.slots)
        _, n, _, j, before = forward(parts, theta, loop)
        return j, (n, before)

    (j, (n, before)), sum_ = jax.value_and_grad(last, has_aux=True)(theta)
    return -h * sum_ / (j - before), n


def diffrax(parts, theta):
    import diffrax as d
    import optimistix

    def rate(t, x, both):
        parts, theta = both
        return -scaled(theta, x, times(parts, x), t)

    # Called by these names.
    def above(t, y, args, **_):
        g = times(args[0], y)
        return g @ g - eps

    def time(theta):
        solution = d.diffeqsolve(
            d.ODETerm(rate), d.Dopri5(), 0.0, 1e6, None, x0, (parts, theta),
            stepsize_controller=d.PIDController(rtol=args.rtol, atol=0.01 * args.rtol),
            event=d.Event(above, optimistix.Newton(1e-12, 1e-12)), max_steps=65536,
        )
        return solution.ts[-1]

    time, gradient = jax.value_and_grad(time)(theta)
    return gradient, time


def prepare():
    if args.method.startswith("adjoint"):
        count = jax.jit(lambda parts, theta: forward(parts, theta, jax.lax.while_loop)[1])
        f = adjoint(int(count(parts, theta)), args.method == "adjoint-g")
    else:
        f = {"equinox": equinox, "diffrax": diffrax}[args.method]
    compiled = jax.jit(f).lower(parts, theta).compile()
    name = "time" if args.method == "diffrax" else "steps"

    def run():
        gradient, value = jax.block_until_ready(compiled(parts, theta))
        return {name: value.item(), "gradient": np.asarray(gradient)}

    return run


version = f"jax {jax.__version__}"
if args.method in ("equinox", "diffrax"):
    from importlib.metadata import version as of

    version += f", {args.method} {of(args.method)}"
serve(version, prepare, args.gradient)
