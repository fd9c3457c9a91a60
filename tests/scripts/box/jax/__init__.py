"""What scripts/serve_turns.py needs of JAX: an array is a number. `platform` asks the driver once."""
import ctypes
import os

if os.environ.get("XLA_PYTHON_CLIENT_ALLOCATOR") == "platform":
    driver, context, block = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
    driver.cuInit(0)
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxSetCurrent(context)
    driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(1000000))
    driver.cuMemFree_v2(block)


__version__ = "0.0"


class Array(float):
    def __matmul__(self, other):
        return self * other

    def __getitem__(self, _):
        return self

    def __mul__(self, other):
        return Array(float(self) * float(other))

    def __sub__(self, other):
        return Array(float(self) - float(other))

    __rmul__ = __mul__


class random:
    PRNGKey = staticmethod(lambda seed: seed)
    split = staticmethod(lambda key, count: list(range(count)))
    fold_in = staticmethod(lambda key, i: i)
    normal = staticmethod(lambda key, shape: Array(1 + key % 3))


class nn:
    relu = staticmethod(lambda x: x)


def jit(function):
    return function


def value_and_grad(function):
    return lambda weights, *rest: (function(weights, *rest), [Array(0.5)] * len(weights))


def block_until_ready(x):
    return x
