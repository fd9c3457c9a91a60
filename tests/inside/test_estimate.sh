#!/bin/bash
# gamut.estimate: the trace that it writes, without PyTorch; then, where there is one, a program that runs with fake tensors.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${BUILD:-$root/build}
gamut=${GAMUT:-$build/gamut}
case $build in /*) ;; *) build=$PWD/$build ;; esac
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
gamut=$(realpath "$gamut")
cd "$dir" || exit 1
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $1" >&2; }
leave() { [ $failures = 0 ] || exit 1; echo "skipped: $1"; exit 77; }
command -v python3 >/dev/null || leave "there is no python3"
export GAMUT_LIBRARY=$build/libgamut_alloc.so PYTHONPATH=$root/bench/inside PYTHONDONTWRITEBYTECODE=1 PATH=$dir/bin:$PATH
mkdir bin && ln -s "$gamut" bin/gamut

# What a capture frees serves the next one of the pool, so the order counts; a workspace of cuBLAS is asked for once.
python3 - <<'END2' || fail "captures"
import types
import gamut.estimate as e
writer, made = e.TraceWriter(), e.estimate.__new__(e.estimate)
made.program, made.captures = types.SimpleNamespace(writer=writer, workspaces={"outside"}), {}
stack = (("serve.py:1 step", True),)
for name, mib in (("small", 30), ("large", 60)):
    with made.capture(name):
        assert made.program.workspaces == set()
        writer.alloc(32 << 20, stack, e.CUBLAS)
        writer.free(writer.alloc(mib << 20, stack))
assert made.program.workspaces == {"outside"}
held = [made.pool(order)["caching"] >> 20 for order in (("small", "large"), ("large", "small"), ("small",))]
assert held == [122, 92, 62], held
with made.capture("other", 1):  # on another stream, with a workspace and segments of its own
    writer.alloc(32 << 20, stack, e.CUBLAS)
    writer.free(writer.alloc(50 << 20, stack))
assert made.pool(("large", "small", "other"))["caching"] >> 20 == 92 + 82
del made.captures["other"]
assert made.best(tries=3) == (["large", "small"], 92 << 20), made.best(tries=3)
END2

# Sizes that are pairs are the least and the most; a category that is known later counts; kernels' own requests.
python3 - <<'END2' || fail "the writer"
import gamut.estimate
from gamut import kernels
writer = gamut.estimate.TraceWriter()
main, library = ("train.py:3 main", True), ("torch/nn/modules/module.py:9 _call_impl", False)
writer.phase("step")
weight = writer.alloc(4 << 20, (main, library))
held = writer.alloc((1 << 20, 30 << 20), (main,), "gradients")
writer.free(held)
writer.phase("step", ends=True)
writer.category[weight] = "parameters"
for most in (False, True):
    open(f"{most}.txt", "w").write(writer.text(most))
# Memory that the program gives back at first is not held at the peak: it only turns the order of the driver's addresses around.
assert "trim q0" in writer.text(True, 20 << 20) and gamut.estimate._answer(writer.text(True, 20 << 20)) == gamut.estimate._answer(writer.text())
class Tensor:
    def __init__(self, *shape, strides=None):
        self.shape, self.strides = shape, strides
    numel = lambda self: kernels.math.prod(self.shape)
    dim = lambda self: len(self.shape)
    element_size = lambda self: 4
    is_contiguous = lambda self: not self.strides
for rows, width, buffer in [(4096, 512, 16777216), (4096, 2048, 67108864), (4096, 16000, 139264000), (64, 512, 0)]:  # as measured on an H100
    assert kernels.sums([Tensor(rows, width), [0]], [Tensor(1, width)]) == ([], [buffer]), (rows, width)
for layer, reserve, workspace in [  # (mode, layers, hidden, width, length, rows, directions, dropout, bytes of a number, of weights), as measured
    (("LSTM", 2, 128, 64, 7, 32, 1, 0, 2, 462848), 631040, 17715712), (("GRU", 3, 1000, 64, 7, 64, 2, 0.1, 4, 169680000), 72128256, 252353792),
    (("LSTM", 3, 64, 64, 7, 5, 2, 0.1, 4, 1060864), 307200, 51727424), (("RNN", 1, 64, 200, 16, 64, 1, 0.1, 2, 34048), 131328, 10086144)]:
    exact, (low, high) = kernels.recurrent(*layer)
    assert exact == reserve and low <= workspace <= high, (layer, exact, low, high)
assert kernels.OPERATORS["roll"]([Tensor(8, 8, strides=(1, 8))], []) == ([256], [])
assert gamut.estimate._capacity("24GiB") == 24 << 30
END2
for most in False True; do
    gamut fit $most.txt -s caching -f json >$most.json || fail "fit of $most"
    gamut trace import $most.txt -o $most.trace 2>/dev/null >&2 && gamut trace show $most.trace >shown || fail "import of $most"
done
grep -q '"parameters: train.py:3 main > torch/nn' shown && grep -q '^begin q0 t0 name=' shown || fail "shown: $(cat shown)"
for want in "False 20971520" "True 52428800"; do
    grep -q "\"reserved_bytes\": ${want#* }," "${want% *}.json" || fail "reserved: $want: $(grep reserved_bytes ${want% *}.json)"
done

python3 -c 'import torch' 2>/dev/null || leave "there is no PyTorch"
[ -e /dev/nvidiactl ] && leave "this machine has a GPU"
cat >train.py <<'END2'
import sys
import torch
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for i in range(10):
    loss = model(torch.randn(int(sys.argv[1]), 1024, device="cuda")).square().flatten().sort().values.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("step", i, loss.item())
END2
python3 -m gamut.estimate --fits 1GiB,100MiB,rtx4090 train.py 512 >out 2>err || fail "estimate: $(cat err)"
grep -q '^needs .* to .* MiB reserved with default settings, .* to .* MiB with expandable_segments:True; the least: .* MiB$' out || fail "answer: $(cat out)"
grep -q '^  1GiB: fits$' out && grep -q '^  100MiB: does not fit$' out && grep -q '^  rtx4090: fits$' out || fail "fits: $(cat out)"
[ "$(grep -c '^step' out)" = 2 ] || fail "it ends in the third step: $(cat out)"
gamut trace import estimate.trace.txt -o train.trace 2>/dev/null >&2 && gamut trace info train.trace >info && grep -q 'optimizer' info || fail "info: $(cat info)"
for kind in parameters gradients "optimizer's state" activations temporaries inputs; do
    grep -q "^name .*\"$kind: " estimate.trace.txt || fail "no block is of the $kind"
done

# What a GPU does otherwise than fake tensors: autocast's attention, the layout of convolutions in bfloat16, the fast path of MultiheadAttention, small embeddings.
cat >rules.py <<'END2'
import gamut.estimate
from gamut import kernels
import torch
from torch.nn import functional as F
rules, seen = dict(kernels.OPERATORS), []
for name in list(rules) + ["_to_copy", "_scaled_dot_product_efficient_attention"]:
    kernels.OPERATORS[name] = lambda args, results, name=name: (seen.append((name, args, results)), rules[name](args, results) if name in rules else ([], []))[1]
with gamut.estimate(quiet=True) as made:
    q = torch.randn(2, 4, 64, 32, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        F.scaled_dot_product_attention(q, q, q)
    kinds = [name for name, *_ in seen]
    assert kinds.count("_to_copy") == 3 and kinds[-1] == "_scaled_dot_product_cudnn_attention", kinds
    # No kernel does all where the last dimension of a mask is strided, or, of half precision, needs a gradient, or where keys are shared in float32.
    def kernel(mask=None, keys=4, **more):
        q = torch.randn(2, 4, 62, 32, device="cuda", **more)
        F.scaled_dot_product_attention(q, *[torch.randn(2, keys, 62, 32, device="cuda", **more)] * 2, attn_mask=mask, enable_gqa=keys != 4)
        return next(name.split("attention")[0].split("product_")[-1] for name, *_ in seen[::-1] if name.startswith("_s"))
    half, bias = {"dtype": torch.bfloat16}, torch.randn(62, 62, 4, device="cuda").permute(2, 0, 1)[None]
    told = [kernel(), kernel(bias), kernel(keys=2), kernel(bias.contiguous()), kernel(**half), kernel(bias.bfloat16().contiguous().requires_grad_(), **half), kernel(keys=2, **half)]
    assert told == ["efficient_", "_safe_softmax", "_safe_softmax", "efficient_", "cudnn_", "efficient_", "cudnn_"], told
    mask = torch.arange(9, device="cuda") < torch.tensor([[9], [7]]).cuda()  # small, and made of what is known
    assert mask[0].all().item() and not mask.all().item() and torch.optim.Adam([torch.nn.Parameter(mask.float())])
    last = torch.channels_last
    conv, norm = torch.nn.Conv2d(8, 16, 3).cuda().bfloat16().to(memory_format=last), torch.nn.BatchNorm2d(16).cuda().bfloat16()
    out = norm(conv(torch.randn(2, 8, 16, 16, device="cuda", dtype=torch.bfloat16).contiguous(memory_format=last)))
    assert out.is_contiguous(memory_format=last), out.stride()
    layer = torch.nn.MultiheadAttention(64, 4, batch_first=True).cuda().eval()
    with torch.no_grad():
        x = torch.randn(2, 8, 64, device="cuda")
        layer(x, x, x, need_weights=False)
    assert seen[-1][0] == "_native_multi_head_attention" and rules[seen[-1][0]](*seen[-1][1:])[0] == [3 * 2 * 8 * 64 * 4], seen[-1][0]
    table = torch.nn.Embedding(100, 64).cuda()
    for count, extra in (3072, False), (3073, True):
        table(torch.randint(0, 100, (count,), device="cuda")).sum().backward()
        before, after = rules["embedding_dense_backward"](*[s for s in seen if s[0] == "embedding_dense_backward"][-1][1:])
        assert bool(before and after) == extra, (count, before, after)
    # Between measured numbers of rows a workspace lies on their line, or where the library changes its kernel, between both; other shapes are counted.
    known = kernels.measured()["convolutions"]["float32"]["64 64 3 3 1 1 1 1 1 1 1 56 56"]
    at = {rows: known[1][i] for i, rows in enumerate(known[0])}
    conv, sizes = torch.nn.Conv2d(64, 64, 3, padding=1).cuda(), {}
    for rows in (16, 20, 24):
        conv(torch.randn(rows, 64, 56, 56, device="cuda"))
        sizes[rows] = rules["convolution"](*[s for s in seen if s[0] == "convolution"][-1][1:])[1][0][-1]
    assert sizes[16] == at[16] and sizes[24] == at[24] and sizes[20] == (at[16] + at[24]) // 2, (sizes, at)
    assert kernels._from_rows(12, [100, 5000], [8, 16], [10, 0]) == (140, 4960)
    before = list(made.not_measured())
    conv(torch.randn(3, 64, 31, 37, device="cuda"))
    assert [made.not_measured()[-1]] == ["2 convolutions of other shapes"] and before[-1] == "1 convolutions of other shapes", made.not_measured()
    # Sizes that depend on values are as large as they can be, and the answer names the operator and the line.
    x = torch.randn(128, 64, device="cuda")
    assert x[x[:, 0] > 0].shape == (128, 64) and (x > 0).nonzero().shape == (8192, 2) and torch.masked_select(x, x > 0).shape == (8192,)
    assert torch.unique(x, return_inverse=True)[1].shape == x.shape and torch.where(x > 0)[1].shape == (8192,)
    try:
        torch.bincount(torch.randint(9, (5,), device="cuda"))
        raise SystemExit("bincount has a size")
    except RuntimeError as wrong:
        assert "rules.py:" in str(wrong) and "bincount" in str(wrong), wrong
assert "as large as they can be: index (rules.py:" in str(made) and "masked_select (rules.py:" in str(made), str(made)
print("ok")
END2
python3 rules.py >out 2>err && [ "$(cat out)" = ok ] || fail "rules: $(cat out err)"

# Recurrent layers of cuDNN: weights in one piece, what backward needs as known by formula. With values, sizes that depend on them are those of the CPU.
cat >values.py <<'END2'
import gamut.estimate
import torch
with gamut.estimate(quiet=True, real=True) as made:
    layer = torch.nn.LSTM(64, 128, 2, batch_first=True).cuda()
    assert len({w.untyped_storage()._cdata for w in layer.parameters()}) == 1
    out, (h, c) = layer(torch.randn(32, 7, 64, device="cuda"))
    sizes = lambda: [event[2] for event in made.program.writer.events if event[0] == "alloc"]
    assert out.shape == (32, 7, 128) and h.shape == (2, 32, 128) and 11 * 7 * 32 * 128 * 4 + 256 in sizes(), sizes()
    out.sum().backward()
    assert sum(isinstance(size, tuple) for size in sizes()) == 3 and layer.weight_hh_l1.grad.shape == (512, 128), sizes()
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.randn(3, 5, 64, device="cuda"), torch.tensor([5, 3, 1]), batch_first=True)
    assert layer(packed)[0].data.shape == (9, 128)
    x = torch.arange(6.0, device="cuda").view(2, 3)
    x[1].mul_(2)  # a view of what was made
    assert (x > 3).nonzero().tolist() == [[1, 0], [1, 1], [1, 2]] and x[x > 7].shape == (2,) and x.t().sum(1)[2].item() == 12
    assert torch.bincount(x.flatten().long()).shape == (11,) and torch.unique(x[0] > 0).shape == (2,)
assert "depends on values" not in str(made), str(made)
print("ok")
END2
python3 values.py >out 2>err && [ "$(cat out)" = ok ] || fail "values: $(cat out err)"
exit $((failures > 0))
