"""What bench/inside/gamut needs of PyTorch: its pluggable allocator, which calls a library's functions as PyTorch 2.11 does. And what a recording of
scripts/serve_rounds needs: an allocator that asks the driver for each block, with PYTORCH_NO_CUDA_MEMORY_CACHING, and ranges of NVTX."""
import ctypes
import os

__version__ = "2.11"
_ALLOC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)
_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)


class _Pool(ctypes.Structure):
    _fields_ = [("first", ctypes.c_uint64), ("second", ctypes.c_uint64)]


_SETTERS = {
    "set_init_fn": ctypes.CFUNCTYPE(None, ctypes.c_int),
    "set_reset_fn": ctypes.CFUNCTYPE(None),
    "set_memory_fraction_fn": ctypes.CFUNCTYPE(None, ctypes.c_double, ctypes.c_int),
    "set_base_alloc_fn": ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p),
    "set_record_stream_fn": ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p),
    "set_begin_allocate_to_pool": ctypes.CFUNCTYPE(None, ctypes.c_int, _Pool, ctypes.c_void_p),
    "set_end_allocate_to_pool_fn": ctypes.CFUNCTYPE(None, ctypes.c_int, _Pool),
    "set_release_pool": ctypes.CFUNCTYPE(None, ctypes.c_int, _Pool),
}


class _Pluggable:
    def __init__(self):
        self.doors = {}
        for name, function in _SETTERS.items():
            setattr(self, name, lambda address, name=name, function=function: self.doors.__setitem__(name, function(address)))


class _PluggableAllocator:
    def __init__(self, path, alloc, free):
        library = ctypes.CDLL(path)
        self.alloc = _ALLOC(ctypes.cast(getattr(library, alloc), ctypes.c_void_p).value)
        self.free = _FREE(ctypes.cast(getattr(library, free), ctypes.c_void_p).value)
        self._pluggable = _Pluggable()

    def allocator(self):
        return self._pluggable


class _Driver:
    """Each block is the driver's, and is filled."""

    def __init__(self):
        self.driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        self.driver.cuInit(0)
        self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        self.driver.cuCtxSetCurrent(context)

    def alloc(self, bytes, device, stream):
        block = ctypes.c_uint64()
        assert self.driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(bytes)) == 0
        assert self.driver.cuMemsetD8Async(block, ctypes.c_ubyte(1), ctypes.c_size_t(bytes), None) == 0
        return block

    def free(self, block, bytes, device, stream):
        self.driver.cuMemFree_v2(block)


class _Nvtx:
    """The table that a tool gets from NVTX, as nvtx3/nvtxDetail/nvtxTypes.h has it, with push (9) and pop (11) of the core functions."""

    def __init__(self, path):
        asked = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))
        self.slots = [ctypes.c_void_p() for _ in range(16)]
        self.table = (ctypes.c_void_p * 16)(*map(ctypes.addressof, self.slots))
        self.asked = asked(self.get)
        self.callbacks = (ctypes.c_size_t * 2)(16, ctypes.cast(self.asked, ctypes.c_void_p).value)
        self.export = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint)(lambda _: ctypes.addressof(self.callbacks))
        assert ctypes.CDLL(path).InitializeInjectionNvtx2(self.export)

    def get(self, module, table, size):
        if module != 1:
            return 0
        table[0], size[0] = ctypes.addressof(self.table), 16
        return 1

    def call(self, id, type, *arguments):
        if self.slots[id].value:
            type(self.slots[id].value)(*arguments)


class cuda:
    class memory:
        CUDAPluggableAllocator = _PluggableAllocator
        current = _Driver() if "PYTORCH_NO_CUDA_MEMORY_CACHING" in os.environ else None

        @classmethod
        def change_current_allocator(cls, allocator):
            cls.current = allocator

    class nvtx:
        tool = _Nvtx(os.environ["NVTX_INJECTION64_PATH"]) if "NVTX_INJECTION64_PATH" in os.environ else None

        @classmethod
        def range_push(cls, name):
            cls.tool.call(9, ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p), name.encode())

        @classmethod
        def range_pop(cls):
            cls.tool.call(11, ctypes.CFUNCTYPE(ctypes.c_int))
