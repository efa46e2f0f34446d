"""Gradients of a stopping time with PyTorch.

    unrolled     the loop as one writes it, and autograd through all of it
    torchdiffeq  odeint_event and autograd through the solver: the continuous stopping time
"""
from problem import arguments, problem, score
from turns import serve

import torch

torch.set_default_dtype(torch.float64)

args = arguments(["unrolled", "torchdiffeq"])
made = problem(args.dim, args.basis)
x0, theta = torch.from_numpy(made.x0), torch.from_numpy(made.theta)
h, eps = args.step, args.eps
if made.q is None:
    lam, w, t = map(torch.from_numpy, (made.lam, made.w, made.t))
else:
    q = torch.from_numpy(made.q)


def times(x):
    if made.q is not None:
        return q @ x
    y = lam * (x - (t.T @ (w @ x)) @ w)
    return y - (t @ (w @ y)) @ w


def scaled(theta, x, g, t):
    return torch.nn.functional.softplus(score(torch.tanh, theta, x, g, t)) * g


def unrolled():
    at = theta.clone().requires_grad_()
    x, k, before = x0, 0, None
    while True:
        g = times(x)
        j = g @ g
        if j.item() <= eps:
            break
        before = j.item()
        x = x - h * scaled(at, x, g, k * h)
        k += 1
    (sum_,) = torch.autograd.grad(j, at)
    return {"steps": k, "gradient": (-h * sum_ / (j.item() - before)).numpy()}


def torchdiffeq():
    from torchdiffeq import odeint_event

    class Flow(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.theta = torch.nn.Parameter(theta.clone())

        def forward(self, t, x):
            return -scaled(self.theta, x, times(x), t)

    flow = Flow()
    above = lambda t, x: torch.sum(times(x) ** 2) - eps
    time, _ = odeint_event(
        flow, x0, torch.tensor(0.0), event_fn=above, rtol=args.rtol, atol=0.01 * args.rtol, method="dopri5"
    )
    time.backward()
    return {"time": time.item(), "gradient": flow.theta.grad.numpy()}


version = f"torch {torch.__version__}"
if args.method == "torchdiffeq":
    from importlib.metadata import version as of

    version += f", torchdiffeq {of('torchdiffeq')}"
serve(version, lambda: {"unrolled": unrolled, "torchdiffeq": torchdiffeq}[args.method], args.gradient)
