"""What kernels of PyTorch on CUDA ask the allocator for in addition to their results.

Each rule takes the arguments and the results of one operator, and says (before, after): the bytes of blocks that are asked for before the results
and live until the operator ends, and those of blocks of which the n-th (or several, as a list) comes after the n-th result and is free before the next. A pair is the
least and the most. The figures are those of PyTorch 2.11 and cuDNN 9 on one H100. The workspaces of convolutions are a table that `scripts/estimate_programs.py kernels`
measures. The other rules were read from recordings. The splits of sums are PyTorch's own rule (aten/src/ATen/native/cuda/Reduce.cuh).
"""

import functools
import json
import math
import os

MIB = 1 << 20
HOPPER = {"multiprocessors": 132, "threads": 2048}
CUBLAS, CUBLASLT = 32 * MIB, MIB  # PyTorch keeps one workspace for each thread that multiplies, on Hopper
MATMUL = {"mm", "addmm", "bmm", "baddbmm", "linear", "matmul", "_addmm_activation", "_native_multi_head_attention"}
CUBLASLT_TOO = {"addmm", "linear", "_addmm_activation", "_native_multi_head_attention"}
UNKNOWN = set()  # convolutions that were called and are not in the table


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
    if each < min(height * 16, 256):
        return 0
    per_thread, grid = -(-each // height), -(-across // width)
    target = HOPPER["multiprocessors"] * (HOPPER["threads"] // (width * height))
    if per_thread < 256 or grid > target:
        return 0
    parts = max(min(-(-target // grid), -(-per_thread // 16)), -(-per_thread // 256))
    return 4 * outputs * parts * width * vector if parts > 1 else 0


def sums(args, results):
    x, out = args[0], results[0]
    dims = [d % x.dim() for d in args[1]] if len(args) > 1 and args[1] else list(range(x.dim()))
    return [], [split_sum(x.numel(), out.numel())] if x.dim() and (x.dim() - 1 not in dims or is_last(x) and 1 not in dims) else []


def is_last(tensor):  # channels_last: cuDNN has nothing to convert
    return tensor.dim() == 4 and tensor.stride(1) == 1 and tensor.shape[1] > 1 and not tensor.is_contiguous()


def _unlike(last, *tensors):
    """The copies of those that have not the layout of the convolution. last: channels_last."""
    return [bytes_of(t) for t in tensors if t.shape[1] > 1 and math.prod(t.shape[2:]) > 1 and not (t.stride(1) == 1 if last else t.is_contiguous())]


@functools.lru_cache(None)
def measured():
    here = os.path.dirname(os.path.abspath(__file__))  # make install puts it beside; else the tree
    with open(next(filter(os.path.exists, (os.path.join(here, name) for name in ("kernels.json", "../../../results/data/estimate-kernels.json"))))) as file:
        return json.load(file)


def _from_rows(rows, sizes, known, slopes):
    """Bytes with so many rows of a batch, from the next measured numbers of rows. A pair where the library changes its kernel between them."""
    places = sorted({min((n for n in known if n >= rows), default=max(known)), max((n for n in known if n <= rows), default=min(known))})
    values = [sizes[known.index(n)] for n in places]
    slope = (values[-1] - values[0]) / max(places[-1] - places[0], 1)
    if len(places) == 2 and any(abs(slope - s) <= max(64, s / 10000) for s in slopes):
        return int(values[0] + slope * (rows - places[0]))
    made = [v + min(slopes, key=lambda s: abs(v - s * n)) * (rows - n) for n, v in zip(places, values)]
    made += [values[0], max(made[0], values[0]) * 5 // 4] if len(places) == 1 and rows != places[0] else []  # more rows than were measured
    return (max(0, min(made)), max(made)) if max(made) > min(made) else made[0]


def _size(shape, rows):
    """(numbers of input, output and weight together, a point in which similar convolutions are near) of a convolution in the table's words."""
    a, b, high, wide, down, across, top, left, dilation, _, groups, height, width = shape
    out = ((height + 2 * top - dilation * (high - 1) - 1) // down + 1) * ((width + 2 * left - dilation * (wide - 1) - 1) // across + 1)
    log = lambda n: math.log2(max(n, 1))  # noqa: E731
    return (rows * (a * height * width + b * out) + b * a // groups * high * wide, (log(a / groups), log(b / groups), log(rows), log(out), 3 * log(high * wide), 3 * log(down * across), 2 * log(groups),
                                                                                    4 * (a == groups > 1), 3 * (groups > 1), 3 * log(dilation)))


@functools.lru_cache(None)
def _sizes(kind):
    return [[(*_size(tuple(map(int, name.split())), rows), asked) for rows, *asked in zip(*table)] for name, table in measured()["convolutions"][kind].items()]


@functools.lru_cache(None)
def _near(kind, shape, rows):
    size, place = _size(shape, rows)
    return size, sorted(min((sum(abs(p - q) for p, q in zip(place, at)), one, asked) for one, at, asked in layer) for layer in _sizes(kind))[:6]


def similar(kind, shape, rows, part):
    """(0, the most) bytes of a convolution that was not measured: a fourth more than of any of the six measured ones that are most like it, up to four times as much if it is larger."""
    size, near = _near(kind, shape, rows)
    return 0, int(max(asked[part - 1] * min(max(size / one, 1), 4) for _, one, asked in near) * 1.25) + MIB


def _workspace(part, x, weight, y, more):
    """part: 1 forward, 2 backward to the input, 3 to the weight. What cuDNN asks for, as measured; else what similar ones do, or anything up to copies of all, and parts of sums."""
    if more[-1] == "transposed":  # the way back of another
        part, x, y, more = (0, 2, 1, 3)[part], y, x, more[:-1]
    last, kind = is_last(x) or is_last(weight), "float32" if x.element_size() == 4 else "bfloat16"
    rows, room, flat = x.shape[0], [bytes_of(t) for t in (x, y, weight)], [1] * (4 - x.dim())
    shape = (x.shape[1], y.shape[1], *flat, *weight.shape[2:], *more, *flat, *x.shape[2:])
    kind += " last" if last else ""
    table = measured()["convolutions"][kind].get(" ".join(map(str, shape)))
    if not table:
        UNKNOWN.add(shape)
        return similar(kind, shape, rows, part) if len(shape) == 13 else (0, sum(room) + 16 * MIB)
    each = room[0] // max(rows, 1), room[1] // max(rows, 1)
    return _from_rows(rows, table[part], table[0], [i * each[0] + j * each[1] for i in range(4) for j in range(4)] + [room[2]])


def _more(args, first, transposable):
    """stride, padding, dilation and groups of a convolution, in the table's words; at last whether it is a transposed one."""
    given, dims = [args[first + i] if len(args) > first + i else default for i, default in enumerate((1, 0, 1))], args[first - 2].dim() - 2
    groups = (args[first + (5 if transposable else 3) :] or [1])[0]
    flat = [n for pair, one in zip(given, (1, 0, 1)) for n in [one] * (2 - dims) + (list(pair) * dims if isinstance(pair, (list, tuple)) else [pair] * dims)[:dims]]
    return [*flat, groups, *(["transposed"] if transposable and args[first + 3] else [])]


def convolution(args, results):
    x, weight, out = args[0], args[1], results[0]
    return [], [[*_unlike(is_last(x) or is_last(weight), weight, x), _workspace(1, x, weight, out, _more(args, 3, len(args) > 6 and isinstance(args[6], bool)))]]


def convolution_backward(args, results):
    grad, x, weight, wanted = args[0], args[1], args[2], args[10]
    last = is_last(x) or is_last(weight)
    after = [[*(_unlike(last, weight) if part == 2 else []), _workspace(part, x, weight, grad, _more(args, 4, True))] for part in (2, 3) if wanted[part - 2]]
    if wanted[2] and is_last(grad):
        after += [0] * (len(results) - 1 - len(after)) + [split_sum(grad.numel(), grad.shape[1])]
    return _unlike(last, grad), after


def cudnn_attention_backward(args, results):
    query, lse, shared = args[1], args[5], args[1].shape[1] != args[2].shape[1]
    return [], [0, 0, [query.numel() * 4 + bytes_of(lse) + 256, *[bytes_of(query)] * 2 * shared]]


def efficient_attention_backward(args, results):
    """The product of gradient and result, its sums, and a buffer in which blocks of 64 queries meet: for numbers of 4 bytes."""
    query, heads = args[1], args[1].shape[0] * args[1].shape[1]
    sums_, columns = 4 * heads * query.shape[2], -(-query.shape[3] // 64)
    return [], [0, 0, [4 * query.numel(), sums_, sums_], heads * -(-query.shape[2] // 64) * columns * (64 * 64 + 4) * 4 if query.element_size() == 4 else 0]


def embedding_backward(args, results):
    """Each word's rows are added up in parts of ten: how many parts depends on the words."""
    grad, indices, words = args[:3]
    count, wide = indices.numel(), -(-args[0].shape[-1] // 32) * 128
    return (copies(grad) + [8 * count] * 7, [(count // 10 * wide, (count // 10 + min(count, words)) * wide)]) if count > 3072 else ([], [])


def _places(mask, count):
    """The places where a mask is true, of which there are so many: they are looked up first."""
    return 8 * mask.dim() * count if str(mask.dtype) in ("torch.bool", "torch.uint8") else 0


def index(args, results):
    masks = [i for i in args[1] if i is not None]
    count = results[0].numel() // max(math.prod(args[0].shape[sum(i.dim() for i in masks if _places(i, 1)) or len(masks) :]), 1)
    return [_places(i, count) for i in masks], []


def index_put(args, results):
    masks, values = [i for i in args[1] if i is not None], args[2]
    rest = math.prod(args[0].shape[sum(i.dim() for i in masks if _places(i, 1)) :])
    count = max((values.numel() // max(rest, 1) if _places(i, 1) and values.numel() > 1 else i.numel() for i in masks), default=0)
    return [_places(i, count) for i in masks] + ([8 * count] * 4 + [16 * count, (0, bytes_of(values))] if len(args) > 3 and args[3] else []), []


def reduced(factor):
    """The buffers of other sums than plain ones: whether they are needed was not measured in each case. factor: of the bytes of a part."""
    def rule(args, results):
        dims = next((a for a in args[1:] if isinstance(a, (list, tuple)) or isinstance(a, int) and not isinstance(a, bool)), [])
        after = sums([args[0], dims if isinstance(dims, (list, tuple)) else [dims]], results)[1]
        return [], [(0, factor * size) for size in after]
    return rule


def layer_norm_backward(args, results):
    rows = args[1].numel() // args[1].shape[-1]
    return copies(*args[:2]), [0, 0, (0, bytes_of(args[1]) * 94 // 1000) if rows > 65536 else 0]


# Workspaces of recurrent layers, by mode and bytes of a number. Besides 8 MiB a layer and direction, and the weights, they lie between two multiples of a sum: so many bytes, so many
# times the results of a layer, the inputs, and the results of all layers. All of 250 layers that were measured on an H100 are between, by a tenth.
RECURRENT = {("LSTM", 4): (262144, 8, 1, 0, 0.57, 2.77), ("LSTM", 2): (4096, 2, 1, 1, 0.92, 2.6), ("GRU", 4): (262144, 5, 2, 0, 0.6, 1.92),
             ("GRU", 2): (4096, 6, 3, 1, 0.4, 1.0), ("RNN", 4): (262144, 1, 1, 0, 0.68, 8.7), ("RNN", 2): (4096, 3, 2, 1, 0.39, 1.64)}
DROPOUT_STATE = 6488064  # random numbers' state, one for each device


def recurrent(mode, layers, hidden, width, length, rows, directions, dropout, size, weights, packed=False):
    """packed: one such layer was measured, which asks for a fifth less than the span of others. (what backward needs, (the least, the most) of the workspace) of cuDNN's LSTM, GRU and RNN, in bytes. The first is exact, or up to 200 bytes too large."""
    result, inputs = length * rows * hidden * directions * size, length * rows * width * directions * size
    masks = (layers - 1) * -(-length * rows * hidden * directions**2 // 1024) * 128 if dropout else 0
    reserve = result * (layers * {"LSTM": 5, "GRU": 6, "RNN": 1}[mode] + layers - 1) + 256 + masks
    fixed, once, of_inputs, each, low, high = RECURRENT[mode, size]
    low *= 0.75 if packed else 1
    more = fixed + once * result + of_inputs * inputs + each * layers * result
    return reserve, tuple(8 * MIB * layers * directions + weights + int(part * more) for part in (low, high))


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
    "_pack_padded_sequence": lambda args, results: ([bytes_of(results[0])], []),
    "_safe_softmax": lambda args, results: ([], [results[0].numel()]),
    "_softmax_backward_data": lambda args, results: (copies(*args[:2]), [bytes_of(args[1])]),
    "convolution_backward": convolution_backward,
    "cudnn_batch_norm": lambda args, results: ([], [args[0].numel() // 20 if is_last(args[0]) else 0]),
    "cudnn_batch_norm_backward": lambda args, results: ([], [args[0].numel() // 12 if is_last(args[0]) else 0]),
    "embedding": _contiguous(1),
    "embedding_dense_backward": embedding_backward,
    "index": index,
    **dict.fromkeys(("index_put", "index_put_"), index_put),
    **dict.fromkeys(("conv2d", "convolution"), convolution),
    "max_pool2d": lambda args, results: ([], [results[0].numel() * 8]),
    "mse_loss": lambda args, results: ([bytes_of(args[0])], []),
    "native_layer_norm_backward": layer_norm_backward,
    "roll": lambda args, results: ([bytes_of(args[0])] if len(args) > 2 and len(args[2]) > 1 else copies(args[0]), []),  # one dimension after the other
    "sort": lambda args, results: ([], [26 * args[0].numel() if args[0].dim() == 1 else (0, 36 * args[0].numel())]),
    "sum": sums,
    **dict.fromkeys("_softmax _log_softmax native_group_norm native_layer_norm upsample_bilinear2d_backward upsample_nearest2d_backward".split(), _contiguous(0)),
    **dict.fromkeys("amax amin linalg_vector_norm mean norm prod".split(), reduced(1)),
    **dict.fromkeys("argmax argmin max min std std_mean var var_mean".split(), reduced(4)),
    # So many times the bytes of the first argument at the most
    **{name: (lambda args, results, times=times: ([(0, times * bytes_of(args[0]))], [])) for name, times in {
        "_fft_c2r": 1, "binary_cross_entropy_with_logits": 2, "count_nonzero": 4, "cumprod": 1, "dist": 1, "huber_loss": 1, "index_reduce": 3, "isin": 2, "isinf": 1, "masked_scatter": 3,
        "masked_scatter_backward": 4, "median": 9, "nms": 8, "scatter_reduce": 3, "smooth_l1_loss": 1, "soft_margin_loss_backward": 3, "topk": 1, "_unique2": 4}.items()},
    "_embedding_bag_backward": lambda args, results: ([(0, 256 * args[1].numel())], []),
    "randperm": lambda args, results: ([(0, 6 * bytes_of(results[0]))], []),
    "logsumexp": lambda args, results: ([bytes_of(args[0])], reduced(1)(args, results)[1]),
}
# What has no rule above asks for nothing, or for a few KiB, if measured programs called it. Names of the second part stand for others that were measured.
MEASURED = frozenset(measured()["operators"]) | set("adaptive_avg_pool2d batch_norm conv2d flatten index_put_ linear max_pool2d softmax".split())
