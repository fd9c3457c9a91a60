#!/usr/bin/env python3
"""Times unmodified programs of packages, alone and served, in turns, and prints JSON.

    serve_turns.py ROUNDS [PROGRAM...]     all programs whose packages are there, each in ROUNDS rounds
    serve_turns.py --list                  the programs and their ways
    serve_turns.py --turns PROGRAM STEPS   one program, alone, as serve_thrust starts it

All ways of a program run at once, each in a process of its own, and only one at a time works: a round has a turn of each, in random order. So the runs of
a round are milliseconds apart, and no start of a program is in them. The answers of a round are compared; exit code 1: they differ, or a way failed.
From the environment: GAMUT [build/gamut]; PYCUDA, examples/from-wiki/simple_speed_test.py of the sources of PyCUDA; OPENCL [NVIDIA], a part of the name of a platform of OpenCL; SECONDS_MOST [600]: no program is begun later.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
GAMUT = os.environ.get("GAMUT", os.path.join(HERE, "..", "build", "gamut"))
OPENCL = os.environ.get("OPENCL", "NVIDIA")
PRELOAD = [GAMUT, "serve", "--via", "cuda-preload", "-s", "caching"]
OPENCL_WAYS = {"alone": ([], {}), "again": ([], {}), **{s: ([GAMUT, "serve", "-s", s], {}) for s in ("raw", "caching", "pool")}}
XLA = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
PLATFORM = {**XLA, "XLA_PYTHON_CLIENT_ALLOCATOR": "platform"}
UNCACHED = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}


# ---- the programs: each prepares, and returns a function of a number of steps that returns the answer ----


def pyopencl_arrays():
    import numpy as np
    import pyopencl as cl
    import pyopencl.array as array

    device = next(d for p in cl.get_platforms() for d in p.get_devices() if OPENCL in p.name)
    queue = cl.CommandQueue(cl.Context([device]))
    a = array.to_device(queue, np.linspace(0, 1, 131072, dtype=np.float32))

    def steps(n):
        nonlocal a
        for _ in range(n):
            b = a * 2 + a
            a = b / 3 + 0.001
        queue.finish()
        return lambda: float(a.get().astype(np.float64).sum())

    return steps


def pyclesperanto():
    import numpy as np
    import pyclesperanto as cle

    cle.select_device(cle.list_available_devices("gpu" if OPENCL == "NVIDIA" else "all")[0])
    image = np.random.default_rng(7).random((16, 128, 128)).astype(np.float32)

    def steps(n):
        for _ in range(n):
            smooth = cle.gaussian_blur(cle.push(image), sigma_x=2, sigma_y=2, sigma_z=1)
            labels = cle.pull(cle.connected_component_labeling(cle.threshold_otsu(smooth)))
        return lambda: int(labels.astype(np.int64).sum())

    return steps


def opencv():
    os.environ["OPENCV_OPENCL_DEVICE"] = ":GPU:" if OPENCL == "NVIDIA" else ":CPU:"
    import cv2
    import numpy as np

    cv2.ocl.setUseOpenCL(True)
    assert cv2.ocl.useOpenCL(), "OpenCV found no OpenCL"
    frame = np.random.default_rng(7).integers(0, 256, (480, 640, 3), dtype=np.uint8)

    def steps(n):
        for _ in range(n):
            grey = cv2.cvtColor(cv2.UMat(frame), cv2.COLOR_BGR2GRAY)
            edges = cv2.Canny(cv2.GaussianBlur(grey, (7, 7), 1.5), 50, 150)
            small = cv2.resize(cv2.dilate(edges, None), (320, 240)).get()
        return lambda: int(small.astype(np.int64).sum())

    return steps


def tinygrad():
    os.environ["DEV"] = "CL"
    os.environ["CL"] = os.environ["TRAINING"] = "1"
    from tinygrad import Tensor, nn

    Tensor.manual_seed(7)
    a, b = nn.Linear(64, 128), nn.Linear(128, 10)
    optimiser = nn.optim.Adam([a.weight, a.bias, b.weight, b.bias], lr=0.01)
    x, y = Tensor.rand(128, 64).realize(), Tensor.randint(128, high=10).realize()

    def steps(n):
        for _ in range(n):
            optimiser.zero_grad()
            loss = b(a(x).relu()).sparse_categorical_crossentropy(y).backward()
            optimiser.step()
            total = loss.item()
        return lambda: total

    return steps


def cupy():
    import cupy as cp

    if os.environ["WAY"] == "functions of C":
        import gamut

        gamut.serve("caching", framework="cupy")
    elif os.environ["WAY"] != "own pool":
        cp.cuda.set_allocator(None)
    cp.random.seed(0)
    weight = cp.random.standard_normal((1024, 1024), dtype=cp.float32)

    def steps(n):
        for _ in range(n):
            total = cp.zeros((), dtype=cp.float64)
            for k in range(60):
                x = cp.full((256 + 64 * (k % 7), 1024), 0.5 + k, dtype=cp.float32)
                y = cp.tanh(x @ weight) * 2 + x
                total += (y * y - y.mean(axis=0)).sum(dtype=cp.float64)
            cp.cuda.runtime.deviceSynchronize()
        return lambda: float(total)

    return steps


def torch_perceptron():
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(*[m for _ in range(8) for m in (torch.nn.Linear(512, 512), torch.nn.ReLU())]).cuda()
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    x = torch.randn(256, 512, device="cuda")

    def steps(n):
        for _ in range(n):
            optimizer.zero_grad(set_to_none=True)
            loss = (model(x) - x).square().mean()
            loss.backward()
            optimizer.step()
            total = loss.item()
        return lambda: total

    return steps


def jax_network():
    import jax
    import jax.numpy as jnp

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
    batches = [jax.random.normal(keys[6], (size, 1024)) for size in (2048, 1024, 3072, 512)]

    def steps(n):
        nonlocal weights
        for i in range(n):
            x = batches[i % len(batches)]
            weights, loss = step(weights, x, x[:, ::-1])
        jax.block_until_ready((weights, loss))
        return lambda: float(loss)

    return steps


def scikit_learn():
    os.environ["SCIPY_ARRAY_API"] = "1"
    import cupy as cp
    import sklearn
    from sklearn.decomposition import PCA

    if os.environ["WAY"] != "own pool":
        cp.cuda.set_allocator(None)
    sklearn.set_config(array_api_dispatch=True)
    points = cp.random.RandomState(7).standard_normal((4096, 64)).astype(cp.float32)

    def steps(n):
        for _ in range(n):
            found = PCA(n_components=8, svd_solver="covariance_eigh").fit_transform(points)
        cp.cuda.runtime.deviceSynchronize()
        return lambda: round(float(cp.abs(found).sum(dtype=cp.float64)), 1)

    return steps


def pycuda_speed():
    """The benchmark simple_speed_test.py of PyCUDA's sources (PYCUDA is the file) with 5,000 iterations; what counts is the time that it prints of the loop of arrays."""
    import contextlib
    import io
    import pycuda.autoprimaryctx

    sys.modules["pycuda.autoinit"] = pycuda.autoprimaryctx  # gamut serves the primary context
    with open(os.environ["PYCUDA"]) as file:
        code = compile(file.read().replace("n_iter = 100000", "n_iter = 5000"), "simple_speed_test.py", "exec")

    def steps(n):
        for _ in range(n):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(code, {"__name__": "__main__"})
        seconds, answer = re.search(r"GPUArray time.*\n([0-9.]+)s, (.*)", printed.getvalue()).groups()
        return lambda: (answer, 1e3 * float(seconds) / 5000)

    return steps


