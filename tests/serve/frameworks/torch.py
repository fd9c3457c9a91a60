"""What bench/serve/gamut.py needs of PyTorch: its pluggable allocator, which calls a library's functions as PyTorch 2.11 does."""
import ctypes

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


class cuda:
    class memory:
        CUDAPluggableAllocator = _PluggableAllocator
        current = None

        @classmethod
        def change_current_allocator(cls, allocator):
            cls.current = allocator
