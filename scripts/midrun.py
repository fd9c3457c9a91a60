"""Records PyTorch programs that run already: from a random event on, under settings of its allocator.

    scripts/midrun.py FOLDER [--jobs 5] [--seed 1] [--only PROGRAM,...]
    scripts/midrun.py --check GAMUT FOLDER...     how exact gamut's replay of each recording is, as CSV; needs no PyTorch
    scripts/midrun.py --others GAMUT FOLDER       how near replays under the other settings come to what PyTorch held with them, as CSV

Each recording is PROGRAM.SETTING.pickle.gz, with what PyTorch's own counters say in PROGRAM.SETTING.json.
The setting "drawn" is a combination that the seed draws. Every program first runs under the default setting, to count
its ticks (the places where a recording may begin) and its peaks. Some recordings have calls of empty_cache, some a limit of memory that refuses requests.
"""
import argparse
import concurrent.futures
import csv
import ctypes
import glob
import gzip
import json
import os
import random
import subprocess
import sys
import threading
import time

SETTINGS = {
    "default": "",
    "expandable": "expandable_segments:True",
    "split": "max_split_size_mb:128",
    "divisions": "roundup_power2_divisions:4",
    "by_size": "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
    "rounding": "max_split_size_mb:64,max_non_split_rounding_mb:32",
    "collect": "garbage_collection_threshold:0.6",
    "collect_split": "garbage_collection_threshold:0.5,max_split_size_mb:200",
    "expandable_split": "expandable_segments:True,max_split_size_mb:128",
    "expandable_divisions": "expandable_segments:True,roundup_power2_divisions:8",
    "segment": "large_segment_size_mb:32",
}


# ---- programs: each calls tick() where a recording may begin, and step() after an iteration ----


def watch(model, tick):
    """Ticks before and after each module, forward and backward."""
    for module in model.modules():
        if hasattr(module, "inplace"):
            module.inplace = False  # hooks need outputs of their own
        if next(module.children(), None) is None:
            module.register_forward_pre_hook(lambda *_: tick())
            module.register_forward_hook(lambda *_: tick())
            if "BatchNorm" not in type(module).__name__:  # a residual adds to its output in place
                module.register_full_backward_hook(lambda *_: tick())
    return model


def train(model, optimizer, batches, loss_of, tick, step):
    for batch in batches:
        optimizer.zero_grad()
        loss = loss_of(model, batch)
        tick()
        loss.backward()
        tick()
        optimizer.step()
        step()


def gpt(tick, step, rng):
    import torch
    from torch import nn

    layers = [nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True) for _ in range(4)]
    model = watch(nn.Sequential(nn.Embedding(8000, 512), *layers, nn.Linear(512, 8000)).cuda(), tick)
    sizes = [(rng.randint(2, 8), rng.randint(64, 768)) for _ in range(14)]

    def loss_of(model, size):
        ids = torch.randint(0, 8000, size, device="cuda")
        return nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())

    train(model, torch.optim.AdamW(model.parameters()), sizes, loss_of, tick, step)


def resnet(tick, step, rng):
    import torch
    import torchvision

    model = watch(torchvision.models.resnet34().cuda(), tick)
    sizes = [(rng.randint(4, 40), 3, *[rng.choice([160, 192, 224, 256])] * 2) for _ in range(9)]
    train(model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9), sizes,
          lambda model, size: model(torch.randn(size, device="cuda")).square().mean(), tick, step)


def unet(tick, step, rng):
    import torch
    from torch import nn

    def block(a, b):
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())

    class Unet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList([block(3, 32), block(32, 64), block(64, 128)])
            self.up = nn.ModuleList([block(128, 64), block(128, 32), block(64, 3)])

        def forward(self, x):
            skips = []
            for down in self.down:
                x = down(x)
                skips.append(x)
                x = nn.functional.max_pool2d(x, 2)
            for i, up in enumerate(self.up):
                x = up(x)
                x = nn.functional.interpolate(x, scale_factor=2.0)
                if i < 2:
                    x = torch.cat([x, skips[1 - i][:, :, : x.shape[2]][..., : x.shape[3]]], 1) if (
                        x.shape[2:] == skips[1 - i].shape[2:]) else torch.cat(
                        [x, nn.functional.interpolate(skips[1 - i], size=x.shape[2:])], 1)
            return x

    model = watch(Unet().cuda(), tick)
    sizes = [(rng.randint(2, 8), 3, *[16 * rng.randint(8, 28)] * 2) for _ in range(20)]
    train(model, torch.optim.Adam(model.parameters()), sizes,
          lambda model, size: model(torch.randn(size, device="cuda")).square().mean(), tick, step)


