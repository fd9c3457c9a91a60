#!/bin/sh
# The wheel of `make wheel`, installed by pip into a clean environment: the binary and the Python module work there without a compiler,
# without root and from any folder. `make check-release` runs this.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAILED: $1" >&2; exit 1; }

wheel=$(make -s -C "$root" wheel | tail -n 1)
[ -s "$root/$wheel" ] || fail "there is no wheel: $wheel"
python3 -m venv "$dir/venv" && "$dir/venv/bin/pip" install -q --no-index --disable-pip-version-check "$root/$wheel" || fail "pip install $wheel"
cp "$root/tests/traces/pytorch/gnn.snapshot.pickle.gz" "$root/tests/traces/pytorch/refused/gpt.pickle.gz" "$dir" && cd "$dir" || exit 1
# PATH has nothing but the environment, and the build's libraries are not found by chance.
in_venv() { env -i PATH="$dir/venv/bin" HOME="$dir" "$@" >out 2>&1 || { cat out >&2; fail "$*"; }; }
in_venv gamut list strategies
in_venv gamut list atlases
grep -q '^h200 ' out || fail "the wheel has no atlas: $(cat out)"
in_venv gamut advise gnn.snapshot.pickle.gz --atlas h200
grep -q '^gnn: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True' out || fail "gamut advise says: $(cat out)"
in_venv gamut explain gpt.pickle.gz
grep -q '^Out of memory: 157 MiB asked for' out || fail "gamut explain says: $(cat out)"
in_venv gamut view gnn.snapshot.pickle.gz -o gnn.html
[ -s gnn.html ] || fail "gamut view writes no page"
library=$dir/venv/lib/gamut/libgamut_alloc.so
if [ -e "$library" ]; then
    in_venv python3 -c 'import gamut, os; print(os.path.realpath(gamut.path())); gamut.statistics()'
    [ "$(head -n 1 out)" = "$(readlink -f "$library")" ] || fail "gamut.path() is $(cat out)"
    in_venv python3 -c 'import gamut
try: gamut.serve("nosuch")
except ValueError as wrong: print(wrong)'
    grep -q "there is no strategy 'nosuch'" out || fail "gamut.serve says: $(cat out)"
fi
# An estimate, with the PyTorch that this python3 has.
torch=$(python3 -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))' 2>/dev/null)
for site in "$dir"/venv/lib/python3*/site-packages; do [ -z "$torch" ] || echo "$torch" >"$site/torch.pth"; done
if [ ! -e /dev/nvidiactl ] && "$dir/venv/bin/python3" -c 'import torch' 2>/dev/null; then
    echo 'import torch; torch.nn.Linear(1024, 1024).cuda()(torch.randn(64, 1024, device="cuda")).sum().backward()' >train.py
    in_venv python3 -m gamut.estimate --fits 1GiB train.py
    grep -q '^needs .* MiB reserved' out && grep -q '^  1GiB: fits$' out || fail "gamut.estimate says: $(cat out)"
else
    echo "gamut.estimate was not tried: there is no PyTorch, or there is a GPU"
fi
LD_TRACE_LOADED_OBJECTS=1 "$dir/venv/bin/gamut" | grep libgomp | grep -vq "=> $dir/venv" && fail "libgomp is not the wheel's"
echo "$wheel works"
