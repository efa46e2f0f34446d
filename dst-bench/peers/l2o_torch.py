"""One training step of L2O-RNNprop with PyTorch: 64 logistic regressions, five segments of 20 steps, Adam after each.

Single precision on all cores, the gradient that is fed to the network detached. Weights and problems are those of `dst l2o bench`, so
the losses of the first step can be compared. A layer is written as two products and its nonlinearities; that compiles best.
"""
import argparse

import numpy as np
import torch
import torch.nn.functional as F

from problem import normals, uniforms
from turns import serve

parser = argparse.ArgumentParser()
parser.add_argument("--method", choices=["compiled", "eager"], required=True)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--dim", type=int, default=512)
args = parser.parse_args()

batch, d, n, hidden = args.batch, args.dim, args.dim // 2, 30
segments, length, decay = 5, 20, 0.95
tensor = lambda a: torch.from_numpy(np.ascontiguousarray(a, dtype=np.float32))

features = normals(5000, batch * n * d).reshape(batch, n, d)
truth = np.where(uniforms(5001, batch * d) < 0.1, normals(505001, batch * d), 0.0).reshape(batch, d)
labels = np.einsum("bil,bl->bi", features, truth) >= 0
labels ^= (uniforms(5002, batch * n) < 0.05).reshape(batch, n)
features, labels = tensor(features), tensor(labels)

layer = [(4 * hidden, hidden), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)]
shapes = [(hidden, 2), (hidden,), *layer, *layer, (1, hidden), (1,)]
sizes = [int(np.prod(shape)) for shape in shapes]
numbers = (2 * uniforms(2001, sum(sizes)) - 1) / np.sqrt(hidden)
pieces = np.split(numbers, np.cumsum(sizes)[:-1])
theta = [torch.nn.Parameter(tensor(p.reshape(s))) for p, s in zip(pieces, shapes)]


def logits_and_loss(x):
    z = torch.bmm(features, x.unsqueeze(2)).squeeze(2)
    return z, (F.softplus(z) - labels * z).mean(1)


def cell(inputs, h, c, weights):
    gates = torch.addmm(weights[2] + weights[3], inputs, weights[0].t()) + h @ weights[1].t()
    i, f, g, o = gates.chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def inner(x, z, m, v, h0, c0, h1, c1, correction):
    residual = ((torch.sigmoid(z.detach()) - labels) / n).unsqueeze(2)
    g = torch.bmm(features.transpose(1, 2), residual).squeeze(2)
    m = decay * m + (1 - decay) * g
    v = decay * v + (1 - decay) * g * g
    size = torch.sqrt(v / correction) + 1e-8
    fed = torch.stack([(g / size).reshape(-1), (m / correction / size).reshape(-1)], 1)
    h0, c0 = cell(F.elu(F.linear(fed, theta[0], theta[1])), h0, c0, theta[2:6])
    h1, c1 = cell(h0, h1, c1, theta[6:10])
    x = x - 0.1 * torch.tanh(F.linear(h1, theta[10], theta[11])).view_as(x)
    z, f = logits_and_loss(x)
    return x, z, m, v, h0, c0, h1, c1, f


def prepare():
    step = torch.compile(inner, dynamic=False) if args.method == "compiled" else inner
    adam = torch.optim.Adam(theta, lr=1e-3)

    def run():
        zeros = lambda *shape: torch.zeros(*shape)
        x, m, v = zeros(batch, d), zeros(batch, d), zeros(batch, d)
        memory = [zeros(batch * d, hidden) for _ in range(4)]
        with torch.no_grad():
            z, _ = logits_and_loss(x)
        k, total = 0, 0.0
        for _ in range(segments):
            loss = 0.0
            for _ in range(length):
                k += 1
                correction = torch.tensor(1.0 - decay**k)
                x, z, m, v, *memory, f = step(x, z, m, v, *memory, correction)
                loss = loss + f.sum() / (segments * length * batch)
            adam.zero_grad(set_to_none=True)
            loss.backward()
            adam.step()
            total += float(loss.detach())
            x, z, m, v, *memory = (t.detach() for t in (x, z, m, v, *memory))
        return {"value": total}

    return run


serve(f"torch {torch.__version__}", prepare)
