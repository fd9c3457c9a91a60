"""Programs for serve_rounds: each makes its model, and returns a function of a step that returns its loss as a tensor."""

# By framework: what a process imports before it is forked off. Nothing of it may call the driver, as torch_geometric does (by torch.__config__).
IMPORTS = {"torch": ["torch", "torch._dynamo", "torchvision", "torch.optim"], "cupy": ["cupy"]}

# What makes a framework ask the driver for each tensor, so that its requests can be recorded as those of the driver.
UNCACHED = {"torch": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}}


def framework(program):
    return "cupy" if program.startswith("cupy") else "torch"


def prepare(program, mode):
    """Begins the framework's libraries. Returns two functions, one that waits for the device and one that gives a loss as a number, and
    one for the bytes that the framework's own allocator has reserved and given out at most."""
    if framework(program) == "cupy":
        import cupy

        if mode == "async":
            cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
        cupy.ones((8, 8), dtype=cupy.float32) @ cupy.ones((8, 8), dtype=cupy.float32)
        return cupy.cuda.runtime.deviceSynchronize, float, lambda: (cupy.get_default_memory_pool().total_bytes() if mode == "default" else None, None)
    import torch

    small = torch.ones(8, 8, device="cuda")
    small @ small
    torch.nn.functional.conv2d(torch.ones(1, 3, 8, 8, device="cuda"), torch.ones(3, 3, 3, 3, device="cuda"))
    return torch.cuda.synchronize, lambda loss: loss.item(), lambda: (torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated())


def nvtx(program):
    """The functions of a framework of UNCACHED that begin a named range of NVTX, and end it."""
    import torch

    return torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop


def resnet():
    import torch
    import torchvision
    torch.manual_seed(0)
    model = torchvision.models.resnet50().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(64, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (64,), device="cuda")

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def transformer():
    import torch
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, batch_first=True, norm_first=True)
    model = torch.nn.TransformerEncoder(layer, 8, enable_nested_tensor=False).cuda()
    head, embed = torch.nn.Linear(768, 8192).cuda(), torch.nn.Embedding(8192, 768).cuda()
    parameters = [*model.parameters(), *head.parameters(), *embed.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    lengths = [384, 512, 200, 448, 320, 512, 96, 256]

    def step(i):
        tokens = torch.randint(0, 8192, (8, lengths[i % len(lengths)]), device="cuda", generator=generator)
        optimizer.zero_grad(set_to_none=True)
        logits = head(model(embed(tokens)))
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        return loss

    generator = torch.Generator("cuda").manual_seed(1)
    return step


def generation():
    """Greedy decoding with a cache of keys and values that grows by concatenation."""
    import torch
    torch.manual_seed(0)
    heads, size, layers, batch = 12, 64, 12, 16
    weights = [[torch.randn(768, 768 * k, device="cuda") * 0.02 for k in (3, 1, 4)] + [torch.randn(3072, 768, device="cuda") * 0.02] for _ in range(layers)]
    vocabulary = torch.randn(16384, 768, device="cuda") * 0.02

    @torch.no_grad()
    def step(i):
        token = torch.zeros(batch, 1, dtype=torch.long, device="cuda")
        cache = [None] * layers
        total = torch.zeros((), device="cuda")
        for _ in range(48):
            x = vocabulary[token]
            for n, (qkv, out, up, down) in enumerate(weights):
                q, k, v = (torch.nn.functional.layer_norm(x, (768,)) @ qkv).view(batch, 1, 3, heads, size).permute(2, 0, 3, 1, 4)
                if cache[n] is not None:
                    k, v = torch.cat([cache[n][0], k], 2), torch.cat([cache[n][1], v], 2)
                cache[n] = (k, v)
                x = x + torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, 1, 768) @ out
                x = x + torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (768,)) @ up) @ down
            logits = x @ vocabulary.T
            token = logits.argmax(-1)
            total += logits.amax()
        return total

    return step


