"""Three more programs, of which no rule was made."""


def vit():
    import torch
    import torchvision
    torch.manual_seed(0)
    model = torchvision.models.vit_b_16().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    sizes = [32, 24, 32, 8, 16, 32]

    def step(i):
        n = sizes[i % len(sizes)]
        images, labels = torch.randn(n, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (n,), device="cuda")
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def unet():
    import torch
    torch.manual_seed(0)
    conv = lambda a, b: torch.nn.Sequential(torch.nn.Conv2d(a, b, 3, padding=1), torch.nn.GroupNorm(8, b), torch.nn.SiLU())
    down = torch.nn.ModuleList([conv(3, 64), conv(64, 128), conv(128, 256)]).cuda()
    up = torch.nn.ModuleList([conv(256 + 128, 128), conv(128 + 64, 64), conv(64, 3 * 8)]).cuda()
    optimizer = torch.optim.Adam([*down.parameters(), *up.parameters()], lr=1e-4)
    sizes = [(128, 128), (160, 96), (192, 192), (96, 160), (256, 128), (224, 224)]

    def step(i):
        h, w = sizes[i % len(sizes)]
        x = torch.randn(16, 3, h, w, device="cuda")
        optimizer.zero_grad(set_to_none=True)
        pool, grow = torch.nn.functional.avg_pool2d, lambda y: torch.nn.functional.interpolate(y, scale_factor=2)
        a = down[0](x)
        b = down[1](pool(a, 2))
        c = down[2](pool(b, 2))
        y = up[1](torch.cat([grow(up[0](torch.cat([grow(c), b], 1))), a], 1))
        loss = (up[2](y)[:, :3] - x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def prefetch():
    """A second stream copies the next batch while the first trains; the batches are handed over with record_stream."""
    import torch
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[m for _ in range(8) for m in (torch.nn.Linear(4096, 4096), torch.nn.GELU())]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    side = torch.cuda.Stream()
    host = torch.randn(4096, 4096).pin_memory()
    sizes = [2048, 3072, 1536, 4096, 2560]

    def fetch(k):
        with torch.cuda.stream(side):
            return host[: sizes[k % len(sizes)]].to("cuda", non_blocking=True)

    def step(i):
        batch = fetch(4 * i)
        for k in range(4):
            torch.cuda.current_stream().wait_stream(side)
            x = batch
            x.record_stream(torch.cuda.current_stream())
            batch = fetch(4 * i + k + 1)
            optimizer.zero_grad(set_to_none=True)
            loss = (model(x) - x).square().mean()
            loss.backward()
            optimizer.step()
            del x
        return loss

    return step
