"""What a PyTorch program will reserve on a GPU, on a machine without one (docs/estimate.md).

    python3 -m gamut.estimate [--fits 24GiB,rtx4090] train.py [arguments]

    with gamut.estimate():                  # or in the program, around all of it: the model too
        train()

The program runs with fake tensors: they have shapes, but no memory. Each storage on the GPU that is made or freed is an event of a trace,
and gamut replays the trace by PyTorch's rules.
"""

import argparse
import contextlib
import ctypes
import functools
import json
import math
import os
import random
import runpy
import subprocess
import sys
import tempfile
import types
import weakref

from gamut import binary, kernels, path

MIB, CUBLAS, SMALL = 1 << 20, "cuBLAS workspaces", 65536
CHANCE = ("rand", "normal", "uniform", "bernoulli", "exponential", "multinomial", "empty")  # names of operators whose results on a GPU are not known before
_HERE = os.path.dirname(os.path.abspath(__file__))


class TraceWriter:
    """The events of a program, and the trace that they make in its text form. Needs no PyTorch."""

    def __init__(self):
        self.events, self.frames, self.category, self.block_count = [], {}, {}, 0

    def alloc(self, size, stack, category=None, queue=0):
        """size: bytes, or the least and the most. queue: the number of a stream. stack: the call stack as ((text, own), ...), outermost first; own: a line of the program, not of a library. Returns the block's number."""
        self.block_count += 1
        self.events.append(("alloc", self.block_count, size, stack, queue))
        self.category[self.block_count] = category
        return self.block_count

    def free(self, block):
        self.events.append(("free", block))

    def phase(self, name, ends=False):
        self.events.append(("end" if ends else "begin", name))

    def _frame(self, lines, stack):
        at = 0
        for text, _ in stack:
            if (at, text) not in self.frames:
                self.frames[at, text] = len(self.frames) + 1
                lines.append(f"frame {len(self.frames)} {at} {json.dumps(text)}")
            at = self.frames[at, text]
        return at

    def _site(self, block, stack):
        last = max((i for i, (_, own) in enumerate(stack) if own), default=0)
        category = self.category[block]
        return (f"{category}: " if category else "") + " > ".join(text for text, _ in stack[last:])

    def text(self, most=True, hole=0):
        """most: with the most bytes where a size is a pair, else with the least. hole: bytes that the program has and gives back at first. Then
        the driver's addresses rise, and do not fall: of free blocks of one size, PyTorch takes the one at the lowest address."""
        info = {"source": "gamut.estimate", "device": "cuda:0", "allocator": "caching", "time_unit_ns": 1000, "capacity_bytes": None,
                "lost_beginning": False, "knows": ["frees", "queues", "sites", "phases"]}
        queue_of = {event[1]: event[4] for event in self.events if event[0] == "alloc"}
        lines, names = ["gamut trace 1", json.dumps(info), *(f'queue {q} "{q or "default"}"' for q in sorted({0, *queue_of.values()})), 'thread 0 "main"'], {}
        self.frames = {}
        if hole:
            lines += [f"alloc b{self.block_count + 1} {hole} q0 t0", f"free b{self.block_count + 1} q0 t0", "trim q0"]

        def name_of(text):
            if text not in names:
                names[text] = len(names) + 1
                lines.append(f"name {names[text]} {json.dumps(text)}")
            return names[text]

        for kind, what, *more in self.events:
            if kind == "alloc":
                size, stack, queue = more
                size = size if isinstance(size, int) else max(size[most], 1)
                named = f" name={name_of(self._site(what, stack))} stack={self._frame(lines, stack)}" if stack else ""
                lines.append(f"alloc b{what} {size} q{queue} t0{named}")
            elif kind == "free":
                lines.append(f"free b{what} q{queue_of[what]} t0")
            else:
                lines.append(f"{kind} q0 t0 name={name_of(what)}")
        return "\n".join(lines) + "\n"


_HIDDEN = (_HERE, "runpy", "torch/_dynamo/", "torch/_subclasses/", "torch/_ops", "torch/utils/_", "torch/_prims", "torch/_library", "torch/_compile")


class _Enough(BaseException):
    """The steps that were asked for are done."""


def _is_own(file):
    return not any(part in file for part in ("site-packages", "dist-packages", "/lib/python", "<frozen", _HERE))


def _prepare():
    """Without a GPU autograd must find no accelerator (estimate.c), which has to be said before PyTorch is loaded."""
    if os.path.exists("/dev/nvidiactl"):
        return None
    if "torch" in sys.modules:
        return "PyTorch was imported first: write `import gamut.estimate` above `import torch`"
    try:
        ctypes.CDLL(path("libgamut_estimate.so"), ctypes.RTLD_GLOBAL)
    except OSError as wrong:
        return str(wrong)


