"""Programs that were judged once, after the rule was final: models as torchvision, transformers and torch_geometric have them."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def t5():
    """An encoder and a decoder in bfloat16 by autocast, batches padded to several lengths, two batches to a step of the optimizer."""
    from transformers import T5Config, T5ForConditionalGeneration
    torch.manual_seed(0)
    model = T5ForConditionalGeneration(T5Config(d_model=512, d_ff=2048, d_kv=64, num_layers=6, num_heads=8, vocab_size=32128, decoder_start_token_id=0, use_cache=False))
    model = model.cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    g = torch.Generator().manual_seed(1)
    lengths = [(224, 64), (160, 96), (384, 48), (288, 128), (96, 32), (320, 80), (256, 112)]

    def step(i):
        optimizer.zero_grad(set_to_none=True)
        for k in range(2):
            source, target = lengths[(2 * i + k) % 7]
            x, y = torch.randint(0, 32128, (16, source), generator=g).cuda(), torch.randint(0, 32128, (16, target), generator=g).cuda()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(input_ids=x, labels=y).loss / 2
            loss.backward()
        optimizer.step()
        return loss

    return step


def swin():
    """Half precision with a scaler, which asks for its result in each step; every other step an evaluation of a larger batch."""
    import torchvision
    torch.manual_seed(0)
    model = torchvision.models.swin_t(weights=None).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cuda")
    sizes = [24, 40, 16, 32, 48, 28]

    def step(i):
        model.train()
        for k in range(2):
            n = sizes[(2 * i + k) % 6]
            x, y = torch.rand(n, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (n,), device="cuda")
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cuda", dtype=torch.float16):
                loss = F.cross_entropy(model(x), y, label_smoothing=0.1)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        if i % 2:
            model.eval()
            with torch.inference_mode():
                model(torch.rand(96, 3, 224, 224, device="cuda")).argmax(1).cpu()
        return loss

    return step


def llama():
    """generate() of transformers: prompts of several lengths, a cache that grows, a question after each token whether all are at their end."""
    from transformers import LlamaConfig, LlamaForCausalLM
    torch.manual_seed(0)
    config = LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=4, vocab_size=32000, pad_token_id=0)
    model = LlamaForCausalLM(config).half().cuda().eval()
    g = torch.Generator().manual_seed(2)
    shapes = [(16, 320), (8, 900), (32, 128), (12, 640), (24, 256), (4, 1500)]

    def step(i):
        n, length = shapes[i % 6]
        x = torch.randint(3, 32000, (n, length), generator=g).cuda()
        return model.generate(x, attention_mask=torch.ones_like(x), max_new_tokens=40, do_sample=False).sum()

    return step


def gin():
    """Batches of small graphs, of which no two are of one size; the loss stays on the device."""
    from torch_geometric.nn import GIN, global_add_pool
    torch.manual_seed(0)
    model = GIN(32, 256, num_layers=5, out_channels=256, dropout=0.2, norm="batch_norm", jk="cat").cuda()
    head = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 12)).cuda()
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-3)
    g = torch.Generator().manual_seed(3)
    total = torch.zeros((), device="cuda")

    def step(i):
        for k in range(6):
            counts = torch.randint(20, 140, (512,), generator=g)
            nodes = int(counts.sum())
            first = torch.repeat_interleave(counts.cumsum(0) - counts, counts)
            size = torch.repeat_interleave(counts, counts)
            ends = torch.cat([first + (torch.rand(nodes, generator=g) * size).long() for _ in range(6)])
            edges = torch.stack([torch.arange(nodes).repeat(6), ends]).cuda()
            batch = torch.repeat_interleave(torch.arange(512), counts).cuda()
            x, y = torch.randn(nodes, 32, generator=g).cuda(), torch.randn(512, 12, device="cuda")
            optimizer.zero_grad()
            loss = F.l1_loss(head(global_add_pool(model(x, edges), batch, size=512)), y)
            loss.backward()
            optimizer.step()
            total.add_(loss.detach())
        return total

    return step


def retina():
    """RetinaNet: trains with images of several sizes, then detects in others."""
    import torchvision
    torch.manual_seed(0)
    model = torchvision.models.detection.retinanet_resnet50_fpn_v2(weights=None, weights_backbone=None, num_classes=8, min_size=480, max_size=800).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    sizes = [(480, 600), (360, 720), (500, 500), (640, 420), (400, 560)]

    def step(i):
        g = torch.Generator().manual_seed(i)
        model.train()
        images = [torch.rand(3, *sizes[(2 * i + k) % 5], generator=g).cuda() for k in range(6)]
        targets = []
        for k in range(6):
            corner = torch.rand(3 + (i + k) % 5, 2, generator=g) * 200
            targets.append({"boxes": torch.cat([corner, corner + 120], 1).cuda(), "labels": torch.ones(len(corner), dtype=torch.long).cuda()})
        optimizer.zero_grad()
        losses = model(images, targets)
        loss = losses["classification"] + losses["bbox_regression"]
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        model.eval()
        with torch.no_grad():
            model([torch.rand(3, *sizes[(i + k) % 5], generator=g).cuda() for k in range(3)])
        return loss

    return step


def lstm():
    """A language model by cuDNN's LSTM whose state goes from batch to batch; the loss is printed each fourth step."""
    torch.manual_seed(0)
    embed, rnn, head = nn.Embedding(20000, 650).cuda(), nn.LSTM(650, 650, 2, dropout=0.5).cuda(), nn.Linear(650, 20000).cuda()
    parameters = [*embed.parameters(), *rnn.parameters(), *head.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=1.0)
    g = torch.Generator("cuda").manual_seed(4)
    state = [None]

    def step(i):
        for k in range(4):
            length = 35 + 7 * ((5 * i + 3 * k) % 8)
            tokens = torch.randint(0, 20000, (length + 1, 64), device="cuda", generator=g)
            optimizer.zero_grad()
            out, following = rnn(F.dropout(embed(tokens[:-1]), 0.5), state[0])
            state[0] = tuple(x.detach() for x in following)
            loss = F.cross_entropy(head(F.dropout(out, 0.5)).flatten(0, 1), tokens[1:].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 0.25)
            optimizer.step()
        loss.item()
        return loss

    return step
