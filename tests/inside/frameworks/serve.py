"""Serves a framework by bench/inside/gamut: serve.py torch|cupy|order|wrong. test_serve_python.sh runs it on the fake driver."""
import sys

import gamut

MIB = 1 << 20


def device():
    return gamut.statistics()["devices"][0]


def torch():
    import torch

    allocator = gamut.serve("vmm")
    assert torch.cuda.memory.current is allocator
    doors = allocator.allocator().doors
    assert len(doors) == 8, doors
    doors["set_init_fn"](2)
    block = allocator.alloc(3 * MIB, 0, None)
    other = allocator.alloc(100, 0, None)
    assert device()["live_count"] == 2 and device()["counters"]["alloc_count"] == 2
    assert doors["set_base_alloc_fn"](other, None) <= other
    doors["set_record_stream_fn"](block, 0x1000)
    allocator.free(block, 3 * MIB, 0, None)
    assert device()["serve"]["held_count"] == 1
    pool = type(doors["set_release_pool"])._argtypes_[1](5, 6)
    doors["set_begin_allocate_to_pool"](0, pool, None)
    private = allocator.alloc(MIB, 0, None)
    doors["set_end_allocate_to_pool_fn"](0, pool)
    assert device()["serve"]["captured_count"] == 1
    allocator.free(private, MIB, 0, None)
    held = device()["reserved_bytes"]
    doors["set_release_pool"](0, pool)
    assert device()["reserved_bytes"] < held
    allocator.free(other, 100, 0, None)
    doors["set_reset_fn"]()
    gamut.mark("epoch")
    gamut.write_result("served.json")
    doors["set_memory_fraction_fn"](0.01, 0)
    assert not allocator.alloc(100 * MIB, 0, None)  # PyTorch, which is C++, gets an exception


def cupy():
    import cupy

    gamut.serve("pool:leading_bits=3", framework="cupy")
    first = cupy.cuda.allocator(1000)
    assert first.ptr and device()["live_count"] == 1
    del first
    assert device()["live_count"] == 0 and device()["counters"]["free_count"] == 1 and device()["serve"]["held_count"] == 0
    assert cupy.cuda.allocator(0).ptr == 0
    try:
        cupy.cuda.allocator(1 << 40)
        raise AssertionError("a TiB was allocated")
    except MemoryError as error:
        print(error)


def order():
    """Of two free memories of one size, the lower one serves, as in PyTorch, and not the older one."""
    import cupy

    gamut.serve("caching", framework="cupy")
    first, second = cupy.cuda.allocator(20 * MIB), cupy.cuda.allocator(20 * MIB)
    lower, upper = first.ptr, second.ptr
    del first
    gamut.trim()
    first = cupy.cuda.allocator(20 * MIB)
    assert first.ptr == lower < upper
    del first, second
    assert cupy.cuda.allocator(20 * MIB).ptr == lower


def wrong():
    for strategy, framework in [("vmmm", "torch"), ("vmm:chunk=", "torch"), ("caching:max_split=1MiB", "torch"), (None, "tensorflow")]:
        try:
            gamut.serve(strategy, framework)
            raise AssertionError(strategy)
        except ValueError as error:
            print(error)


globals()[sys.argv[1]]()
