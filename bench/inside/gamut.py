"""Serves memory to PyTorch, CuPy or RMM by an allocator of gamut: docs/serve.md.

    import gamut
    gamut.serve("vmm")                      # before the first tensor on the GPU

The strategy and its options are written as on gamut's command line; without one, GAMUT_SERVE says it.
"""

import ctypes
import json
import os

_NAME = "libgamut_alloc.so"


def path():
    """The library: $GAMUT_LIBRARY, else where `make install` or `make` put it."""
    here = os.path.dirname(os.path.abspath(__file__))
    beside = [("..",), ("..", "..", "gamut"), ("..", "..", "build")]  # make install, a wheel, the tree
    places = [os.environ.get("GAMUT_LIBRARY"), *(os.path.join(here, *folders, _NAME) for folders in beside)]
    for place in places:
        if place and os.path.exists(place):
            return os.path.abspath(place)
    raise OSError(f"{_NAME} is neither beside {here} nor named by GAMUT_LIBRARY: make install puts it there")


def _load():
    lib = ctypes.CDLL(path())
    pointer, size = ctypes.c_void_p, ctypes.c_ssize_t
    for name, result, arguments in [
        ("gamut_begin", ctypes.c_char_p, [ctypes.c_char_p]),
        ("gamut_alloc_or_null", pointer, [size, ctypes.c_int, pointer]),
        ("gamut_free", None, [pointer, size, ctypes.c_int, pointer]),
        ("gamut_last_error", ctypes.c_char_p, []),
        ("gamut_statistics", pointer, []),
        ("gamut_write_result", ctypes.c_char_p, [ctypes.c_char_p]),
        ("gamut_mark", None, [ctypes.c_char_p]),
        ("gamut_trim", None, []),
    ]:
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib


def serve(strategy=None, framework="torch"):
    """All memory of the framework ("torch", "cupy" or "rmm") on CUDA devices comes from this strategy from here on. Returns what the
    framework calls its allocator. ValueError: there is no such strategy or option."""
    doors = {"torch": _torch, "cupy": _cupy, "rmm": _rmm}
    if framework not in doors:
        raise ValueError(f"framework {framework!r}: there are {', '.join(doors)}")
    lib = _load()
    wrong = lib.gamut_begin(strategy.encode() if strategy else None)
    if wrong:
        raise ValueError(wrong.decode())
    return doors[framework](lib)


def statistics():
    """What was served so far, as a dictionary: bytes, counters and the state of each device."""
    lib = _load()
    text = lib.gamut_statistics()
    try:
        return json.loads(ctypes.string_at(text))
    finally:
        ctypes.CDLL(None).free(ctypes.c_void_p(text))


def write_result(file):
    """Writes a result file for `gamut compare`."""
    wrong = _load().gamut_write_result(os.fsencode(file))
    if wrong:
        raise OSError(wrong.decode())


def mark(name):
    """A phase of the program begins, such as an iteration: `planned` and recordings know it by its name."""
    _load().gamut_mark(name.encode())


def trim():
    """Gives spare memory back to the driver."""
    _load().gamut_trim()


def _address(lib, door):
    return ctypes.cast(getattr(lib, door), ctypes.c_void_p).value


def _torch(lib):
    import torch

    allocator = torch.cuda.memory.CUDAPluggableAllocator(path(), "gamut_alloc", "gamut_free")
    pluggable = allocator.allocator()
    for setter, door in [
        ("set_init_fn", "gamut_init"),
        ("set_reset_fn", "gamut_trim"),
        ("set_memory_fraction_fn", "gamut_memory_fraction"),
        ("set_base_alloc_fn", "gamut_base"),
        ("set_record_stream_fn", "gamut_record_stream"),
        ("set_begin_allocate_to_pool", "gamut_begin_pool"),
        ("set_end_allocate_to_pool_fn", "gamut_end_pool"),
        ("set_release_pool", "gamut_release_pool"),
    ]:
        if hasattr(pluggable, setter):
            getattr(pluggable, setter)(_address(lib, door))
        elif setter == "set_record_stream_fn":
            raise RuntimeError(f"PyTorch {torch.__version__} has no set_record_stream_fn: blocks that two streams use can't be served")
    torch.cuda.memory.change_current_allocator(allocator)
    return allocator


class _Owner:
    """Frees a block of CuPy's when its last view is gone."""

    def __init__(self, free, *block):
        self._free, self._block = free, block

    def __del__(self):
        self._free(*self._block)


def _cupy(lib):
    import cupy

    def allocate(size):
        device, stream = cupy.cuda.device.get_device_id(), cupy.cuda.get_current_stream().ptr
        block = lib.gamut_alloc_or_null(size, device, stream) or 0
        if size and not block:
            raise cupy.cuda.memory.OutOfMemoryError(size, cupy.cuda.Device(device).mem_info[1])
        owner = _Owner(lib.gamut_free, block, size, device, stream)
        return cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(block, size, owner, device), 0)

    cupy.cuda.set_allocator(allocate)
    return allocate


def _rmm(lib):
    import rmm

    def device():
        return rmm._cuda.gpu.getDevice()

    def handle(stream):
        return stream.__cuda_stream__()[1] if stream is not None else 0

    def allocate(size, stream=None):
        block = lib.gamut_alloc_or_null(size, device(), handle(stream))
        if size and not block:
            raise MemoryError(lib.gamut_last_error().decode())
        return block or 0

    def deallocate(block, size, stream=None):
        lib.gamut_free(block, size, device(), handle(stream))

    resource = rmm.mr.CallbackMemoryResource(allocate, deallocate)
    rmm.mr.set_current_device_resource(resource)
    return resource
