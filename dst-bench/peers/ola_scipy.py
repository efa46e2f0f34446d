"""Adam-OLA (Algorithm 2 of the paper) on the smooth SVM with numpy and scipy's sparse matrices.

f(w) = sum max(0, 1 - y (x'w - b))^2 / 2 + |(w, b)|^2 / 200 on data of the shape of a1a or w3a; one evaluation of f and its gradient
per iteration, the products with the matrix and with its transpose both from compressed rows.
"""
import argparse

import numpy as np
import scipy
import scipy.sparse as sparse

from problem import normals, uniforms
from turns import serve

parser = argparse.ArgumentParser()
parser.add_argument("--data", choices=["a1a", "w3a"], required=True)
parser.add_argument("--iterations", type=int, default=500)
args = parser.parse_args()

rows, features, groups = {"a1a": (1605, 123, 14), "w3a": (4912, 300, 12)}[args.data]
edges = np.arange(groups + 1) * features // groups
u = uniforms(7001, rows * groups).reshape(rows, groups)
columns = edges[:-1] + (u * np.diff(edges)).astype(int)
data = sparse.csr_matrix(
    (np.ones(columns.size), columns.ravel(), np.arange(rows + 1) * groups), shape=(rows, features)
)
rule = normals(7002, features + 1)
labels = np.where(data @ rule[:-1] + rule[-1] + normals(7003, rows) >= 0, 1.0, -1.0)
z = sparse.diags(labels) @ sparse.hstack([data, -np.ones((rows, 1))], format="csr")
z, zt = z.tocsr(), z.T.tocsr()
regularisation = 1e-2


def value_gradient(w):
    gap = np.maximum(0.0, 1.0 - z @ w)
    return 0.5 * (gap @ gap + regularisation * (w @ w)), regularisation * w - zt @ gap


def run(alpha=1e-2, eta=1e-5, margin=1e-5, beta1=0.9, beta2=0.999, guard=1e-8):
    w = np.zeros(features + 1)
    m, v, adapted = np.zeros_like(w), np.zeros_like(w), 0
    f, g = value_gradient(w)
    mark = f
    for k in range(1, args.iterations + 1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * g
        direction = m / (1 - beta1**k) / (np.sqrt(v / (1 - beta2**k)) + guard)
        w = w - alpha * direction
        before, (f, g) = f, value_gradient(w)
        if mark - f > margin * adapted:
            if f != before:
                alpha -= eta * (g @ direction) / (f - before)
            mark, adapted = f, adapted + 1
    return {"steps": adapted, "value": f}


serve(f"scipy {scipy.__version__}, numpy {np.__version__}", lambda: run)
