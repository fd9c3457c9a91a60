#!/bin/bash
# gamut.explain() of bench/inside/gamut, with a stand-in for PyTorch that refuses a request and dumps a recorded history.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
gamut=${GAMUT:-$root/build/gamut}
python=$(python3 -c 'import sys; print(sys.executable)') || { echo "skipped: there is no python3"; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $1" >&2; }

gzip -dc "$root/tests/traces/pytorch/refused/gpt.pickle.gz" >recorded.pickle
mkdir -p it/lib/gamut/python it/bin torch # as make install puts them
cp -r "$root/bench/inside/gamut" it/lib/gamut/python
ln -s "$(realpath "$gamut")" it/bin/gamut
cat >torch/torch.py <<'END'
import os, shutil
__version__ = "2.11"
OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch"})
class _C:
    _cuda_isHistoryEnabled = staticmethod(lambda: bool(cuda.memory.history))
class backends:
    class cuda:
        is_built = staticmethod(lambda: "WITHOUT_CUDA" not in os.environ)
class cuda:
    OutOfMemoryError = OutOfMemoryError
    calls, started = [], False
    def _lazy_call(call):
        call() if cuda.started else cuda.calls.append(call)
    class memory:
        history = None
        def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=1 << 62):
            assert cuda.started, "recording starts CUDA"
            cuda.memory.history = enabled and f"{stacks}, {max_entries} entries"
        def _dump_snapshot(file):
            shutil.copy(os.environ["RECORDED"], file)
            print("dumped", cuda.memory.history)
def empty(gib):
    cuda.started = True
    while cuda.calls:
        cuda.calls.pop()()
    if gib > 1:
        raise OutOfMemoryError("CUDA out of memory.")
END
export RECORDED=$dir/recorded.pickle PYTHONPATH=$dir/it/lib/gamut/python:$dir/torch PYTHONDONTWRITEBYTECODE=1

# runs EXIT: the program on stdin, into out and err
runs() {
    rm -f oom.*.pickle
    cat >program.py
    PATH=${SEARCH:-$PATH} "$python" program.py >out 2>err
    local rc=$?
    [ $rc = "$1" ] || fail "exit $rc instead of $1: $(cat program.py err)"
}
# explained: the lines of gamut explain stand once, below the traceback, and the snapshot is named
explained() {
    "$gamut" explain "$PWD"/oom.*.pickle >expected 2>/dev/null
    grep -q '^Out of memory: 157 MiB' expected || fail "gamut explain: $(cat expected)"
    grep -q "^Each block at that moment: gamut view $PWD/oom" expected || fail "no page: $(cat expected)"
    sed '1,/^torch.OutOfMemoryError: CUDA out of memory\.$/d' err | sed 1d | cmp -s - expected || fail "below the traceback: $(cat err)"
}

runs 1 <<'END'
import gamut, sys
gamut.explain()
assert "torch" not in sys.modules
import importlib.util # as libraries look for what is installed
assert importlib.util.find_spec("torch") and importlib.util.find_spec("turch") is None
import torch
assert not torch.cuda.started
torch.empty(1)
torch.empty(2)
END
explained
grep -qx 'dumped python, 100000 entries' out || fail "history: $(cat out)"

# A block: the history ends with it, and the program may go on. An error's cause counts.
runs 1 <<'END'
import gamut, torch
try:
    with gamut.explain(max_entries=7, stacks="all"):
        try:
            torch.empty(2)
        except torch.cuda.OutOfMemoryError as error:
            raise ValueError("the batch is too large") from error
except ValueError:
    assert torch.cuda.memory.history is None
with gamut.explain(max_entries=8), gamut.explain():
    torch.empty(2)
END
! python3 -c 'BaseException.add_note' 2>/dev/null || explained
grep -q '^Out of memory: 157 MiB' err || fail "a block: $(cat err)"
[ "$(cat out)" = "$(printf 'dumped all, 7 entries\ndumped python, 8 entries')" ] || fail "histories: $(cat out)"

# Another error, and a program that records by itself, are left alone.
runs 1 <<'END'
import gamut, torch
gamut.explain()
torch.empty(1)
raise ValueError("of the program")
END
[ "$(tail -1 err)" = "ValueError: of the program" ] && [ ! -s out ] || fail "another error: $(cat out err)"
runs 0 <<'END'
import gamut, sys, torch
torch.empty(1)
torch.cuda.memory._record_memory_history(max_entries=9)
with gamut.explain():
    pass
assert torch.cuda.memory.history == "all, 9 entries" and sys.excepthook is sys.__excepthook__
END

# What is missing is said.
WITHOUT_CUDA=1 runs 0 <<'END'
import gamut
gamut.explain()
import torch
END
grep -qx 'gamut.explain: this PyTorch is built without CUDA, so it has no history of its memory' err || fail "without CUDA: $(cat err)"
rm it/bin/gamut
SEARCH=$dir runs 1 <<'END'
import gamut, torch
gamut.explain()
torch.empty(2)
END
tail -1 err | grep -q "^gamut.explain: there is no gamut beside .*gamut/__init__.py or in PATH. Where there is one, run: gamut explain $PWD/oom" || fail "no gamut: $(cat err)"
[ -s "$(echo oom.*.pickle)" ] || fail "no snapshot"
exit $((failures > 0))