def graph():
    import torch
    from torch_geometric.nn import SAGEConv
    torch.manual_seed(0)
    first, second, third = SAGEConv(128, 256).cuda(), SAGEConv(256, 256).cuda(), SAGEConv(256, 47).cuda()
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters(), *third.parameters()], lr=1e-3)
    generator = torch.Generator("cuda").manual_seed(1)

    def step(i):
        nodes = 20000 + 7919 * (i * i % 11)
        edges = torch.randint(0, nodes, (2, nodes * 12), device="cuda", generator=generator)
        x = torch.randn(nodes, 128, device="cuda", generator=generator)
        labels = torch.randint(0, 47, (nodes,), device="cuda", generator=generator)
        optimizer.zero_grad(set_to_none=True)
        h = first(x, edges).relu()
        h = second(h, edges).relu()
        loss = torch.nn.functional.cross_entropy(third(h, edges), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def detection():
    import torch
    import torchvision
    torch.manual_seed(0)
    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=5).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    sizes = [(480, 640), (600, 800), (512, 512), (420, 700)]

    def step(i):
        g = torch.Generator("cuda").manual_seed(i)
        images = [torch.rand(3, *sizes[(i + k) % 4], device="cuda", generator=g) for k in range(4)]
        corner = torch.rand(6, 2, device="cuda", generator=g) * 200
        targets = [{"boxes": torch.cat([corner, corner + 100], 1), "labels": torch.ones(6, dtype=torch.long, device="cuda")} for _ in images]
        optimizer.zero_grad(set_to_none=True)
        loss = sum(model(images, targets).values())
        loss.backward()
        optimizer.step()
        return loss

    return step


def streams():
    """Two streams that hand tensors to each other: the second uses what the first allocated and let go."""
    import torch
    torch.manual_seed(0)
    other = torch.cuda.Stream()
    weight = torch.randn(2048, 2048, device="cuda") * 0.02

    def step(i):
        total = torch.zeros((), device="cuda", dtype=torch.float64)
        for k in range(24):
            x = torch.randn(1024 + 256 * (k % 5), 2048, device="cuda", generator=generator)
            y = x @ weight
            other.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(other):
                y.record_stream(other)
                z = (y @ weight).relu().sum(dtype=torch.float64)
            del x, y
            torch.cuda.current_stream().wait_stream(other)
            z.record_stream(torch.cuda.current_stream())
            total += z
        return total

    generator = torch.Generator("cuda").manual_seed(1)
    return step


def cuda_graph():
    """A step that is a captured graph, beside work that is not."""
    import torch
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[m for _ in range(6) for m in (torch.nn.Linear(2048, 2048), torch.nn.ReLU())]).cuda()
    x = torch.randn(512, 2048, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side), torch.no_grad():
        for _ in range(3):
            model(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), torch.no_grad():
        y = model(x)

    def step(i, model=model):  # the graph reads the model's weights
        x.normal_(generator=generator)
        graph.replay()
        junk = [torch.full((512, 2048), float(i), device="cuda") for _ in range(8)]
        return y.sum(dtype=torch.float64) + sum(j.sum() for j in junk)

    generator = torch.Generator("cuda").manual_seed(1)
    return step


def cupy_arrays():
    import cupy
    cupy.random.seed(0)
    weight = cupy.random.standard_normal((1024, 1024), dtype=cupy.float32)

    def step(i):
        total = cupy.zeros((), dtype=cupy.float64)
        for k in range(40):
            x = cupy.full((256 + 64 * (k % 7), 1024), 0.5 + k, dtype=cupy.float32)
            y = cupy.tanh(x @ weight) * 2 + x
            total += (y * y - y.mean(axis=0)).sum(dtype=cupy.float64)
        return total

    return step


STEPS = {"resnet": 12, "transformer": 12, "generation": 4, "graph": 16, "detection": 9, "streams": 12, "cuda_graph": 30, "cupy_arrays": 12}
