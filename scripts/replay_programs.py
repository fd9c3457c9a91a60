"""Programs that scripts/replay_rounds records: `products`, some 1,500 products of matrices in PyTorch, and `kernels`, 4,000 of PyOpenCL."""
import sys


def products():
    import torch

    w = torch.randn(2048, 2048, device="cuda") / 45
    x = torch.randn(2048, 2048, device="cuda")
    for _ in range(151):
        for _ in range(10):
            x = torch.relu(x @ w) + x * 0.5
        float(x.sum())


def kernels():
    import numpy
    import pyopencl
    import pyopencl.array

    queue = pyopencl.CommandQueue(pyopencl.create_some_context(interactive=False))
    a = pyopencl.array.to_device(queue, numpy.linspace(0, 1, 131072, dtype=numpy.float32))
    for step in range(1000):
        b = a * 2 + a
        a = b / 3 + 0.001
        if step % 50 == 49:
            float(a.get()[0])


{"products": products, "kernels": kernels}[sys.argv[1]]()