# The function, steps of a turn, and the ways: what stands before the program, and its environment.
PROGRAMS = {
    "PyOpenCL arrays": (pyopencl_arrays, 400, OPENCL_WAYS),
    "OpenCV": (opencv, 60, OPENCL_WAYS),
    "pyclesperanto": (pyclesperanto, 10, OPENCL_WAYS),
    "tinygrad": (tinygrad, 4, OPENCL_WAYS),
    "CuPy": (cupy, 6, {"alone": ([], {}), "own pool": ([], {}), "functions of C": ([], {}), "caching": (PRELOAD, {})}),
    "PyTorch": (torch_perceptron, 30, {"alone": ([], UNCACHED), "own pool": ([], {}), "caching": (PRELOAD, UNCACHED)}),
    "scikit-learn on CuPy": (scikit_learn, 6, {"alone": ([], {}), "own pool": ([], {}), "caching": (PRELOAD, {})}),
    "PyCUDA's simple_speed_test": (pycuda_speed, 1, {"alone": ([], {}), "caching": (PRELOAD, {})}),
    "JAX": (jax_network, 24, {"alone": ([], PLATFORM), "own pool": ([], XLA), "caching": (PRELOAD, PLATFORM)}),
}


def work(name):
    make, count, _ = PROGRAMS[name]
    steps = make()
    steps(count)()
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        answer = steps(count)
        took = time.perf_counter() - begin
        answer = answer()
        answer, step_ms = answer if isinstance(answer, tuple) else (answer, 1e3 * took / count)
        print(json.dumps({"step_ms": round(step_ms, 6), "answer": repr(answer)}), flush=True)


