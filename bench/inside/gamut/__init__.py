"""Serves memory to PyTorch, CuPy or RMM by an allocator of gamut (docs/serve.md), and says why PyTorch ran out of memory (docs/out-of-memory.md).

    import gamut
    gamut.explain()                         # at the start of the program
    gamut.serve("vmm")                      # before the first tensor on the GPU

The strategy and its options are written as on gamut's command line; without one, GAMUT_SERVE says it.
"""

import ctypes
import importlib
import json
import os
import shutil
import subprocess
import sys

_NAME = "libgamut_alloc.so"


def path(name=_NAME):
    """The library, or another of gamut's: $GAMUT_LIBRARY or beside it, else where `make install` or `make` put it."""
    here = os.path.dirname(os.path.abspath(__file__))
    beside = ["../..", "../../../gamut", "../../../build"]  # make install, a wheel, the tree
    given = os.environ.get("GAMUT_LIBRARY")
    places = [given if not given or name == _NAME else os.path.join(os.path.dirname(given), name), *(os.path.join(here, folder, name) for folder in beside)]
    for place in places:
        if place and os.path.exists(place):
            return os.path.abspath(place)
    raise OSError(f"{name} is neither beside {here} nor named by GAMUT_LIBRARY: make install puts it there")


def binary():
    """The program gamut, or None: where `make install`, a wheel or `make` put it, else in PATH."""
    beside = [os.path.join(__file__, up, "gamut") for up in ("../../../../../bin", "../../../../build")]  # make install or a wheel, the tree
    return next(filter(os.path.isfile, map(os.path.normpath, beside)), shutil.which("gamut"))


def __getattr__(name):  # gamut.estimate, when it is asked for
    if name == "estimate":
        return importlib.import_module("gamut.estimate")
    raise AttributeError(f"module 'gamut' has no attribute {name!r}")


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


def explain(max_entries=100_000, stacks="python"):
    """PyTorch remembers its last max_entries requests and frees. If torch.OutOfMemoryError ends the program, or leaves a block
    `with gamut.explain():`, they are dumped as oom.PID.pickle, and `gamut explain` says why. This neither imports torch nor starts CUDA."""
    return _Explain(max_entries=max_entries, stacks=stacks)


def _say(text):
    sys.stderr.write(f"{text}\n" if text else "")


class _Explain:
    __enter__ = lambda self: self
    def __init__(self, **history):
        self._history, self._recording, self._before = history, False, sys.excepthook
        sys.excepthook = self._hook
        if "torch" in sys.modules:
            self._imported(sys.modules["torch"])
        else:
            sys.meta_path.insert(0, self)

    def find_spec(self, name, path=None, target=None):  # Python looks for a module: when torch is there, _imported gets it
        others = [finder for finder in sys.meta_path if name == "torch" and finder is not self]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec:
            execute = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (execute(module), self._imported(module))
        return spec

    def _imported(self, torch):
        if torch.backends.cuda.is_built():
            torch.cuda._lazy_call(self._start)  # when the program starts CUDA: to record would start it
        else:
            _say("gamut.explain: this PyTorch is built without CUDA, so it has no history of its memory")

    def _start(self):
        torch = sys.modules["torch"]
        try:
            self._recording = not getattr(torch._C, "_cuda_isHistoryEnabled", bool)()
            if self._recording:  # else the program records by itself
                torch.cuda.memory._record_memory_history(**self._history)
        except (AttributeError, TypeError, RuntimeError) as wrong:
            _say(f"gamut.explain: PyTorch {torch.__version__} records no history of its memory: {wrong}")

    def _explained(self, error):
        """What to print below the traceback. None: no request was refused, or this was told before."""
        torch = sys.modules.get("torch")
        refused = getattr(getattr(torch, "cuda", None), "OutOfMemoryError", ())
        while error and not isinstance(error, refused):
            error = error.__cause__
        if not error or hasattr(error, "_gamut_told"):
            return None
        error._gamut_told, file = True, os.path.abspath(f"oom.{os.getpid()}.pickle")
        try:
            torch.cuda.memory._dump_snapshot(file)
            program = binary()
            if not program:
                return f"gamut.explain: there is no gamut beside {__file__} or in PATH. Where there is one, run: gamut explain {file}"
            told = subprocess.run([program, "explain", file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        except Exception as wrong:  # the error of the program is what counts
            return f"gamut.explain: PyTorch's history could not be dumped or read: {wrong}"
        return "\n" + (f"{told.stderr}The history is in {file}" if told.returncode else told.stdout.rstrip())

    def _hook(self, kind, error, trace):
        self._before(kind, error, trace)
        _say(self._explained(error))

    def __exit__(self, kind, error, trace):
        text = self._explained(error)
        if text:  # notes stand below the traceback, whatever prints it; before Python 3.11 there are none
            getattr(error, "add_note", _say)(text)
        if sys.excepthook == self._hook:
            sys.excepthook = self._before
        if self._recording:
            sys.modules["torch"].cuda.memory._record_memory_history(enabled=None)


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


def _cupy(lib):
    import cupy
    import cupy_backends.cuda.stream

    # Both functions are C, and so is the one that says the current stream: Python looks only whether memory came back.
    current = cupy_backends.cuda.stream.__pyx_capi__["get_current_stream_ptr"]
    api = ctypes.PyDLL(None)
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    stream = api.PyCapsule_GetPointer(current, api.PyCapsule_GetName(current))
    doors = cupy.cuda.CFunctionAllocator(stream, _address(lib, "gamut_alloc_on_current"), _address(lib, "gamut_free_on_own"), lib)

    def allocate(size, malloc=doors.malloc):
        block = malloc(size)
        if block.ptr or not size:
            return block
        raise cupy.cuda.memory.OutOfMemoryError(size, cupy.cuda.Device().mem_info[1])

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
