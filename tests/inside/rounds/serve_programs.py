"""Programs for scripts/serve_rounds on the fake driver: test_serve_rounds.sh. They ask for memory alone."""
import os
import time

IMPORTS = {"torch": ["torch"], "cupy": ["cupy", "no_such_module"]}
STEPS = {"layers": 4, "cupy_arrays": 4, "breaks": 2, "captures": 4, "loses": 4, "sleeps": 4}

UNCACHED = {"torch": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}}


def framework(program):
    return "cupy" if program.startswith("cupy") else "torch"


def prepare(program, mode):
    return lambda: None, float, lambda: (1 << 20, 1 << 19)


def nvtx(program):
    import torch

    return torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop


class Weights:
    """A block that a model keeps until the end."""

    def __init__(self, allocator):
        self.allocator, self.block = allocator, allocator.alloc(5000, 0, None)

    def __del__(self):
        self.allocator.free(self.block, 5000, 0, None)


def layers():
    import torch

    allocator = torch.cuda.memory.current
    weights = Weights(allocator) if allocator else None

    def step(i, weights=weights):
        blocks = [allocator.alloc(1000 + 70000 * k, 0, None) for k in range(20)] if allocator else []
        for k, block in enumerate(blocks):
            allocator.free(block, 1000 + 70000 * k, 0, None)
        return 0.5 * i

    return step


def cupy_arrays():
    import cupy

    def step(i):
        arrays = [cupy.cuda.allocator(1000 + 5000 * k) for k in range(10)] if cupy.cuda.allocator else []
        return 0.25 * i + 0 * len(arrays)

    return step


def breaks():
    raise RuntimeError("this program does not work")


def captures():
    """Needs an allocator between itself and the driver."""
    if "PYTORCH_NO_CUDA_MEMORY_CACHING" in os.environ:
        raise RuntimeError("the driver has no memory for a capture")
    return layers()


def loses():
    """The driver has no times of its commands."""
    if "PYTORCH_NO_CUDA_MEMORY_CACHING" in os.environ:
        os.environ["FAKE_CUDA_LOSES"] = "1"
    return layers()


def sleeps():
    if "PYTORCH_NO_CUDA_MEMORY_CACHING" in os.environ:
        time.sleep(100)
    return layers()
