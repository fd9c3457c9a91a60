"""A program of JAX for gamut serve --via cuda-preload (docs/serve.md): trains a small network on batches of several sizes, and prints JSON with the
milliseconds of each step and the losses. XLA_PYTHON_CLIENT_ALLOCATOR=platform has JAX ask the driver for each array, by cuMemCreate. That is no call
which the preload serves, so what it prints of this program is what was left to the driver.

    XLA_PYTHON_CLIENT_ALLOCATOR=platform gamut serve --via cuda-preload -s caching -o jax.json -- python3 scripts/serve_jax.py
"""
import json
import sys
import time

import jax
import jax.numpy as jnp

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 24
SIZES = [2048, 1024, 3072, 512]


def loss_of(weights, x, y):
    for w in weights[:-1]:
        x = jax.nn.relu(x @ w)
    return jnp.mean((x @ weights[-1] - y) ** 2)


@jax.jit
def step(weights, x, y):
    loss, slopes = jax.value_and_grad(loss_of)(weights, x, y)
    return [w - 1e-3 * s for w, s in zip(weights, slopes)], loss


keys = jax.random.split(jax.random.PRNGKey(0), 8)
weights = [0.02 * jax.random.normal(k, (1024, 1024)) for k in keys[:6]]
losses, times = [], []
for i in range(STEPS):
    key = jax.random.fold_in(keys[6], i)
    x = jax.random.normal(key, (SIZES[i % len(SIZES)], 1024))
    jax.block_until_ready(x)
    begin = time.perf_counter()
    weights, loss = step(weights, x, x[:, ::-1])
    jax.block_until_ready((weights, loss))
    times.append(round(1e3 * (time.perf_counter() - begin), 4))
    losses.append(float(loss))
print(json.dumps({"jax": jax.__version__, "step_ms": times, "losses": losses}))
