"""PyOpenCL: array arithmetic, a block for each operation. `pool`: the same with PyOpenCL's MemoryPool."""
import sys

import numpy as np
import pyopencl as cl
import pyopencl.array as array
import pyopencl.tools as tools

context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
pool = tools.MemoryPool(tools.ImmediateAllocator(queue)) if "pool" in sys.argv else None
a = array.to_device(queue, np.linspace(0, 1, 131072, dtype=np.float32), allocator=pool)
for step in range(500):
    b = a * 2 + a
    a = b / 3 + 0.001
print(repr(float(a.get().astype(np.float64).sum())))