_HINDERED = _prepare()


class _Program:
    """Follows a program that runs under fake tensors. Everything of PyTorch that must be another on a machine without a GPU is here."""

    def __init__(self, steps, real=False):
        if _HINDERED:
            raise RuntimeError(f"gamut.estimate: {_HINDERED}")
        import torch
        from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor, FakeTensorMode, unset_fake_temporarily

        self.torch, self.fake, self.steps, self.step_count = torch, FakeTensor, steps, 0
        self.writer, self.storages, self.operators, self.cache, self.workspaces = TraceWriter(), {}, set(), {}, set()
        self.without_fakes = unset_fake_temporarily
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)
        kernels.UNKNOWN.clear()
        self.real, self.values, self.no_values = real, {}, {}  # values: the storages on the CPU, if operators are computed too
        self.assumed, self.by_value = {}, (DynamicOutputShapeException, DataDependentOutputException)
        self.in_step, self.patched, self.by_chance, self.named = False, False, False, weakref.WeakSet()
        self.stack_of_exits = contextlib.ExitStack()

    # ---- what PyTorch does ----

    def stack(self):
        frames, frame = [], sys._getframe(1)
        while frame:
            key = (frame.f_code, frame.f_lineno)
            if key not in self.cache:
                file, own = frame.f_code.co_filename, _is_own(frame.f_code.co_filename)
                short = os.path.basename(file) if own else file.split("-packages/")[-1]
                keep = not any(part in file for part in _HIDDEN)  # this file too
                self.cache[key] = (f"{short}:{frame.f_lineno} {frame.f_code.co_name}", own) if keep else None
            if self.cache[key]:
                frames.append(self.cache[key])
            frame = frame.f_back
        return tuple(reversed(frames))

    def category(self, node, stack, args):
        """args: of the operator that makes the block, where it is a result."""
        if node:
            return "gradients"
        if self.in_step:
            return "optimizer's step"
        if any("_call_impl" in text or "torch/nn/functional" in text for text, _ in stack):
            return "activations"
        is_cuda = lambda t: isinstance(t, self.torch.Tensor) and t.device.type == "cuda"  # noqa: E731
        # Made, or copied from the CPU
        return "inputs" if args is not None and not any(map(is_cuda, self.torch.utils._pytree.tree_leaves(args))) else None

    def block(self, size, node, stack, category=None, args=None):
        if node:
            stack = (*stack, (node.name(), True))
        return self.writer.alloc(size, stack, category or self.category(node, stack, args))

    def see(self, tensor, node, stack, args):
        """A storage on the GPU that was not seen before is a block that lives as long as the storage."""
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self.storages or not size:
            return
        block = self.block(size, node, stack, args=args)
        self.storages[key] = block, weakref.finalize(storage, self.freed, key, block)

    def freed(self, key, block):
        if self.storages.pop(key, None):
            self.writer.free(block)

    def name(self, tensors, category):
        for tensor in tensors:
            if isinstance(tensor, self.torch.Tensor) and tensor.device.type == "cuda":
                known = self.storages.get(tensor.untyped_storage()._cdata)
                if known:
                    self.writer.category[known[0]] = category

    def call(self, func, args, kwargs):
        torch, name = self.torch, func._schema.name
        if name == "aten::_local_scalar_dense":  # no value is known: the program goes on with one
            if self.knows(args):
                with self.without_fakes():
                    return self.value(args[0]).item()
            return {torch.bool: True}.get(args[0].dtype, 1.0 if args[0].is_floating_point() else 1)
        if func is torch.ops.aten.add.Tensor and self.accumulates(args[0]):
            func = torch.ops.aten.add_.Tensor
        if func is torch.ops.aten.index_put.default and torch._C._current_autograd_node() and args[3:4] == (True,):  # the same
            func, name = torch.ops.aten.index_put_.default, "aten::index_put_"
        computed = self.compute(func, args, kwargs) if self.real or self.knows(args) and any(map(torch.is_tensor, args)) else None
        try:
            out = func(*args, **kwargs)
        except (*self.by_value, *[RuntimeError] * (computed is not None)):  # some kernels look at values on the CPU
            self.by_chance |= self.real
            if computed is None:
                out = self.largest(func, name.split("::")[-1], args)
            else:  # autograd looks at the lengths of packed sequences
                like = lambda t: torch.empty_strided(t.size(), t.stride(), dtype=t.dtype, device=args[0].device)  # noqa: E731
                out = (like(computed[0]), computed[1]) if name.endswith("pack_padded_sequence") else torch.utils._pytree.tree_map_only(torch.Tensor, like, computed)
        if any(kernels.is_last(args[i]) for i in kernels.LAYOUTS.get(name.split("::")[-1], ())):
            out = torch.utils._pytree.tree_map_only(torch.Tensor, self.channels_last, out)
        flat = [t for t in torch.utils._pytree.tree_leaves(out) if isinstance(t, torch.Tensor) and t.device.type == "cuda"]
        if flat:
            self.results(name.split("::")[-1], args, flat)
        if computed is None and not (flat and any(part in name for part in CHANCE)) and self.knows(args) and sum(t.numel() for t in torch.utils._pytree.tree_leaves(out) if torch.is_tensor(t)) <= SMALL:
            computed = self.compute(func, args, kwargs)  # what makes tensors of nothing
        written = (out, args, kwargs) if func._schema.is_mutable else out
        for made in torch.utils._pytree.tree_leaves(written) if computed is None else ():  # with what is not known
            if isinstance(made, self.fake):
                self.values.pop(made.untyped_storage()._cdata, None)
        for made, of in zip(*map(torch.utils._pytree.tree_leaves, (out, computed))) if computed is not None else ():
            if isinstance(made, self.fake) and isinstance(of, torch.Tensor) and made.shape == of.shape and made.untyped_storage()._cdata not in self.values:
                with self.without_fakes(), torch.no_grad():
                    self.value(made).copy_(of)
        return out

    def knows(self, args):
        """Whether the values of these are known: with real=True, or of small tensors, such as sizes from which a model is made, and masks."""
        return self.real or all(not isinstance(t, self.fake) or t.numel() <= SMALL and t.untyped_storage()._cdata in self.values
                                for t in self.torch.utils._pytree.tree_leaves(args) if self.torch.is_tensor(t))

    def value(self, tensor):
        """On the CPU, with the values of this fake tensor: of the same layout, in a storage that stands for its storage. One that no operator made has zeros."""
        if not isinstance(tensor, self.fake):
            return tensor
        storage = tensor.untyped_storage()
        with self.without_fakes():
            if storage._cdata not in self.values:
                self.values[storage._cdata] = self.torch.zeros(storage.nbytes(), dtype=self.torch.uint8).untyped_storage()
                weakref.finalize(storage, self.values.pop, storage._cdata, None)
            return self.torch.empty(0, dtype=tensor.dtype).set_(self.values[storage._cdata], tensor.storage_offset(), tensor.size(), tensor.stride())

    def compute(self, func, args, kwargs):
        """The results of an operator on the CPU, or None: then its results are zeros."""
        on_cpu = lambda one: self.torch.device("cpu") if isinstance(one, self.torch.device) else self.value(one)  # noqa: E731
        with self.without_fakes(), self.torch.no_grad():
            try:
                args, kwargs = self.torch.utils._pytree.tree_map(on_cpu, (args, kwargs))
                out = func(*args, **kwargs)
                return () if out is None else out
            except (NotImplementedError, RuntimeError):
                self.no_values.update({func._schema.name.split("::")[-1]: True} if self.real else {})

    def largest(self, func, name, args):
        """Results whose size depends on values are as large as they can be. The answer names the operator and the line."""
        empty = lambda *shape, dtype=self.torch.int64: self.torch.empty(shape, dtype=dtype, device=args[0].device)  # noqa: E731
        line = next((text for text, own in reversed(self.stack()) if own), "?")
        self.assumed[f"{name} ({line})"] = True
        if name == "nonzero":
            return empty(args[0].numel(), args[0].dim())
        if name == "masked_select":
            return empty(*self.torch.broadcast_shapes(args[0].shape, args[1].shape), dtype=args[0].dtype).flatten()
        if name in ("_unique2", "unique_consecutive"):
            return empty(args[0].numel(), dtype=args[0].dtype), empty(*args[0].shape), empty(args[0].numel())
        if name == "index":  # masks are the places where they are true
            places = [i if i is None or i.dtype not in (self.torch.bool, self.torch.uint8) else empty(i.numel(), i.dim()) for i in args[1]]
            return func(args[0], [column for p, i in zip(places, args[1]) for column in ([p] if p is i else p.unbind(1))])
        raise RuntimeError(f"gamut.estimate: {line}: the size of {name}'s result depends on values, which are not known: --real computes them, or give it one there")

    def channels_last(self, tensor):
        return self.torch.ops.aten.empty_like.default(tensor, memory_format=self.torch.channels_last) if tensor.dim() == 4 else tensor

    def accumulates(self, tensor):
        """Autograd adds gradients up in place if it alone holds the first. Of fake tensors it makes a new one, by add."""
        node = self.torch._C._current_autograd_node()
        stack = node and self.stack()
        if not node or not isinstance(tensor, self.fake) or stack and not stack[-1][0].endswith(" _engine_run_backward"):
            return False
        held = self.torch._C._storage_Use_Count(tensor.untyped_storage()._cdata), tensor._use_count()
        return "AccumulateGrad" in node.name() or held <= (2, 4)

    def results(self, name, args, results):
        node, stack = self.torch._C._current_autograd_node(), self.stack()
        self.operators.add(name)
        rule = kernels.OPERATORS.get(name)
        before, after = rule(args, results) if rule else ([], [])
        results = kernels.ORDERS.get(name, list)(results)
        held = [self.block(size, node, stack, "temporaries") for size in before if size]
        if name == "_native_multi_head_attention":  # it multiplies before it has its result
            self.library_workspaces(name, node, stack)
        for i in range(max(len(results), len(after))):
            if i < len(results):
                self.see(results[i], node, stack, args)
            several = (after[i] if isinstance(after[i], list) else [after[i]]) if i < len(after) else []
            for block in [self.block(size, node, stack, "temporaries") for size in several if size]:
                self.writer.free(block)
        self.library_workspaces(name, node, stack)
        for block in held:
            self.writer.free(block)

    def library_workspaces(self, name, node, stack):
        """A library asks once for each thread in which it is called: autograd has its own."""
        for names, size in (kernels.MATMUL, kernels.CUBLAS), (kernels.CUBLASLT_TOO, kernels.CUBLASLT):
            if name in names and (size, bool(node)) not in self.workspaces:
                self.workspaces.add((size, bool(node)))
                self.writer.alloc(size, (*stack, ("at::cuda::blas", True)), CUBLAS)

    # ---- what has to be another without a GPU ----

    def patch(self, owner, name, value):
        if hasattr(owner, name):
            self.stack_of_exits.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)

    def pretend(self):
        torch, cuda = self.torch, self.torch.cuda
        nothing = lambda *a, **k: None  # noqa: E731
        memory = {"total_memory": 85029158912, "major": 9, "minor": 0, "multi_processor_count": 132, "name": "NVIDIA H100 80GB HBM3"}
        for name, value in {
            "is_available": lambda: True, "device_count": lambda: 1, "current_device": lambda: 0, "_lazy_init": nothing, "is_initialized": lambda: True,
            "is_current_stream_capturing": lambda: False, "synchronize": nothing, "empty_cache": nothing, "set_device": nothing, "manual_seed": nothing, "manual_seed_all": nothing,
            "reset_peak_memory_stats": nothing, "is_bf16_supported": lambda *a, **k: True, "get_device_capability": lambda *a: (9, 0),
            "get_device_name": lambda *a: memory["name"], "get_device_properties": lambda *a: types.SimpleNamespace(**memory), "mem_get_info": lambda *a: (memory["total_memory"],) * 2,
            "memory_stats": lambda *a: {}, **dict.fromkeys("memory_allocated max_memory_allocated memory_reserved max_memory_reserved".split(), lambda *a: 0),
        }.items():
            self.patch(cuda, name, value)
        for name in ("init_gpu_context", "init_cuda_context"):  # would make a real tensor
            self.patch(sys.modules["torch._subclasses.fake_tensor"], name, nothing)
        self.patch(type(self.mode), "avoid_device_init", True)
        for name, mode in {"lstm": "LSTM", "gru": "GRU", "rnn_tanh": "RNN", "rnn_relu": "RNN"}.items():
            self.patch(torch._VF, name, functools.partial(self.recurrent, mode))
        self.patch(torch.nn.RNNBase, "flatten_parameters", lambda layer: self.flatten(layer))
        self.patch(torch.amp.GradScaler, "_maybe_opt_step", lambda _, optimizer, state, *a, **k: optimizer.step(*a, **k))  # would look at values
        functions = torch.nn.functional
        self.patch(functions, "scaled_dot_product_attention", functools.partial(self.attention, functions.scaled_dot_product_attention))
        self.patch(torch.utils, "swap_tensors", self.swap)
        self.patch(self.fake, "__deepcopy__", lambda tensor, memo: memo.setdefault(id(tensor), tensor.detach().clone().requires_grad_(tensor.requires_grad)))
        self.stack_of_exits.callback(torch._C._jit_set_texpr_fuser_enabled, torch._C._jit_texpr_fuser_enabled())
        torch._C._jit_set_texpr_fuser_enabled(False)  # it would load CUDA
        for module in map(sys.modules.get, ("torch.optim.optimizer", "torch.utils._foreach_utils")):  # else optimizers take other ways than with real tensors
            types_ = module._foreach_supported_types
            self.patch(module, "_foreach_supported_types", [*types_, self.fake])

    def flatten(self, layer):
        """cuDNN wants all weights of a layer in one piece. Of bfloat16, PyTorch copies them at each call instead."""
        weights = [w for w in layer._flat_weights if w is not None]
        if weights and all(w.is_cuda and w.dtype != self.torch.bfloat16 for w in weights):
            with self.torch.no_grad():
                for w, part in zip(weights, self.torch.empty(sum(w.numel() for w in weights), dtype=weights[0].dtype, device="cuda").split([w.numel() for w in weights])):
                    w.data = part.view(w.shape)

    def recurrent(self, mode, x, *given):
        """What a layer of cuDNN asks for: copies, results, the weights in one piece, a workspace, and what backward needs."""
        torch, packed = self.torch, [given[0]] if isinstance(given[2], (list, tuple)) else []
        hx, weights, _, count, dropout, train, both, *first = given[len(packed):]
        first, hx, flat = bool(first and first[0]), hx if isinstance(hx, (list, tuple)) else (hx,), len({w.untyped_storage()._cdata for w in weights}) == 1
        if hx[0].shape[-1] != hx[-1].shape[-1]:
            raise NotImplementedError("gamut.estimate: LSTM with proj_size is not known: its memory was not measured")
        if torch.is_autocast_enabled("cuda"):
            x, *cast = (t.to(torch.get_autocast_dtype("cuda")) for t in (x, *hx, *weights))
            hx, weights, flat = cast[: len(hx)], cast[len(hx) :], False
        turned = lambda t: t.transpose(0, 1) if first else t  # noqa: E731
        length, rows, hidden = *((len(x), 1) if packed else (turned(x).shape[0], hx[0].shape[1])), hx[0].shape[-1]
        form, total = {"dtype": x.dtype, "device": x.device}, sum(w.numel() for w in weights)
        reserve, workspace = kernels.recurrent(mode, count, hidden, x.shape[-1], length, rows, 1 + both, dropout if train else 0, x.element_size(), total * x.element_size(), bool(packed))
        if dropout and train and "dropout" not in self.workspaces:
            self.workspaces.add("dropout")
            self.block(kernels.DROPOUT_STATE, None, self.stack())

        works = lambda: self.writer.free(self.block(workspace, torch._C._current_autograd_node(), self.stack(), "temporaries"))  # noqa: E731

        class Layer(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, *others):
                copy = turned(x).contiguous()
                out, ends = torch.empty(*copy.shape[:-1], hidden * (1 + both), **form), [torch.empty_like(h) for h in hx]
                kept = [copy.new_empty(total)] if not flat else []
                kept += [torch.empty(reserve, dtype=torch.uint8, device=x.device)] if train else []
                works()
                ctx.save_for_backward(x, out, *others, *kept)
                return (turned(out), *ends)

            @staticmethod
            def backward(ctx, given, *_):
                x, out, *others = ctx.saved_tensors
                copy, given = turned(x).contiguous(), turned(given).contiguous()
                made, ends = torch.empty_like(copy), [torch.empty_like(h) for h in hx]
                works()
                del copy, given
                copy, parts = turned(x).contiguous(), torch.empty(total, **form)
                works()
                return (turned(made), *ends, *(part.view(w.shape) for part, w in zip(parts.split([w.numel() for w in weights]), weights)))

        return Layer.apply(x, *hx, *weights)

    def swap(self, one, other):
        """torch.utils.swap_tensors without its doubts: fake tensors have weak references by themselves."""
        for name in ("__class__", "__dict__"):
            a, b = getattr(one, name), getattr(other, name)
            setattr(one, name, b)
            setattr(other, name, a)
        self.torch._C._swap_tensor_impl(one, other)

    def attention(self, func, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        """PyTorch would ask the GPU which kernel it is to be."""
        torch, aten = self.torch, self.torch.ops.aten
        if query.device.type != "cuda" or query.dim() != 4:
            return func(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
        if torch.is_autocast_enabled("cuda"):
            query, key, value, attn_mask = (t if t is None or t.dtype == torch.bool else t.to(torch.get_autocast_dtype("cuda")) for t in (query, key, value, attn_mask))
            with torch.autocast("cuda", enabled=False):
                return self.attention(func, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        keeps = torch.is_grad_enabled() and any(t.requires_grad for t in (query, key, value))
        half, size, shared = query.element_size() == 2, query.shape[3], key.shape[1] != query.shape[1]
        fused = all(t.stride(3) == 1 for t in (query, key, value)) and (attn_mask is None or attn_mask.stride(-1) == 1) and query.shape[0] == key.shape[0]
        by_cudnn = fused and half and max(size, value.shape[3]) <= 256 and size % 8 == value.shape[3] % 8 == 0 and key.shape[2] > 1 and not (dropout_p and query.shape[2] == 1) and not (
            attn_mask is not None and torch.is_grad_enabled() and attn_mask.requires_grad)
        by_flash = fused and half and attn_mask is None and size == value.shape[3] <= 256 and not (is_causal and query.shape[2] != key.shape[2])
        efficient = fused and not shared and size % (8 if half else 4) == value.shape[3] % (8 if half else 4) == 0
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.where(attn_mask, 0.0, float("-inf")).to(query.dtype)
        expanded = lambda mask: mask if mask is None else mask.expand(*query.shape[:3], key.shape[2])  # noqa: E731
        if by_cudnn:
            return aten._scaled_dot_product_cudnn_attention(query, key, value, expanded(attn_mask), keeps, dropout_p, is_causal, False, scale=scale)[0]
        if by_flash:
            return aten._scaled_dot_product_flash_attention(query, key, value, dropout_p, is_causal, False, scale=scale)[0]
        if efficient:
            if attn_mask is not None and any(n % 8 for n in attn_mask.stride()[:-1]):
                attn_mask = torch.nn.functional.pad(attn_mask, (0, 8 - attn_mask.shape[-1] % 8))[..., : attn_mask.shape[-1]]
            return aten._scaled_dot_product_efficient_attention(query, key, value, expanded(attn_mask), keeps, dropout_p, is_causal, scale=scale)[0]
        return self.plain_attention(query, key, value, attn_mask, dropout_p, is_causal, scale)

    def plain_attention(self, query, key, value, mask, dropout_p, is_causal, scale):
        """As PyTorch's own operators compute it, where no kernel does all."""
        torch, kind, root = self.torch, query.dtype, math.sqrt(query.shape[3] ** -0.5 if scale is None else abs(scale))
        query, key, value, mask = (t if t is None else t.float() for t in (query, key, value, mask))
        query = query * root
        if is_causal:
            mask = torch.where(torch.ones(query.shape[2], key.shape[2], dtype=torch.bool, device=query.device).tril(), 0.0, float("-inf"))
        if key.shape[1] != query.shape[1]:
            key, value = (t.repeat_interleave(query.shape[1] // t.shape[1], 1) for t in (key, value))
        weights = query @ (key.transpose(2, 3) * root)
        if mask is not None:
            weights = weights.add_(mask)
        weights = torch.nn.functional.dropout(torch.ops.aten._safe_softmax(weights, -1), dropout_p)
        return (weights @ value).to(kind)

    def begin(self):
        torch, program = self.torch, self
        from torch.utils._python_dispatch import TorchDispatchMode

        class Follow(TorchDispatchMode):
            def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
                return program.call(func, args, kwargs or {})

        enter = self.stack_of_exits.enter_context
        self.pretend()
        enter(self.mode)
        enter(Follow())
        from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

        hooks = [register_optimizer_step_pre_hook(self.before_step), register_optimizer_step_post_hook(self.after_step),
                 torch.nn.modules.module.register_module_forward_pre_hook(self.before_forward)]
        for hook in hooks:
            self.stack_of_exits.callback(hook.remove)
        self.writer.phase("step")

    def before_forward(self, module, _):
        if not self.patched and "transformers.utils.import_utils" in sys.modules:  # else it keeps masks that it leaves out with real tensors
            self.patched = True
            self.patch(sys.modules["transformers.utils.import_utils"], "is_fake_tensor", lambda tensor: False)
        if module not in self.named:
            self.named.add(module)
            self.name([*module.parameters(False), *module.buffers(False)], "parameters")

    def before_step(self, optimizer, *_):
        self.in_step = True
        self.name((p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None), "gradients")

    def after_step(self, optimizer, *_):
        self.in_step = False
        self.name(self.torch.utils._pytree.tree_leaves(list(optimizer.state.values())), "optimizer's state")
        self.writer.phase("step", ends=True)
        self.step_count += 1
        if self.step_count == self.steps:
            raise _Enough
        self.writer.phase("step")

    def end(self):
        self.stack_of_exits.close()


# ---- the answer ----

SETTINGS = {"caching": "default settings", "vmm": "expandable_segments:True"}
BAND, BAND_BY_CHANCE = 0.015, 0.06  # what the measured programs differ by for reasons that no table has, and where sizes depend on random numbers
CONTEXT = 600 * MIB  # what CUDA itself takes of a device
DEVICES = {"rtx3090": 24, "rtx4090": 24, "rtx5090": 32, "t4": 16, "l4": 24, "a10": 24, "a100-40": 40, "a100": 80, "h100": 80, "h200": 141}  # GB as sold


def _size(bytes_):
    return f"{bytes_ / 2**30:.3g} GiB" if bytes_ >= 2**30 else f"{bytes_ / MIB:.3g} MiB"


def _capacity(text):
    """The bytes that PyTorch can have: of a device by name what CUDA leaves of it, else so much."""
    if text.lower() in DEVICES:
        return int(DEVICES[text.lower()] * 0.98 * 2**30 if DEVICES[text.lower()] < 80 else DEVICES[text.lower()] * 10**9) - CONTEXT
    for unit, factor in (("GiB", 2**30), ("MiB", MIB), ("GB", 10**9), ("MB", 10**6)):
        if text.endswith(unit):
            return int(float(text[: -len(unit)]) * factor)
    raise SystemExit(f"gamut.estimate: --fits {text}: expected a size such as 24GiB or a device: {', '.join(DEVICES)}")


def _answer(text):
    """What gamut says of a trace under PyTorch's two ways to hold memory: {setting: (bytes reserved, the least under which it runs)}."""
    program = binary()
    if not program:
        raise OSError(f"there is no gamut beside {__file__} or in PATH. Where there is one, run: gamut fit estimate.trace.txt -s caching,vmm")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        told = subprocess.run([program, "fit", file.name, "-s", "caching,vmm", "-f", "json", "--time-limit", "2s"], stdout=subprocess.PIPE, check=True)
    return {row["strategy"]: (row["reserved_bytes"], row["capacity_bytes"]) for row in json.loads(told.stdout)["fits"]}


def verdict(reserved, least, device):
    """Whether a device, by name or size, is enough."""
    room = _capacity(device)
    easy = [SETTINGS[name] for name in SETTINGS if reserved[name][1] <= room]
    tight = [SETTINGS[name] for name in SETTINGS if least[name] <= room]
    if len(easy) == len(SETTINGS):
        return "fits"
    if easy:
        return f"fits only with {easy[0]}"
    return f"fits if PyTorch gives back what is spare, with {' and with '.join(tight)}" if tight else "does not fit"


def said(reserved, least, devices=(), not_measured=(), largest=(), no_values=()):
    """The answer in words. reserved: {setting: (least, most)}, least: {setting: enough to run}, in bytes. not_measured: what may ask for more; of convolutions of other shapes the span knows."""
    more = [what for what in not_measured if "of other shapes" not in what]
    default, expandable = (f"{_size(low)} to {_size(high)}" for low, high in (reserved[name] for name in SETTINGS))
    lines = [f"needs {'at least ' if more else ''}{default} reserved with default settings, {expandable} with expandable_segments:True; the least: {_size(min(least.values()))}"]
    doubt = ", if what was not measured asks for little" if more else ""
    lines += [f"  {device}: {told}{doubt * told.startswith('fits')}" for device in devices for told in [verdict(reserved, least, device)]]
    if largest:
        lines.append(f"  results whose size depends on values count as large as they can be: {', '.join(largest)}; --real computes them")
    if no_values:
        lines.append(f"  the CPU has no kernel for these, so their results are zeros: {', '.join(no_values)}")
    lines += [f"  {what}: they count as similar ones" for what in not_measured if what not in more]
    if more:
        lines.append(f"  not measured, and so only their results count: {', '.join(more)}")
    return "\n".join(lines)


class estimate:
    """Watches a program, or a block of it (`with estimate():`). After the block `trace` is the file, and `reserved`, `least` have the bytes by setting."""

    def __init__(self, steps=3, out="estimate.trace.txt", fits=(), quiet=False, real=False):
        self.program, self.trace, self.fits, self.quiet = _Program(steps, real), out, fits, quiet
        self.captures = {}
        self.reserved, self.least = {}, {}  # bytes by setting: the least and the most; enough to run

    def __enter__(self):
        self.program.begin()
        return self

    def __exit__(self, kind, error, trace):
        self.program.end()
        if kind and kind is not _Enough:
            return False
        with open(self.trace, "w") as file:
            file.write(self.program.writer.text())
        answers, hole = [], 0
        for most in (False, True, False, True):
            answers.append(_answer(self.program.writer.text(most, hole)))
            hole = int(0.3 * answers[1]["caching"][0]) if len(answers) > 1 else 0
        band = BAND_BY_CHANCE if self.program.by_chance else BAND
        for name in SETTINGS:
            reserved, least = ([answer[name][i] for answer in answers[: 4 if name == "caching" else 2]] for i in (0, 1))
            self.reserved[name] = int(min(reserved) * (1 - band)), int(max(reserved) * (1 + band))
            self.least[name] = int(max(least) * (1 + band))
        if not self.quiet:
            print(self)
        return True

    @contextlib.contextmanager
    def capture(self, name, stream=0):
        """What runs in this block is to be captured as a CUDA graph, on this stream; what it made and is alive at its end stays with the graph."""
        program = self.program
        begin, program.workspaces, before = len(program.writer.events), set(), program.workspaces
        yield
        program.workspaces = before
        self.captures[name] = stream, program.writer.events[begin:]

    def pool(self, order):
        """Bytes that one pool holds after these captures: {"caching": under PyTorch's default, "vmm": with expandable segments}. A stream's workspace of cuBLAS is in the first that needs it."""
        writer, numbers, workspaces = TraceWriter(), {}, set()
        for name in order:
            stream, events = self.captures[name]
            for kind, what, *more in events:
                if kind == "alloc":
                    category = self.program.writer.category[what]
                    if category != CUBLAS or (stream, more[0]) not in workspaces:
                        numbers[what] = writer.alloc(*more[:2], category, stream)
                    workspaces |= {(stream, more[0])} if category == CUBLAS else set()
                elif kind == "free" and what in numbers:
                    writer.free(numbers[what])
        return {name: reserved for name, (reserved, _) in _answer(writer.text()).items()}

    def best(self, setting="caching", tries=100):
        """An order of the captures whose pool holds little, and its bytes: the best of both orders of the names, and of those with one moved elsewhere, until so many were tried."""
        held = lambda order: self.pool(order)[setting]  # noqa: E731
        rng = random.Random(1)
        least, order = min((held(order), order) for order in (sorted(self.captures), sorted(self.captures)[::-1]))
        for _ in range(tries):
            moved = list(order)
            moved.insert(rng.randrange(len(moved)), moved.pop(rng.randrange(len(moved))))
            least, order = min((least, order), (held(moved), moved), key=lambda pair: pair[0])
        return order, least

    def not_measured(self):
        other = [f"{len(kernels.UNKNOWN)} convolutions of other shapes"] if kernels.UNKNOWN else []
        other += ["workspaces under torch.backends.cudnn.benchmark"] if self.program.torch.backends.cudnn.benchmark and self.program.operators & {"convolution", "conv2d"} else []
        return sorted(self.program.operators - kernels.MEASURED) + other

    def __str__(self):
        return said(self.reserved, self.least, self.fits, self.not_measured(), self.program.assumed, self.program.no_values)


class _Callable(types.ModuleType):
    """So that gamut.estimate is both this module and what it does."""

    def __call__(self, *args, **kwargs):
        return estimate(*args, **kwargs)


def _largest(given, devices):
    """Bisects over runs of the program with another number in place of {}: the largest for each device and setting."""
    low, high = map(int, given.largest.split(":"))
    known = {}

    def reserved(number):
        if number not in known:
            with tempfile.TemporaryDirectory() as folder:
                arguments = [argument.replace("{}", str(number)) for argument in given.arguments]
                command = [sys.executable, "-m", "gamut.estimate", "--steps", str(given.steps), "--out", f"{folder}/trace.txt", "--json", f"{folder}/answer", *["--real"] * given.real]
                if subprocess.run([*command, given.program, *arguments], stdout=subprocess.DEVNULL).returncode:
                    raise SystemExit(f"gamut.estimate: {given.program} failed with {number}")
                with open(f"{folder}/answer") as file:
                    known[number] = json.load(file)["reserved"]
        return known[number]

    for device in devices:
        room, found = _capacity(device), []
        for name, text in SETTINGS.items():
            fits, too_large = low - 1, high + 1
            while too_large - fits > 1:
                middle = (fits + too_large) // 2
                fits, too_large = (middle, too_large) if reserved(middle)[name][1] <= room else (fits, middle)
            found.append(f"{fits if fits >= low else 'none'} with {text}")
        print(f"{device}: the largest from {low} to {high} that fits is {', '.join(found)}")


def main():
    parser = argparse.ArgumentParser(prog="python3 -m gamut.estimate", description="Says what a PyTorch program will reserve on a GPU, without one.")
    parser.add_argument("--fits", default="", help="sizes or devices, such as 24GiB,rtx4090,a100-40")
    parser.add_argument("--largest", metavar="LOW:HIGH", help="find the largest number that fits; it takes the place of {} in the arguments")
    parser.add_argument("--steps", type=int, default=3, help="steps of an optimizer after which the program ends [3]")
    parser.add_argument("--out", default="estimate.trace.txt", help="the trace in its text form [estimate.trace.txt]")
    parser.add_argument("--json", metavar="FILE", help="write the answer as JSON, in bytes")
    parser.add_argument("--real", action="store_true", help="compute on the CPU as well: sizes that depend on values are then known")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    devices = [part for part in given.fits.split(",") if part]
    for device in devices:
        _capacity(device)
    if given.largest:
        if not devices or not any("{}" in argument for argument in given.arguments):
            parser.error("--largest needs --fits, and {} in the arguments of the program")
        return _largest(given, devices)
    sys.argv = [given.program, *given.arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(given.program)))
    with estimate(given.steps, given.out, devices, real=given.real) as made:
        runpy.run_path(given.program, run_name="__main__")
    if given.json:
        with open(given.json, "w") as file:
            json.dump({"reserved": made.reserved, "least": made.least, "not_measured": made.not_measured(), "largest": list(made.program.assumed)}, file)


if __name__ == "__main__":
    sys.modules["gamut.estimate"] = sys.modules["__main__"]
    main()
else:
    sys.modules[__name__].__class__ = _Callable