def lstm(tick, step, rng):
    import torch
    from torch import nn

    model = watch(nn.LSTM(256, 512, num_layers=2, batch_first=True).cuda(), tick)
    sizes = [(rng.randint(8, 64), rng.randint(20, 400), 256) for _ in range(40)]
    train(model, torch.optim.Adam(model.parameters()), sizes,
          lambda model, size: model(torch.randn(size, device="cuda"))[0].square().mean(), tick, step)


def gnn(tick, step, rng):
    import torch
    from torch import nn

    model = watch(nn.ModuleList([nn.Linear(128, 128) for _ in range(4)]).cuda(), tick)
    sizes = [(rng.randint(2000, 60000), rng.randint(3, 12)) for _ in range(40)]

    def loss_of(model, size):
        nodes, degree = size
        x = torch.randn(nodes, 128, device="cuda")
        source, target = torch.randint(0, nodes, (2, nodes * degree), device="cuda")
        for layer in model:
            x = torch.zeros_like(x).index_add(0, target, layer(x)[source]).relu()
        return x.mean()

    train(model, torch.optim.Adam(model.parameters()), sizes, loss_of, tick, step)


def evaluate(tick, step, rng):
    import torch
    from torch import nn

    model = watch(nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(1024, 1024), nn.GELU())]).cuda(), tick)
    optimizer = torch.optim.AdamW(model.parameters())
    for i in range(36):
        train(model, optimizer, [rng.randint(500, 9000)],
              lambda model, rows: model(torch.randn(rows, 1024, device="cuda")).square().mean(), tick, step)
        if i % 3 == 2:
            with torch.no_grad():
                scores = [model(torch.randn(rng.randint(20000, 90000), 1024, device="cuda")).mean(1) for _ in range(2)]
                torch.cat(scores).sort()
            step()


def experts(tick, step, rng):
    import torch
    from torch import nn

    model = watch(nn.ModuleList([nn.Linear(512, 512) for _ in range(9)]).cuda(), tick)

    def loss_of(model, tokens):
        x = torch.randn(tokens, 512, device="cuda")
        choice = model[8](x)[:, :8].argmax(1)
        parts = [nn.functional.gelu(model[i](x[choice == i])) for i in range(8)]
        return torch.cat(parts).square().mean()

    train(model, torch.optim.Adam(model.parameters()), [rng.randint(2000, 120000) for _ in range(30)], loss_of, tick, step)


def generate(tick, step, rng):
    import torch

    weights = [torch.randn(1024, 3072, device="cuda") / 32 for _ in range(8)]
    for _ in range(6):
        rows, tokens = rng.randint(1, 16), rng.randint(20, 60)
        caches = [torch.randn(rows, rng.randint(50, 400), 2048, device="cuda") for _ in weights]
        for _ in range(tokens):
            x = torch.randn(rows, 1, 1024, device="cuda")
            for i, w in enumerate(weights):
                q, k, v = (x @ w).chunk(3, -1)
                caches[i] = torch.cat([caches[i], torch.cat([k, v], -1)], 1)
                k, v = caches[i].chunk(2, -1)
                x = x + (q @ k.transpose(1, 2) / 32).softmax(-1) @ v
                tick()
        del caches
        step()


def streams(tick, step, rng):
    import torch

    side = torch.cuda.Stream()
    kept = []
    for _ in range(120):
        rows = rng.randint(256, 6000)
        a = torch.randn(rows, 1024, device="cuda")
        tick()
        with torch.cuda.stream(side):
            side.wait_stream(torch.cuda.default_stream())
            b = a @ a[:1024].T if rows >= 1024 else a * 2
            a.record_stream(side)
            c = b.relu()
            tick()
        torch.cuda.default_stream().wait_stream(side)
        c.record_stream(torch.cuda.default_stream())
        kept.append(c[:8].clone())
        d = c.sum()
        del a, b, c, d
        if len(kept) > 20:
            kept = kept[10:]
        step()


