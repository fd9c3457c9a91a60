"""What bench/inside/gamut.py needs of CuPy."""


class _Device:
    mem_info = (0, 1 << 30)

    def __init__(self, number):
        pass


class _Stream:
    ptr = 0


class _Unowned:
    def __init__(self, ptr, size, owner, device_id):
        self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id


class _Pointer:
    def __init__(self, memory, offset):
        self.mem, self.ptr = memory, memory.ptr + offset


class cuda:
    allocator = None
    Device, UnownedMemory, MemoryPointer = _Device, _Unowned, _Pointer

    class device:
        @staticmethod
        def get_device_id():
            return 0

    class memory:
        class OutOfMemoryError(MemoryError):
            def __init__(self, size, total, limit=0):
                super().__init__(f"{size} bytes, of {total}")

    @staticmethod
    def get_current_stream():
        return _Stream

    @classmethod
    def set_allocator(cls, allocator):
        cls.allocator = allocator
