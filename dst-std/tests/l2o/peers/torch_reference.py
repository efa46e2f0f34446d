"""Reference gradients of one training step of L2O-DM and L2O-RNNprop, by PyTorch's autograd in double precision; and how far
PyTorch itself is from them in single precision ("single": the same measure as in torch.rs, relative to the norm of a tensor).

    python torch_reference.py > torch_reference.json

Needs numpy and torch. The equations are written out: nothing of torch.nn is used but ELU, softplus and Adam.
Random numbers: splitmix64 by counter and Box-Muller, as dst-std/src/data/random.rs makes them.

A case is a training step on B problems (1/n) sum softplus(z) - y z, z = W x, from x = 0, in segments of S steps: the loss of
a segment is sum f(x_k)/(K B) over its steps, K steps in all; after each segment Adam (1e-3) updates the weights and the states are detached.
With the penalty, a problem whose first k >= 2 with J_k = f(x_{k-1}) - f(x_k) <= 1e-5 is in the segment adds
-J_k/(J_k - J_{k-1})/B, the denominator taken as a constant. What is printed is of the last segment.
"""
import json
import sys

import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
H, B, N, D, STEPS = 30, 4, 24, 40, 6
STREAM = {"dm": 2003, "rnnprop": 2001}
SET = 7
RATE = 1e-3


