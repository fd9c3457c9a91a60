"""run.py OUT MODE RUNS SECONDS PROGRAM...: runs programs of PyTorch, each in a process of its own, and writes what their pools reserved.

MODE record: PyTorch's own allocator, with its log. async: PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync, which the caller sets; the steps of one
program at a time. log: the same under LD_PRELOAD=log.so, made by: cc -shared -fPIC -I/usr/local/cuda/include log.c -o log.so"""
import sys, os, json, time, ctypes, multiprocessing as mp
out, mode, runs, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
programs = sys.argv[5:]
began = time.time()
import torch, torch._dynamo, torchvision, torch.optim
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import serve_programs as sp, more_programs as extra, unseen_programs as unseen, heldout_programs as heldout
lock, gate = mp.Lock(), mp.Semaphore(16 if mode == "record" else 4)
def one(name, run):
    os.environ["SHIM_LOG"] = f"{out}/{name}.{run}.shim"
    if name in ("graph", "gat", "gin"): import torch_geometric.nn
    gate.acquire()
    if True:
        if time.time() - began > seconds: (gate.release(), os._exit(3))
        torch.cuda.init(); torch.cuda.current_stream()
        if mode != "record": lock.acquire()
        if time.time() - began > seconds: (lock.release() if mode != 'record' else 0, gate.release(), os._exit(3))
        t = time.time()
        if mode == "record": torch.cuda.memory._record_memory_history(enabled="all", context=None, max_entries=10**7)
        wait, loss, peaks = sp.prepare(name, "default")
        step = getattr(next(m for m in (sp, extra, unseen, heldout) if hasattr(m, name)), name)()
        held, used = [], []
        for i in range(6):
            l = step(i)
            if i == 5 or not (hasattr(unseen, name) or hasattr(heldout, name)): wait()
            held.append(peaks()[0]); used.append(peaks()[1])
        r = {"program": name, "mode": mode, "run": run, "reserved_peak": peaks()[0], "allocated_peak": peaks()[1], "held": held, "used": used, "seconds": time.time() - t}
        s = torch.cuda.memory_stats()
        r["stats"] = {k: s[k] for k in ("reserved_bytes.all.current", "reserved_bytes.all.peak", "active_bytes.all.peak") if k in s}
        if mode != "record":
            rt = ctypes.CDLL("libcudart.so.13"); pool = ctypes.c_void_p(); v = ctypes.c_ulonglong()
            rt.cudaDeviceGetDefaultMemPool(ctypes.byref(pool), 0)
            for a, k in ((5, "reserved_current"), (6, "reserved_high"), (7, "used_current"), (8, "used_high")):
                rt.cudaMemPoolGetAttribute(pool, a, ctypes.byref(v)); r["pool_" + k] = v.value
            for a, k in ((0, "used_current"), (1, "used_high"), (2, "reserved_current"), (3, "reserved_high")):
                rt.cudaDeviceGetGraphMemAttribute(0, a, ctypes.byref(v)); r["graph_" + k] = v.value
            lock.release(); gate.release()
        else:
            import pickle, gzip
            with gzip.open(f"{out}/{name}.pickle.gz", "wb", 3) as f: pickle.dump(torch.cuda.memory._snapshot(), f)
        if os.environ.get("LD_PRELOAD"): ctypes.CDLL(None).shim_mark(99)
        json.dump(r, open(f"{out}/{name}.{run}.{mode}.json", "w"))
        sys.stdout.flush(); os._exit(0)
def guarded(name, run):
    try: one(name, run)
    except BaseException:
        import traceback; traceback.print_exc(); sys.stderr.flush()
        for l in (lock, gate):
            try: l.release()
            except ValueError: pass
        os._exit(1)
ctx = mp.get_context("fork")
ps = []
for run in range(runs):
    for name in programs:
        p = ctx.Process(target=guarded, args=(name, run)); p.start(); ps.append(p)
        while sum(p.is_alive() for p in ps) > 12: time.sleep(0.02)
for p in ps: p.join(max(0.1, seconds + 10 - (time.time() - began)))
for p in ps:
    if p.is_alive(): p.kill()
print(mode, "took", time.time() - began)