def graphs(tick, step, rng):
    import torch
    from torch import nn

    model = watch(nn.Sequential(*[m for _ in range(4) for m in (nn.Linear(1024, 1024), nn.ReLU())]).cuda(), lambda: None)
    captured = []
    with torch.no_grad():
        for i in range(18):
            rows = rng.randint(100, 20000)
            x = torch.randn(rows, 1024, device="cuda")
            for _ in range(3):
                y = model(x).softmax(1)
                tick()
            if i % 3 == 0:
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                static = torch.randn(rows, 1024, device="cuda")
                with torch.cuda.graph(graph):
                    out = model(static)
                captured.append((graph, static, out))
            if len(captured) > 3:
                captured.pop(0)
            for graph, static, out in captured:
                graph.replay()
                kept = out.clone()
                tick()
            step()


def churn(tick, step, rng):
    import torch

    live = {}
    for i in range(5000):
        if live and rng.random() < 0.5 + len(live) / 800:
            del live[rng.choice(list(live))]
        else:
            live[i] = torch.empty(int(min(3e8, rng.lognormvariate(13, 2.5))) + 1, dtype=torch.uint8, device="cuda")
        tick()
        if i % 250 == 249:
            step()


def diffusion(tick, step, rng):
    import torch
    from torch import nn

    model = watch(nn.Sequential(*[m for c in (64, 128, 128) for m in (nn.LazyConv2d(c, 3, padding=1), nn.GroupNorm(8, c), nn.SiLU())]).cuda(), tick)
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        for _ in range(8):
            side = 8 * rng.randint(16, 60)
            x = torch.randn(rng.randint(1, 6), 4, side, side, device="cuda")
            for _ in range(6):
                x = x + model(x)[:, :4]
            image = nn.functional.interpolate(x, scale_factor=4.0).sigmoid()
            step()
            del image


def embeddings(tick, step, rng):
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tables = nn.ModuleList([nn.EmbeddingBag(rng.randint(1000, 400000), 64, sparse=True) for _ in range(12)])
            self.top = nn.Sequential(nn.Linear(12 * 64, 512), nn.ReLU(), nn.Linear(512, 1))

        def forward(self, ids):
            return self.top(torch.cat([t(i % t.num_embeddings) for t, i in zip(self.tables, ids)], 1))

    model = watch(Model().cuda(), tick)
    sizes = [(12, rng.randint(500, 40000), rng.randint(1, 20)) for _ in range(30)]
    train(model, torch.optim.SGD(model.parameters(), 0.1), sizes,
          lambda model, size: model(torch.randint(0, 1 << 30, size, device="cuda")).square().mean(), tick, step)


PROGRAMS = {f.__name__: f for f in (gpt, resnet, unet, lstm, gnn, evaluate, experts, generate, streams, graphs, churn, diffusion, embeddings)}


# ---- one run ----


def take_ballast(leave_bytes):
    """Takes memory from the driver, so that so much is left."""
    import torch

    free, _ = torch.cuda.mem_get_info()
    pointer = ctypes.c_uint64()
    code = ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(free - leave_bytes))
    assert code == 0, code


