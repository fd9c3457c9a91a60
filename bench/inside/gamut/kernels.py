"""What kernels of PyTorch on CUDA ask the allocator for in addition to their results.

Each rule takes the arguments and the results of one operator, and says (before, after): the bytes of blocks that are asked for before the results
and live until the operator ends, and those of blocks of which the n-th comes after the n-th result and is free before the next. A pair is the least and the most. The
figures are those of PyTorch 2.11 and cuDNN 9 on one H100, read from recordings of programs. The splits of sums are PyTorch's own rule (aten/src/ATen/native/cuda/Reduce.cuh).
"""

import math

MIB = 1 << 20
HOPPER = {"multiprocessors": 132, "threads": 2048}
CUBLAS, CUBLASLT = 32 * MIB, MIB  # PyTorch keeps one workspace for each thread that multiplies, on Hopper
MATMUL = {"mm", "addmm", "bmm", "baddbmm", "linear", "matmul", "_addmm_activation", "_native_multi_head_attention"}
CUBLASLT_TOO = {"addmm", "linear", "_addmm_activation", "_native_multi_head_attention"}


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


def copies(*tensors):
    """The contiguous copies that a kernel makes of these."""
    return [bytes_of(t) for t in tensors if t is not None and not t.is_contiguous()]


def split_sum(inputs, outputs):
    """The buffer in which the parts of sums meet that several blocks of threads share. inputs, outputs: how many numbers; the last dimension stays."""
    each, vector = inputs // max(outputs, 1), 4 if outputs % 4 == 0 else 2 if outputs % 2 == 0 else 1
    across, most = outputs // vector, 512 // vector
    width = min(1 << (max(across, 1).bit_length() - 1), 32)
    height = min(1 << (max(each, 1).bit_length() - 1), most // width)
    width = min(1 << (max(across, 1).bit_length() - 1), most // height)
    per_thread = each
    if per_thread >= min(height * 16, 256):
        per_thread = -(-per_thread // height)
        grid = -(-across // width)
    else:
        return 0
    target = HOPPER["multiprocessors"] * (HOPPER["threads"] // (width * height))
    if per_thread < 256 or grid > target:
        return 0
    parts = max(min(-(-target // grid), -(-per_thread // 16)), -(-per_thread // 256))
    return 4 * outputs * parts * width * vector if parts > 1 else 0


def sums(args, results):
    x, out = args[0], results[0]
    dims = [d % x.dim() for d in args[1]] if len(args) > 1 and args[1] else list(range(x.dim()))
    return [], [split_sum(x.numel(), out.numel())] if x.dim() and x.dim() - 1 not in dims else []


def _is_plain(weight, stride):
    return math.prod(weight.shape[2:]) == 1 and all(s == 1 for s in stride)


def is_last(tensor):  # channels_last: cuDNN has nothing to convert
    return tensor.dim() == 4 and tensor.stride(1) == 1 and tensor.shape[1] > 1 and not tensor.is_contiguous()


def _is_patches(x, weight, stride):  # as at the start of a vision transformer
    return x.shape[1] < 4 and len(stride) == 2 and stride[0] == weight.shape[2] > 3


def convolution(args, results):
    """cuDNN converts NCHW to channels_last and the result back. Some of its kernels convert one side only, or split the sum in parts: it chooses."""
    x, weight, out = args[0], args[1], results[0]
    stride, room, size = args[3] if len(args) > 3 else (1,), bytes_of(x) + bytes_of(weight), bytes_of(weight)
    if _groups(args, 8) > 1:
        return [], []
    if is_last(x):
        return [], [(0, room + bytes_of(out) if weight.shape[2] == 1 else 0) if x.shape[1] % 4 == 0 else (room * 4 // 3, room * 8 // 3)]
    if _is_plain(weight, stride):
        return [], [bytes_of(x) + bytes_of(out) if math.prod(x.shape[2:]) < 64 and size > MIB else 400]
    if x.shape[1] < 4 and (weight.shape[2] == 3 or _is_patches(x, weight, stride)):
        return [], [room * 8 // 3 + bytes_of(out) if x.element_size() == 2 and weight.shape[2] > 3 else 0]
    if weight.shape[2] == 1:
        return [], [room if size < MIB else bytes_of(x) + bytes_of(out)]
    wide, few = out.shape[1] > x.shape[1] > 3, out.numel() // out.shape[1] < 120000
    if size < MIB and (wide or x.shape[1] >= 3 * out.shape[1] or few and size < MIB // 2):
        return [], [room]
    room += bytes_of(out)
    return [], [(room, room + 8 * MIB) if size > MIB // 2 else room]


def _groups(args, place):
    return args[place] if len(args) > place and isinstance(args[place], int) else 1


def convolution_backward(args, results):
    grad, x, weight, stride, wanted = args[0], args[1], args[2], args[4], args[10]
    size, after = bytes_of(weight), []
    room, split, plain = bytes_of(grad) + bytes_of(x) + size, x.shape[0] * size, _is_plain(weight, stride) and grad.shape[1] % 4 == 0
    dense, last = _groups(args, 9) == 1, is_last(x)
    if dense and not last and weight.shape[2] == 1 and size > MIB and (not plain or math.prod(x.shape[2:]) < 64):
        return copies(grad), [room - size] * (wanted[0] + wanted[1])
    if wanted[0]:
        after.append(0 if last or not dense else 400 if plain else (room, room + 16 * MIB) if size > MIB else room)
    if wanted[1]:
        if plain:
            after.append((split, max(split, room if size < 32768 else 0)) if dense and not last else 0)
        elif x.shape[1] < 4 and weight.shape[2] == 3 or not dense:
            after.append(2560)
        elif _is_patches(x, weight, stride) and x.element_size() == 2:
            after.append(11 * bytes_of(x))
        else:
            after.append((0, 4 * MIB) if last and x.shape[1] % 4 == 0 else room + min(14 * size, 8260000 if size < MIB else 7080000))
    return ([] if last else copies(grad)), after


def cudnn_attention_backward(args, results):
    query, lse = args[1], args[5]
    return [], [0, 0, query.numel() * 4 + bytes_of(lse) + 256]


def efficient_attention_backward(args, results):
    grad, lse = args[0], args[6]
    return [*copies(grad), 2 * bytes_of(lse)], []


def embedding_backward(args, results):
    grad, indices, words = args[:3]
    count = indices.numel()
    return ([8 * count] * 7, [(count // 10 + min(count, words)) * grad.shape[-1] * 4]) if count > 3072 else ([], [])


def index_put(args, results):
    count = max((i.numel() for i in args[1] if i is not None), default=0)
    return ([8 * count] * 4 + [16 * count], []) if len(args) > 3 and args[3] else ([], [])


def _contiguous(*places):
    return lambda args, results: (copies(*(args[i] for i in places if i < len(args))), [])


# The order in which results are made, where it is not theirs.
ORDERS = {"native_dropout": lambda results: results[::-1], "_scaled_dot_product_cudnn_attention": lambda results: sorted(results, key=lambda t: t.dim() > 0)}
# Fake tensors lose channels_last where PyTorch asks the device: these arguments decide the layout of the results that have four dimensions.
LAYOUTS = {"convolution": (0, 1), "convolution_backward": (1, 2), "native_batch_norm": (0,), "native_batch_norm_backward": (1,)}


OPERATORS = {
    "_native_multi_head_attention": lambda args, results: ([3 * bytes_of(results[0])], [bytes_of(results[0])]),
    "_scaled_dot_product_cudnn_attention": lambda args, results: ([], [0] * (len(results) - 1) + [256]),
    "_scaled_dot_product_cudnn_attention_backward": cudnn_attention_backward,
    "_scaled_dot_product_efficient_attention_backward": efficient_attention_backward,
    "_softmax": _contiguous(0),
    "_log_softmax": _contiguous(0),
    "_softmax_backward_data": _contiguous(0, 1),
    "conv2d": convolution,
    "convolution": convolution,
    "convolution_backward": convolution_backward,
    "cudnn_batch_norm": lambda args, results: ([], [args[0].numel() // 20 if is_last(args[0]) else 0]),
    "cudnn_batch_norm_backward": lambda args, results: ([], [args[0].numel() // 12 if is_last(args[0]) else 0]),
    "embedding": _contiguous(1),
    "embedding_dense_backward": embedding_backward,
    "index_put": index_put,
    "index_put_": index_put,
    "max_pool2d": lambda args, results: ([], [results[0].numel() * 8]),
    "mse_loss": lambda args, results: ([bytes_of(args[0])], []),
    "native_group_norm": _contiguous(0),
    "native_layer_norm": _contiguous(0),
    "native_layer_norm_backward": _contiguous(0, 1),
    "roll": _contiguous(0),
    "sort": lambda args, results: ([], [26 * args[0].numel()]),
    "sum": sums,
    "upsample_nearest2d_backward": _contiguous(0),
}
# All that the measured programs called: what has no rule above asks for nothing, or for a few KiB.
MEASURED = frozenset("""
_adaptive_avg_pool2d _adaptive_avg_pool2d_backward _foreach_norm _foreach_sqrt _fused_rms_norm _fused_rms_norm_backward _log_softmax
_log_softmax_backward_data _native_multi_head_attention _scaled_dot_product_cudnn_attention _scaled_dot_product_cudnn_attention_backward
_scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward _softmax _softmax_backward_data _to_copy
_unsafe_view adaptive_avg_pool2d add add_ addmm alias arange as_strided as_strided_ batch_norm bernoulli_ bmm cat clamp clone
constant_pad_nd conv2d convolution convolution_backward copy_ cos cudnn_batch_norm cudnn_batch_norm_backward detach div div_ embedding
embedding_dense_backward empty empty_like eq expand fill_ flatten gelu gelu_backward hardsigmoid hardsigmoid_backward hardswish_
hardswish_backward index index_add_ index_copy index_put_ index_select linalg_vector_norm linear masked_fill max max_pool2d
max_pool2d_with_indices max_pool2d_with_indices_backward mean mm mse_loss mse_loss_backward mul mul_ native_batch_norm
native_batch_norm_backward native_dropout native_dropout_backward native_group_norm native_group_norm_backward native_layer_norm
native_layer_norm_backward ne neg new_zeros nll_loss_backward nll_loss_forward ones_like permute pow randint randn reciprocal relu relu_
roll scatter select select_backward silu silu_backward sin slice slice_backward softmax sort split squeeze stack sub sum t
threshold_backward topk transpose unbind unsqueeze upsample_nearest2d upsample_nearest2d_backward view zeros zeros_like
""".split())
