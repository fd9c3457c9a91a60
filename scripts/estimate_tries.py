#!/usr/bin/env python3
"""What decides memory beside the requests of a program, tried on a GPU: an option for captures, torch.compile's graphs, cuDNN's benchmark.

    estimate_tries.py reuse FOLDER SEED ORDER side|plain    captures a decoder, with streams beside the main one or without; PYTORCH_CUDA_ALLOC_CONF has the option
    estimate_tries.py compiled FOLDER mlp|gpt|train         a model under torch.compile(mode="reduce-overhead"), with the allocator's history
    estimate_tries.py benchmark FOLDER PROGRAM on|off       a program of estimate_programs.py under torch.backends.cudnn.benchmark
    estimate_tries.py judge FOLDER                          without a GPU: prints results/data/estimate-tries.json

PYTHONPATH names the module gamut.
"""
import gc
import glob
import gzip
import json
import os
import pickle
import random
import sys

import estimate_programs as E


def by_pool():
    import torch
    found = {}
    for segment in torch.cuda.memory_snapshot():
        key = str(tuple(segment["segment_pool_id"]))
        found[key] = found.get(key, 0) + segment["total_size"]
    return found


def reuse(seed, order, kind):
    """A decoder whose layers use a stream beside the main one, and record_stream, captured into one pool."""
    import torch
    from torch.nn import functional as F

    class Side(E.Decoder):
        def step(self, rows):
            main = torch.cuda.current_stream()
            x = self.words(self.tokens[:rows])
            for layer, (keys, values) in zip(self.layers, self.cache):
                q, k, v = layer["qkv"](layer["norm"](x)).view(rows, 3, self.heads, 1, -1).unbind(1)
                keys[:rows, :, -1:] = k
                values[:rows, :, -1:] = v
                y = (q @ keys[:rows].transpose(-1, -2) / 8).softmax(-1) @ values[:rows]
                h = layer["norm"](x)
                self.side.wait_stream(main)
                with torch.cuda.stream(self.side):
                    z = layer["down"](F.gelu(layer["up"](h)))
                    h.record_stream(self.side)
                main.wait_stream(self.side)
                z.record_stream(main)
                x = x + layer["out"](y.reshape(rows, -1)) + z
                del h, z
            return (x @ self.words.weight.t()).float()

    with torch.no_grad():
        decoder = (Side if kind == "side" else E.Decoder)(random.Random(seed))
        decoder.side = torch.cuda.Stream()
        with torch.cuda.stream(torch.cuda.Stream()):
            for rows in decoder.sizes:
                decoder.step(rows)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        pool, kept, streams = torch.cuda.graph_pool_handle(), [], [torch.cuda.Stream() for _ in range(2)]
        for rows in decoder.orders(seed)[order.split(",")[0]]:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool, stream=streams[decoder.sizes.index(rows) % 2 if "two" in order else 0]):
                output = decoder.step(rows)
            kept.append((graph, output))
        return {"held": by_pool()[str(tuple(pool))]}