def take_turns(name, count):
    """STEPS steps, and as many more for each line of stdin. The first ones compile: they are taken to be as long as the others."""
    make, _, ways = PROGRAMS[name]
    os.environ.update(ways["alone"][1], WAY="alone", PYOPENCL_NO_CACHE="1")
    steps, warm = make(), min(4, count - 1)
    steps(warm)()
    timed = count - warm
    while True:
        begin = time.perf_counter()
        answer = steps(timed)
        all_ms = 1e3 * (time.perf_counter() - begin) * count / timed
        print(json.dumps({"first_ms": 0, "all_ms": round(all_ms, 6), "sum": repr(answer())}), flush=True)
        timed = count
        if not sys.stdin.readline():
            return


def turns(name, rounds, runs, ends):
    """Adds the runs of a program, and what was served in each way. False: a way failed."""
    processes = {}
    with tempfile.TemporaryDirectory() as folder:
        for way, (before, more) in PROGRAMS[name][2].items():
            log = os.path.join(folder, way)
            command = [*before, *(["--"] if before else []), sys.executable, os.path.abspath(__file__), "--work", name]
            environment = dict(os.environ, WAY=way, PYOPENCL_NO_CACHE="1", GAMUT_PROGRESS="never", **more)
            processes[way] = subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(log, "w"), text=True)
        ready = {way: any(line == "ready\n" for line in process.stdout) for way, process in processes.items()}
        for number in range(1, rounds + 1):
            for way in random.sample(list(processes), len(processes)) if all(ready.values()) else []:
                processes[way].stdin.write("\n")
                processes[way].stdin.flush()
                line = processes[way].stdout.readline()
                ready[way] = bool(line)
                runs.append({"program": name, "way": way, "round": number, **json.loads(line or "{}")})
        ended = {way: process.communicate()[0] is not None and process.returncode for way, process in processes.items()}
        for way in processes:
            with open(os.path.join(folder, way)) as log:
                said = log.read()
            if not ready[way] or ended[way]:
                print(f"serve_turns: {name}, {way}: {(said.strip().splitlines() or ['no message'])[-1]}", file=sys.stderr)
            served = re.search(r"served (\d+) requests under \S+: (\d+) hits, (\d+) driver calls", said)
            ends.append({"program": name, "way": way, "served": [int(n) for n in served.groups()] if served else None,
                         "left": {what: int(n) for n, what in re.findall(r"left to the driver: (\d+) ([^(\n]*\w)", said)}})
    answers = {number: {run.get("answer") for run in runs if (run["program"], run["round"]) == (name, number)} for number in range(1, rounds + 1)}
    if any(len(different) > 1 for different in answers.values()):
        print(f"serve_turns: {name}: the answers differ: {answers}", file=sys.stderr)
        return False
    return all(ready.values()) and not any(ended.values())


def main():
    if sys.argv[1:] == ["--list"]:
        for name, (_, _, ways) in PROGRAMS.items():
            print(f"{name}: {', '.join(ways)}")
        return 0
    if sys.argv[1:2] == ["--work"]:
        return work(sys.argv[2])
    if sys.argv[1:2] == ["--turns"]:
        return take_turns(sys.argv[2], int(sys.argv[3]))
    if len(sys.argv) < 2 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    runs, ends, began, good = [], [], time.monotonic(), True
    for name in sys.argv[2:] or PROGRAMS:
        if time.monotonic() - began < float(os.environ.get("SECONDS_MOST", 600)):
            good &= turns(name, int(sys.argv[1]), runs, ends)
    card = subprocess.run("nvidia-smi --query-gpu=name,driver_version --format=csv,noheader", shell=True, capture_output=True, text=True).stdout.strip()
    lines = lambda rows: "[\n" + ",\n".join(map(json.dumps, rows)) + "]"
    print(f'{{"device": {json.dumps(card)}, "runs": {lines(runs)}, "ends": {lines(ends)}}}')
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