def uniforms(stream, count):
    i = np.arange(1, count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = np.uint64(stream) + i * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def normals(stream, count):
    u = uniforms(stream, count + count % 2)
    radius, angle = np.sqrt(-2.0 * np.log(u[0::2])), 2.0 * np.pi * u[1::2]
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return pairs.reshape(-1)[:count]


def problems(dtype):
    w = normals(5000 + 3 * SET, B * N * D).reshape(B, N, D)
    there = uniforms(5001 + 3 * SET, B * D) < 0.1
    truth = np.where(there, normals(505001 + 3 * SET, B * D), 0.0).reshape(B, D)
    y = np.einsum("bil,bl->bi", w, truth) >= 0
    y ^= (uniforms(5002 + 3 * SET, B * N) < 0.05).reshape(B, N)
    return torch.from_numpy(w).to(dtype), torch.from_numpy(y).to(dtype)


def weights(model, dtype):
    inputs = 2 if model == "dm" else H
    shapes = {} if model == "dm" else {"inp.weight": (H, 2), "inp.bias": (H,)}
    for layer, width in enumerate((inputs, H)):
        shapes[f"rnn.weight_ih_l{layer}"] = (4 * H, width)
        shapes[f"rnn.weight_hh_l{layer}"] = (4 * H, H)
        shapes[f"rnn.bias_ih_l{layer}"] = (4 * H,)
        shapes[f"rnn.bias_hh_l{layer}"] = (4 * H,)
    shapes |= {"out.weight": (1, H), "out.bias": (1,)}
    count = sum(int(np.prod(shape)) for shape in shapes.values())
    numbers, taken, theta = (2.0 * uniforms(STREAM[model], count) - 1.0) / np.sqrt(H), 0, {}
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        theta[name] = torch.from_numpy(numbers[taken : taken + size].reshape(shape)).to(dtype).clone()
        theta[name].requires_grad_(True)
        taken += size
    return theta


def layer(theta, number, z, h, c):
    gates = z @ theta[f"rnn.weight_ih_l{number}"].T + theta[f"rnn.bias_ih_l{number}"]
    gates = gates + h @ theta[f"rnn.weight_hh_l{number}"].T + theta[f"rnn.bias_hh_l{number}"]
    i, f, g, o = gates.chunk(4, dim=1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def step(model, feed, penalty, segments, dtype):
    """Losses, stops, and the gradient of the last segment."""
    torch.set_default_dtype(dtype)
    theta, (w, y) = weights(model, dtype), problems(dtype)
    adam = torch.optim.Adam(theta.values(), lr=RATE)

    def objective(x):
        z = torch.einsum("bil,bl->bi", w, x)
        return (F.softplus(z) - y * z).mean(1)

    def gradient(x):
        x = x if feed == "full" else x.detach()
        z = torch.einsum("bil,bl->bi", w, x)
        return torch.einsum("bil,bi->bl", w, torch.sigmoid(z) - y) / N

    x = torch.zeros(B, D)
    m, v = torch.zeros(B, D), torch.zeros(B, D)
    memory = [torch.zeros(B * D, H) for _ in range(4)]
    values, stopped, stops, losses, k = [objective(x)], [False] * B, [0] * B, [], 0
    for _ in range(segments):
        loss, extra = 0.0, 0.0
        for _ in range(STEPS):
            g = gradient(x)
            k += 1
            if model == "dm":
                z = torch.stack([(g / 64.0).reshape(-1), x.reshape(-1)], dim=1)
            else:
                m, v, unbias = 0.95 * m + 0.05 * g, 0.95 * v + 0.05 * g * g, 1.0 - 0.95**k
                size = torch.sqrt(v / unbias) + 1e-8
                z = torch.stack([(g / size).reshape(-1), (m / unbias / size).reshape(-1)], dim=1)
                z = F.elu(z @ theta["inp.weight"].T + theta["inp.bias"])
            h0, c0 = layer(theta, 0, z, memory[0], memory[1])
            h1, c1 = layer(theta, 1, h0, memory[2], memory[3])
            memory = [h0, c0, h1, c1]
            out = (h1 @ theta["out.weight"].T + theta["out.bias"]).reshape(B, D)
            x = x + 0.1 * F.elu(out) if model == "dm" else x - 0.1 * torch.tanh(out)
            values.append(objective(x))
            loss = loss + values[-1].sum() / (segments * STEPS * B)
            for b in range(B if penalty == "literal" and k >= 2 else 0):
                now, before = values[-2][b] - values[-1][b], values[-3][b] - values[-2][b]
                if not stopped[b] and now <= 1e-5:
                    stopped[b], stops[b] = True, k
                    extra = extra - now / (now - before).detach() / B
        adam.zero_grad()
        (loss + extra).backward()
        losses.append(float(loss.detach()))
        last = {name: tensor.grad.clone() for name, tensor in theta.items()}
        adam.step()
        x, m, v = x.detach(), m.detach(), v.detach()
        memory, values = [part.detach() for part in memory], [value.detach() for value in values]
    return losses, stops, last


def case(model, feed, penalty, segments):
    losses, stops, double = step(model, feed, penalty, segments, torch.float64)
    _, single_stops, single = step(model, feed, penalty, segments, torch.float32)
    assert stops == single_stops
    tensors, error = [], 0.0
    for name, grad in double.items():
        flat, rounded = grad.reshape(-1), single[name].reshape(-1).double()
        # The largest entry, and two anywhere.
        places = sorted({int(flat.abs().argmax()), len(flat) // 3, (5 * len(flat)) // 7})
        entries = [[place, float(flat[place])] for place in places]
        norm = float(flat.norm())
        error = max(error, abs(float(rounded.norm()) - norm) / norm)
        error = max(error, *(abs(float(rounded[place]) - value) / norm for place, value in entries))
        tensors.append({"name": name, "norm": norm, "entries": entries})
    return {
        "model": model, "feed": feed, "penalty": penalty, "segments": segments,
        "losses": losses, "stops": stops, "single": error, "tensors": tensors,
    }  # fmt: skip


cases = [
    case(model, feed, penalty, segments)
    for model in ("rnnprop", "dm")
    for feed in ("detached", "full")
    for penalty in ("none", "literal")
    for segments in (1, 2)
]
print('{"torch": "%s", "cases": [' % torch.__version__)
for number, one in enumerate(cases):
    tensors = one.pop("tensors")
    print(json.dumps(one)[:-1] + ', "tensors": [')
    print(",\n".join("  " + json.dumps(tensor) for tensor in tensors))
    print("]}" + ("," if number + 1 < len(cases) else ""))
print("]}")
for one in cases:
    print(one["model"], one["feed"], one["penalty"], one["losses"], one["stops"], one["single"], file=sys.stderr)