def compiled(name, folder):
    """The bytes of each pool after each call, and the history."""
    import torch
    from torch import nn
    torch.manual_seed(1)
    states = []
    torch.cuda.memory._record_memory_history(max_entries=400000, stacks="python")

    def mark(what):
        torch.cuda.synchronize()
        gc.collect()
        states.append([what, by_pool(), len(torch.cuda.memory._snapshot()["device_traces"][0])])

    if name == "mlp":
        model = nn.Sequential(*(part for _ in range(4) for part in (nn.Linear(2048, 2048), nn.GELU(), nn.LayerNorm(2048)))).cuda().eval()
        inputs = [torch.randn(rows, 2048, device="cuda") for rows in (4096, 1024)]
    elif name == "gpt":
        model = E.blocks()[1](768, 6).to("cuda", torch.bfloat16).eval()
        inputs = [torch.randint(0, 16000, (rows, 512), device="cuda") for rows in (4, 8, 2)]
    else:
        model = E.blocks()[1](512, 4).cuda()
        inputs = [torch.randint(0, 16000, (8, 513), device="cuda")]
    call = torch.compile(model, mode="reduce-overhead", **({"dynamic": False} if name == "gpt" else {}))
    mark("start")
    for i, x in enumerate(inputs):
        for what in ("warm-up", "capture", "replay", "replay again"):
            torch.compiler.cudagraph_mark_step_begin()
            if name == "train":
                loss = nn.functional.cross_entropy(call(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
                loss.backward()
                model.zero_grad()
                del loss
            else:
                with torch.no_grad():
                    y = call(x)
                del y
            mark(f"{i} {what}")
    snapshot = torch.cuda.memory._snapshot()
    with gzip.open(f"{folder}/compiled.{name}.pickle.gz", "wb") as file:
        pickle.dump({"states": states, "trace": [[e["action"], e["addr"], e["size"], e["stream"]] for e in snapshot["device_traces"][0]],
                     "segments": [(s["address"], s["total_size"], s["stream"], tuple(s["segment_pool_id"])) for s in snapshot["segments"]]}, file)
    return states


def benchmark(name, on):
    import torch
    torch.backends.cudnn.benchmark = on == "on"
    torch.cuda.reset_peak_memory_stats()
    E.run(name, 168454)
    return {"reserved": torch.cuda.memory_stats()["reserved_bytes.all.peak"]}


def replayed(file, until):
    """The bytes of the graphs' pool after so many events of a history, as gamut replays them."""
    from gamut import estimate
    writer, live = estimate.TraceWriter(), {}
    segments = [s for s in file["segments"] if s[3] != (0, 0)]
    for action, at, size, stream, *_ in file["trace"][:until]:
        if stream == segments[0][2] and any(begin <= at < begin + count for begin, count, *_ in segments):
            if action == "alloc":
                live[at] = writer.alloc(size, ())
            elif action == "free_completed" and at in live:
                writer.free(live.pop(at))
    return estimate._answer(writer.text())["caching"][0]


def judge(folder):
    rows = [json.load(open(file)) for file in sorted(glob.glob(f"{folder}/*.json"))]
    found = {"device": rows[0]["device"], "torch": "2.11.0", "reuse": {}, "benchmark": {}, "compiled": []}
    for row in rows:
        what, *more = row["what"]
        conf = row["conf"].split(",")
        if what == "reuse":
            key = f"{more[2]}, {more[1].replace(',two', ' on two streams')}, {'vmm' if 'expandable_segments:True' in conf else 'caching'}"
            found["reuse"].setdefault(key, {})["on" if "graph_capture_record_stream_reuse:True" in conf else "off"] = row["result"]["held"]
        elif what == "benchmark":
            found["benchmark"].setdefault(more[0], {}).setdefault("vmm" if row["conf"] else "caching", {})[more[1]] = row["result"]["reserved"]
        elif what == "compiled":
            with gzip.open(f"{folder}/compiled.{more[0]}.pickle.gz") as file:
                file = pickle.load(file)
            held = {state: (sum(size for pool, size in pools.items() if pool != "(0, 0)"), at) for state, pools, at in file["states"]}
            for i in range(len(held) // 4):
                warm, capture = (next(held[key] for key in held if key.startswith(f"{i} ") and word in key) for word in ("warm", "capture"))
                found["compiled"].append({"model": more[0], "input": i, "after_warm_up": warm[0], "replayed": replayed(file, warm[1]), "after_capture": capture[0], "capture_replayed": replayed(file, capture[1])})
    print(json.dumps(found, indent=1))


def main():
    what, folder, *more = sys.argv[1:]
    if what == "judge":
        return judge(folder)
    import torch
    conf = os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")
    result = {"reuse": lambda: reuse(int(more[0]), *more[1:]), "compiled": lambda: compiled(*more, folder), "benchmark": lambda: benchmark(*more)}[what]()
    with open(f"{folder}/{'_'.join([what, *more, conf]).replace(':', '=')}.json", "w") as file:
        json.dump({"what": [what, *more], "conf": conf, "device": torch.cuda.get_device_name(0), "result": result}, file)


if __name__ == "__main__":
    main()
