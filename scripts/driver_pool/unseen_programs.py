"""Six programs on which the device's pace was chosen, and not the rule for waits. They wait for the device where such loops do, and not after each step."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_layer=8, n_embd=768, n_head=12, vocab_size=16384, use_cache=False)).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    g = torch.Generator().manual_seed(1)
    lengths = [320, 448, 256, 512, 384, 192, 480, 352]

    def step(i):
        tokens = torch.randint(0, 16384, (8, lengths[i % 8]), generator=g).cuda()
        optimizer.zero_grad(set_to_none=True)
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss.item()
        return loss

    return step


def densenet():
    """Batches of several sizes; the loss stays on the device, nothing waits in the loop."""
    import torchvision
    torch.manual_seed(0)
    model = torchvision.models.densenet121().cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    sizes = [24, 32, 16, 28, 20, 12]
    total = torch.zeros((), device="cuda")

    def step(i):
        n = sizes[i % 6]
        images, labels = torch.randn(n, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (n,), device="cuda")
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total.add_(loss.detach())
        return loss

    return step


def segmentation():
    """Trains three steps, then evaluates two batches of another size with the result taken to the host."""
    import torchvision
    torch.manual_seed(0)
    model = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=21).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    def step(i):
        model.train()
        for k in range(3):
            x = torch.rand(8, 3, 224 + 32 * ((i + k) % 3), 256, device="cuda")
            y = torch.randint(0, 21, (8, *x.shape[2:]), device="cuda")
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x)["out"], y)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for k in range(2):
                x = torch.rand(12, 3, 256, 320, device="cuda")
                model(x)["out"].argmax(1).cpu()
        return loss

    return step


def gat():
    from torch_geometric.nn import GATConv
    torch.manual_seed(0)
    first, second, third = GATConv(64, 64, heads=4).cuda(), GATConv(256, 64, heads=4).cuda(), GATConv(256, 10, heads=1).cuda()
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters(), *third.parameters()], lr=5e-3)
    g = torch.Generator("cuda").manual_seed(3)

    def step(i):
        for k in range(4):
            nodes = 9000 + 1777 * ((3 * i + k) % 7)
            edges = torch.randint(0, nodes, (2, nodes * 8), device="cuda", generator=g)
            x = torch.randn(nodes, 64, device="cuda", generator=g)
            labels = torch.randint(0, 10, (nodes,), device="cuda", generator=g)
            mask = torch.rand(nodes, device="cuda", generator=g) < 0.5
            optimizer.zero_grad()
            h = F.dropout(F.elu(first(x, edges)), 0.3)
            h = F.dropout(F.elu(second(h, edges)), 0.3)
            loss = F.cross_entropy(third(h, edges)[mask], labels[mask])
            loss.backward()
            optimizer.step()
            loss.item()
        return loss

    return step


def vae():
    """Convolutions with checkpoints and a moving average of the weights; no wait in the loop."""
    from torch.utils.checkpoint import checkpoint
    torch.manual_seed(0)
    block = lambda a, b, s: nn.Sequential(nn.Conv2d(a, b, 3, s, 1), nn.BatchNorm2d(b), nn.SiLU(), nn.Conv2d(b, b, 3, 1, 1), nn.SiLU())
    enc = nn.ModuleList([block(3, 48, 1), block(48, 96, 2), block(96, 192, 2), block(192, 16, 2)]).cuda()
    dec = nn.ModuleList([block(8, 192, 1), block(192, 96, 1), block(96, 48, 1), block(48, 3, 1)]).cuda()
    parameters = [*enc.parameters(), *dec.parameters()]
    average = [p.detach().clone() for p in parameters]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4)
    sizes = [(24, 128), (16, 160), (8, 224), (32, 96), (12, 192)]

    def step(i):
        n, s = sizes[i % 5]
        x = torch.rand(n, 3, s, s, device="cuda")
        optimizer.zero_grad(set_to_none=True)
        h = x
        for b in enc:
            h = checkpoint(b, h, use_reentrant=False)
        mean, log = h.chunk(2, 1)
        h = mean + torch.randn_like(mean) * (0.5 * log).exp()
        for k, b in enumerate(dec):
            h = checkpoint(b, F.interpolate(h, scale_factor=2.0) if k < 3 else h, use_reentrant=False)
        loss = F.mse_loss(h, x) + 1e-3 * (mean.square() + log.exp() - log - 1).mean()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(average, [p.detach() for p in parameters], 0.01)
        return loss

    return step


def distill():
    """A teacher runs ahead on a second stream; its logits are handed to the student's stream."""
    torch.manual_seed(0)
    teacher = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(3072, 3072), nn.ReLU())]).cuda().eval()
    student = nn.Sequential(nn.Linear(3072, 1024), nn.GELU(), nn.Linear(1024, 1024), nn.GELU(), nn.Linear(1024, 3072)).cuda()
    optimizer = torch.optim.Adam(student.parameters(), lr=1e-4)
    side = torch.cuda.Stream()
    sizes = [4096, 6144, 3072, 8192, 5120, 2048]

    def ahead(k):
        x = torch.randn(sizes[k % 6], 3072, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.no_grad():
            x.record_stream(side)
            return x, teacher(x)

    def step(i):
        following = ahead(4 * i)
        for k in range(4):
            torch.cuda.current_stream().wait_stream(side)
            x, goal = following
            goal.record_stream(torch.cuda.current_stream())
            following = ahead(4 * i + k + 1)
            optimizer.zero_grad(set_to_none=True)
            loss = F.mse_loss(student(x), goal)
            loss.backward()
            optimizer.step()
            del x, goal
        loss.item()
        return loss

    return step
