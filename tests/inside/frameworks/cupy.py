"""What bench/inside/gamut needs of CuPy and of its module cupy_backends.cuda.stream."""

import ctypes
import sys
import types


_Function = ctypes.CFUNCTYPE(ctypes.c_ssize_t)


@_Function
def _current_stream():
    return 0x1000


def _stream_module():
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    module = types.ModuleType("cupy_backends.cuda.stream")
    module.name = b"intptr_t (void)"
    module.__pyx_capi__ = {"get_current_stream_ptr": new(ctypes.cast(_current_stream, ctypes.c_void_p), module.name, None)}
    return module


for _name in ("cupy_backends", "cupy_backends.cuda"):
    sys.modules[_name] = types.ModuleType(_name)
sys.modules["cupy_backends"].cuda = sys.modules["cupy_backends.cuda"]
sys.modules["cupy_backends.cuda.stream"] = sys.modules["cupy_backends.cuda"].stream = _stream_module()


class _Device:
    mem_info = (0, 1 << 30)


class _Pointer:
    def __init__(self, size, param, malloc, free):
        self.ptr = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)(malloc)(param, size, 0) or 0
        self._free, self._param = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(free), param

    def __del__(self):
        if self.ptr:
            self._free(self._param, self.ptr, 0)


class _Allocator:
    def __init__(self, param, malloc, free, owner):
        self._doors = param, malloc, free

    def malloc(self, size):
        return _Pointer(size, *self._doors)


class cuda:
    allocator = None
    Device, CFunctionAllocator = _Device, _Allocator

    class memory:
        class OutOfMemoryError(MemoryError):
            def __init__(self, size, total, limit=0):
                super().__init__(f"{size} bytes, of {total}")

    @classmethod
    def set_allocator(cls, allocator):
        cls.allocator = allocator