def one(plan):
    import torch

    torch.cuda.init()
    torch.manual_seed(plan["seed"])
    total = torch.cuda.get_device_properties(0).total_memory
    if plan.get("limit"):
        torch.cuda.set_per_process_memory_fraction(plan["limit"] / total)
    if plan.get("leave"):
        torch.empty(1, device="cuda")
        take_ballast(plan["leave"])
    truth = dict(plan, torch=torch.__version__, device=torch.cuda.get_device_name(), total_memory=total, status="ok",
                 empty_cache_after=[], ticks=0, steps=0)
    dice = random.Random(plan["seed"] + 1)

    def begin():
        truth["reserved_at_start"] = torch.cuda.memory_reserved()
        truth["allocated_at_start"] = torch.cuda.memory_allocated()
        torch.cuda.memory.reset_peak_memory_stats()
        truth["retries_at_start"] = torch.cuda.memory_stats()["num_alloc_retries"]
        torch.cuda.memory._record_memory_history("all", **plan["record"])

    def tick():
        truth["ticks"] += 1
        if truth["ticks"] == plan["start"]:
            if plan["jitter"]:  # begins while the program goes on
                threading.Timer(dice.random() * 0.004, begin).start()
            else:
                begin()

    def step():
        truth["steps"] += 1
        tick()
        if dice.random() < plan["empty_cache"]:
            truth["empty_cache_after"].append(truth["steps"])
            torch.cuda.empty_cache()

    try:
        PROGRAMS[plan["program"]](tick, step, random.Random(plan["seed"]))
        torch.cuda.synchronize()
    except torch.cuda.OutOfMemoryError as e:
        truth["status"], truth["message"] = "oom", str(e)
    stats = torch.cuda.memory_stats()
    truth.update(reserved_peak=stats["reserved_bytes.all.peak"], allocated_peak=stats["allocated_bytes.all.peak"],
                 reserved_at_end=stats["reserved_bytes.all.current"], retries=stats["num_alloc_retries"],
                 ooms=stats["num_ooms"], device_allocs=stats["num_device_alloc"], device_frees=stats["num_device_free"])
    if plan["start"]:
        torch.cuda.memory._dump_snapshot(plan["path"] + ".pickle")
        with open(plan["path"] + ".pickle", "rb") as raw, gzip.open(plan["path"] + ".pickle.gz", "wb", 9) as packed:
            packed.write(raw.read())
        os.remove(plan["path"] + ".pickle")
    with open(plan["path"] + ".json", "w") as file:
        json.dump({k: v for k, v in truth.items() if k != "path"}, file)


# ---- all runs ----


def launch(plan):
    environment = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=plan["conf"])
    began = time.time()
    try:
        done = subprocess.run([sys.executable, __file__, "--one", json.dumps(plan)], env=environment, text=True,
                              capture_output=True, timeout=150)
        said = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    except subprocess.TimeoutExpired:
        said = ["took too long"]
    name = os.path.basename(plan["path"])
    print(f"{name:40} {time.time() - began:5.1f} s  {' '.join(said) or 'ok'}", flush=True)
    if said:
        return None
    with open(plan["path"] + ".json") as file:
        return json.load(file)


RECORDS = [{"context": None}] * 4 + [{"context": "all", "stacks": "python"}, {"context": "state", "stacks": "python"},
                                     {"context": "alloc", "stacks": "python"}, {"context": None, "max_entries": 1500}]


def drawn(dice):
    """Two to four words of PYTORCH_CUDA_ALLOC_CONF that PyTorch takes together."""
    words = ["expandable_segments:True", dice.choice(["max_split_size_mb:64", "max_split_size_mb:200"]),
             dice.choice(["roundup_power2_divisions:4", "roundup_power2_divisions:[256:2,1024:4,>:8]"]),
             dice.choice(["garbage_collection_threshold:0.5", "garbage_collection_threshold:0.8"]),
             dice.choice(["large_segment_size_mb:12", "large_segment_size_mb:64"])]
    return ",".join(sorted(dice.sample(words, dice.randint(2, 4)), key=words.index))


def plans_of(program, probe, dice, folder, seed):
    """A recording under each setting, at the same tick."""
    start = dice.randint(probe["ticks"] // 6, probe["ticks"] * 2 // 3)
    spare = probe["reserved_peak"] - probe["allocated_peak"]
    for setting, conf in {**SETTINGS, "drawn": drawn(random.Random(f"{seed} {program}"))}.items():
        plan = {"program": program, "conf": conf, "seed": seed, "start": start, "jitter": dice.random() < 0.4,
                "empty_cache": 0.15 if dice.random() < 0.35 else 0, "record": dice.choice(RECORDS),
                "path": f"{folder}/{program}.{setting}"}
        kind = dice.random()
        if "garbage_collection" in conf:
            plan["limit"] = probe["allocated_peak"] + int(spare * dice.uniform(0.2, 1)) + (64 << 20)
        elif kind < 0.25:
            plan["limit"] = probe["allocated_peak"] + int(spare * dice.uniform(0.1, 0.6))
        elif kind < 0.32:
            plan["limit"] = int(probe["allocated_peak"] * dice.uniform(0.8, 0.97))
        yield plan


def record(plan):
    """A limit may end the program before the recording begins: then it begins earlier."""
    truth = launch(plan)
    if truth and "reserved_at_start" not in truth:
        truth = launch(dict(plan, start=max(1, truth["ticks"] // 3)))
    return truth


def reason_of(trace, truth):
    """Why a replay cannot be held against the counters, or nothing."""
    if "reason" in trace:
        return trace["reason"]
    logged, peak = trace["logged_peak_bytes"], truth["reserved_peak"]
    lost = logged < peak and "max_entries" in truth["record"]  # the ring may begin after the peak
    return "" if logged == peak or lost else f"the log holds {logged} bytes at its peak"


def check(gamut, folders):
    """A line for each recording: PyTorch's peak, how many of the driver's calls the replay agrees with, and the largest difference."""
    truths = {}
    for path in sorted(path for folder in folders for path in glob.glob(f"{folder}/*.json")):
        with open(path) as file:
            truth = json.load(file)
        if "reserved_at_start" in truth:
            truths[path[:-4] + "pickle.gz"] = truth
    said = subprocess.run([gamut, "advise", *truths, "--format", "json"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    traces = [advice["traces"][0] for advice in json.loads(said.stdout)["advice"]]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["seed", "program", "setting", "conf", "device", "torch", "peak_bytes", "calls", "equal_calls", "most_off_bytes", "reason"])
    for path, truth in truths.items():
        # gamut names a trace by as much of its path as tells it from the others
        trace = next(t for t in traces if f"/{path}".endswith("/" + t["trace"]) or t["trace"] == truth["program"])
        out.writerow([truth["seed"], truth["program"], os.path.basename(path).split(".")[1], truth["conf"], truth["device"], truth["torch"],
                      truth["reserved_peak"], *(trace.get(key) for key in ("compared_driver_calls", "equal_driver_calls", "most_off_bytes")),
                      reason_of(trace, truth)])


def others(gamut, folder):
    """A line for each recording and other setting under which the program was recorded from the same tick on, both without a limit and
    calls of empty_cache: the peak that a replay predicts for the setting, and the one that PyTorch then had."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["program", "recorded", "setting", "device", "torch", "predicted_bytes", "peak_bytes"])
    truths = []
    for path in sorted(glob.glob(f"{folder}/*.json")):
        with open(path) as file:
            truth = json.load(file)
        if "reserved_at_start" in truth and truth["status"] == "ok" and not truth.get("limit") and not truth["empty_cache"]:
            truths.append((path[:-4] + "pickle.gz", truth))
    for path, recorded in truths:
        same = [t for _, t in truths if t["program"] == recorded["program"] and t["start"] == recorded["start"] and t["conf"] != recorded["conf"]]
        names = {("vmm" if "expandable_segments:True" in t["conf"] else "caching") + ":conf={" + t["conf"] + "}": t for t in same}
        for name, truth in names.items():
            said = subprocess.run([gamut, "replay", path, "--strategy", name, "--no-save", "--format", "json"], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            case = json.loads(said.stdout)["cases"][0]
            if case["status"] == "ok":
                out.writerow([truth["program"], recorded["conf"], truth["conf"], truth["device"], truth["torch"],
                              case["counters"]["cold"]["peak_reserved_bytes"], truth["reserved_peak"]])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--jobs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    a = parser.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    dice = random.Random(a.seed)
    programs = a.only.split(",")
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        probes = list(pool.map(launch, [{"program": p, "conf": "", "seed": a.seed, "start": 0, "jitter": False, "empty_cache": 0,
                                         "path": f"{a.folder}/{p}.probe"} for p in programs]))
        plans = [plan for p, probe in zip(programs, probes) if probe for plan in plans_of(p, probe, dice, a.folder, a.seed)]
        truths = list(pool.map(record, plans))
        # the driver itself refuses: one at a time, because the memory that is left is the device's
        for p, probe in list(zip(programs, probes))[:: max(1, len(programs) // 4)]:
            if probe:
                spare = probe["reserved_peak"] - probe["allocated_peak"]
                record({"program": p, "conf": "", "seed": a.seed, "start": probe["ticks"] // 3, "jitter": False, "empty_cache": 0,
                        "leave": probe["allocated_peak"] + int(spare * 0.5), "record": {"context": "all", "stacks": "python"},
                        "path": f"{a.folder}/{p}.full"})
    print(f"{sum(t is not None for t in truths)} of {len(truths)} recordings")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(json.loads(sys.argv[2]))
    elif sys.argv[1:2] == ["--check"]:
        check(sys.argv[2], sys.argv[3:])
    elif sys.argv[1:2] == ["--others"]:
        others(*sys.argv[2:4])
    else:
        main()
