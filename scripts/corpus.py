#!/usr/bin/env python3
"""Records the programs of the corpus of traces (suites/corpus) on a GPU, each in a process of its own and from its first request on.

    scripts/corpus.py FOLDER [--jobs 14] [--seconds 180] [--only NAME,...]     makes FOLDER/NAME.trace and FOLDER/NAME.json, its facts
    scripts/corpus.py FOLDER --conf WORDS;WORDS...                             runs PyTorch's programs under these PYTORCH_CUDA_ALLOC_CONF instead, or
                                                                               served by the allocator NAME of gamut if WORDS is serve:NAME, and
                                                                               makes FOLDER/settings.json, what was held under each
    scripts/corpus.py --gather SUITE FOLDER...                                 takes them into the suite: its traces, and its corpus.json
    scripts/corpus.py --list                                                   the programs, with what is typical of each

From the environment: GAMUT [build/gamut]; THRUST, scripts/serve_thrust.cu built by nvcc: without it that program is left out.
PyTorch's programs run under its default allocator, whose history is imported. What it held is in the facts. Those of CuPy and JAX run
without the pool of their framework, so that each array is a request to the driver, and are recorded by gamut record.
"""
import argparse
import concurrent.futures
import glob
import hashlib
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import midrun

HERE = os.path.dirname(os.path.abspath(__file__))
GAMUT = os.path.abspath(os.environ.get("GAMUT", os.path.join(HERE, "..", "build", "gamut")))
SEED = 36
# Those that are packages of Python, with their licences
LICENCES = {"torch": "BSD-3-Clause", "transformers": "Apache-2.0", "torchvision": "BSD-3-Clause", "torch_geometric": "MIT", "jax": "Apache-2.0",
            "cupy": "MIT", "thrust": "Apache-2.0"}
TITLES = {"torch": "PyTorch", "transformers": "Transformers", "torchvision": "torchvision", "torch_geometric": "PyG", "jax": "JAX", "cupy": "CuPy",
          "thrust": "Thrust"}
PROGRAMS = {}


def program(kind, uses, typical):
    """uses: the packages, that of the framework first."""
    def keep(function):
        PROGRAMS[function.__name__] = {"kind": kind, "uses": uses.split(), "typical": typical, "run": function}
        return function
    return keep


def of_midrun(name, kind, typical):
    def run(rng):
        midrun.PROGRAMS[name](lambda: None, lambda: None, rng)
    PROGRAMS[name] = {"kind": kind, "uses": ["torchvision"] if name == "resnet" else ["torch"], "typical": typical, "run": run}


# ---- language models, trained ----


def steps(model, count, loss_of, optimizer=None, amp=False, accumulate=1):
    """Trains: loss_of(i) is the loss of step i."""
    import torch

    optimizer = optimizer or torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
    for i in range(count):
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=amp):
            loss = loss_of(i)
        loss.backward()
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()


def ids(rows, length, words=8000):
    import torch

    return torch.randint(1, words, (rows, length), device="cuda")


def gpt2(layers=6, width=512, words=8000, **more):
    import transformers

    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=words, n_positions=2048, n_embd=width, n_layer=layers, n_head=8, bos_token_id=0, eos_token_id=0, pad_token_id=0, **more)).cuda()


def llama(layers=6, width=512, words=8000):
    import transformers

    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=words, hidden_size=width, intermediate_size=width * 3, num_hidden_layers=layers, num_attention_heads=8, num_key_value_heads=4,
        max_position_embeddings=4096, bos_token_id=0, eos_token_id=0, pad_token_id=0)).cuda()


@program("training", "torch transformers", "a language model on batches whose lengths change")
def gpt2_lengths(rng):
    model = gpt2()

    def loss_of(i):
        x = ids(rng.randint(4, 12), rng.randint(100, 900))
        return model(x, labels=x).loss

    steps(model, 10, loss_of)


@program("training", "torch transformers", "activations are computed again in the backward pass, of one shape")
def gpt2_checkpoint(rng):
    model = gpt2(layers=10, width=768).train()
    model.gradient_checkpointing_enable()

    def loss_of(i):
        x = ids(8, 1024)
        return model(x, labels=x, use_cache=False).loss

    steps(model, 6, loss_of)


@program("training", "torch transformers", "checkpointing, and lengths that change")
def llama_checkpoint_lengths(rng):
    model = llama(layers=8).train()
    model.gradient_checkpointing_enable()

    def loss_of(i):
        x = ids(rng.randint(2, 10), rng.randint(128, 1500))
        return model(x, labels=x, use_cache=False).loss

    steps(model, 8, loss_of, amp=True)


@program("training", "torch transformers", "sentences are packed into rows of one length; gradients of four batches are added up")
def llama_packing(rng):
    import torch

    model = llama(layers=4)

    def loss_of(i):
        cuts, at = [], 0
        while at < 2048:
            cuts.append(min(rng.randint(30, 700), 2048 - at))
            at += cuts[-1]
        places = torch.cat([torch.arange(n, device="cuda") for n in cuts])[None]
        x = torch.cat([ids(1, n) for n in cuts], 1)
        sentence = torch.cat([torch.full((n,), k, device="cuda") for k, n in enumerate(cuts)])
        mask = (sentence[:, None] == sentence[None, :]).tril()[None, None]
        logits = model(x, position_ids=places, attention_mask=torch.where(mask, 0.0, -1e9), use_cache=False).logits
        return torch.nn.functional.cross_entropy(logits[0, :-1].float(), x[0, 1:])

    steps(model, 12, loss_of, accumulate=4)


@program("training", "torch transformers", "adapters of low rank are trained beside frozen weights of half precision")
def lora(rng):
    import torch

    model = llama(layers=8, width=768).bfloat16()
    for p in model.parameters():
        p.requires_grad_(False)

    class Adapter(torch.nn.Module):
        def __init__(self, linear):
            super().__init__()
            self.linear, self.dropout = linear, torch.nn.Dropout(0.05)
            self.down = torch.nn.Linear(linear.in_features, 16, bias=False).cuda()
            self.up = torch.nn.Linear(16, linear.out_features, bias=False).cuda()

        def forward(self, x):
            return self.linear(x) + self.up(self.down(self.dropout(x).float())).to(x.dtype)

    for layer in model.model.layers:
        layer.self_attn.q_proj, layer.self_attn.v_proj = Adapter(layer.self_attn.q_proj), Adapter(layer.self_attn.v_proj)

    def loss_of(i):
        x = ids(rng.choice([2, 4, 8]), rng.randint(64, 768))
        return model(x, labels=x, use_cache=False).loss

    steps(model, 10, loss_of)


@program("training", "torch transformers", "batches from buckets of length, and an evaluation of larger ones after each epoch")
def bert_buckets(rng):
    import torch
    import transformers

    model = transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=8000, hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(3):
        def loss_of(i):
            x = ids(32, rng.choice([64, 128, 192, 256, 384]))
            return model(x, labels=torch.randint(0, 2, (32,), device="cuda")).loss
        model.train()
        steps(model, 4, loss_of, optimizer)
        model.eval()
        with torch.no_grad():
            scores = [model(ids(128, rng.choice([64, 128, 192, 256, 384]))).logits for _ in range(4)]
            torch.cat(scores).argmax(1).float().mean().item()


@program("training", "torch transformers", "an encoder and a decoder, both on lengths that change")
def t5_translate(rng):
    import transformers

    model = transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=8000, d_model=384, d_kv=48, d_ff=1024, num_layers=4, num_heads=8, decoder_start_token_id=0)).cuda()
    steps(model, 8, lambda i: model(input_ids=ids(16, rng.randint(20, 300)), labels=ids(16, rng.randint(20, 300))).loss)


@program("training", "torch transformers", "each token takes two of eight experts, so no two steps have the same sizes")
def mixtral(rng):
    import transformers

    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
        vocab_size=8000, hidden_size=384, intermediate_size=768, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=4,
        num_local_experts=8, num_experts_per_tok=2, bos_token_id=0, eos_token_id=0, pad_token_id=0)).cuda()

    def loss_of(i):
        x = ids(rng.randint(2, 8), rng.randint(100, 600))
        return model(x, labels=x, use_cache=False).loss

    steps(model, 6, loss_of)


@program("training", "torch transformers", "answers are generated with a growing cache, and then the model is trained on them")
def reinforce(rng):
    import torch

    model = gpt2(layers=4)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for _ in range(3):
        prompt = ids(rng.randint(8, 24), rng.randint(30, 120))
        with torch.no_grad():
            new = rng.randint(16, 40)
            x = model.generate(prompt, do_sample=True, max_new_tokens=new, min_new_tokens=new, pad_token_id=0)
            old = torch.log_softmax(model(x).logits.float(), -1).gather(2, x[..., None])
        for _ in range(2):
            now = torch.log_softmax(model(x).logits.float(), -1).gather(2, x[..., None])
            loss = ((now - old).exp() * torch.randn(x.shape[0], 1, 1, device="cuda")).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


# ---- vision, trained ----


@program("training", "torch transformers", "a vision transformer on batches of one shape")
def vit(rng):
    import torch
    import transformers

    model = transformers.ViTForImageClassification(transformers.ViTConfig(
        hidden_size=384, num_hidden_layers=8, num_attention_heads=6, intermediate_size=1536, num_labels=100)).cuda()
    steps(model, 6, lambda i: model(torch.randn(64, 3, 224, 224, device="cuda"), labels=torch.randint(0, 100, (64,), device="cuda")).loss, amp=True)


@program("training", "torch transformers", "two towers, images and texts, and the matrix of their products")
def clip(rng):
    import transformers
    import torch

    text = transformers.CLIPTextConfig(vocab_size=8000, hidden_size=256, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8,
                                       bos_token_id=0, eos_token_id=1, pad_token_id=2, max_position_embeddings=128)
    image = transformers.CLIPVisionConfig(hidden_size=256, intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8, image_size=224, patch_size=16)
    model = transformers.CLIPModel(transformers.CLIPConfig(text_config=text.to_dict(), vision_config=image.to_dict(), projection_dim=128)).cuda()

    def loss_of(i):
        rows = rng.randint(16, 96)
        return model(input_ids=ids(rows, rng.randint(8, 77)), pixel_values=torch.randn(rows, 3, 224, 224, device="cuda"), return_loss=True).loss

    steps(model, 8, loss_of)


@program("training", "torch torchvision", "an image network with batch norm; the last batch of an epoch is smaller, and an evaluation follows")
def resnet_epochs(rng):
    import torch
    import torchvision

    model = torchvision.models.resnet50().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for _ in range(2):
        model.train()
        for rows in (48, 48, 48, 21):
            torch.nn.functional.cross_entropy(model(torch.randn(rows, 3, 192, 192, device="cuda")), torch.randint(0, 1000, (rows,), device="cuda")).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        model.eval()
        with torch.no_grad():
            for rows in (96, 96, 10):
                model(torch.randn(rows, 3, 224, 224, device="cuda")).argmax(1).sum().item()


@program("training", "torch torchvision", "half precision with a scaler of gradients, and channels last")
def mobilenet_amp(rng):
    import torch
    import torchvision

    model = torchvision.models.mobilenet_v3_large().cuda().to(memory_format=torch.channels_last)
    optimizer, scaler = torch.optim.RMSprop(model.parameters(), lr=1e-3), torch.amp.GradScaler("cuda")
    for i in range(8):
        x = torch.randn(64, 3, *[rng.choice([160, 192, 224])] * 2, device="cuda").to(memory_format=torch.channels_last)
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).float().square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()


@program("training", "torch torchvision", "boxes are proposed and chosen: their count and the size of the images change")
def detection(rng):
    import torch
    import torchvision

    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=10).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for i in range(5):
        images = [torch.rand(3, rng.randint(400, 640), rng.randint(400, 800), device="cuda") for _ in range(3)]
        targets = []
        for _ in images:
            corner = torch.rand(rng.randint(1, 20), 2, device="cuda") * 200
            targets.append({"boxes": torch.cat([corner, corner + 20 + torch.rand_like(corner) * 150], 1),
                            "labels": torch.randint(1, 10, (len(corner),), device="cuda")})
        sum(model(images, targets).values()).backward()
        optimizer.step()
        optimizer.zero_grad()


@program("training", "torch torchvision", "segmentation on crops of several scales")
def deeplab_scales(rng):
    import torch
    import torchvision

    model = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=19).cuda().train()

    def loss_of(i):
        side = 32 * rng.randint(8, 16)
        return torch.nn.functional.cross_entropy(model(torch.randn(4, 3, side, side, device="cuda"))["out"], torch.randint(0, 19, (4, side, side), device="cuda"))

    steps(model, 6, loss_of)


def denoiser(width=96):
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.one, self.two = nn.Conv2d(a, b, 3, padding=1), nn.Conv2d(b, b, 3, padding=1)
            self.n1, self.n2, self.skip = nn.GroupNorm(8, a), nn.GroupNorm(8, b), nn.Conv2d(a, b, 1)

        def forward(self, x):
            h = self.one(nn.functional.silu(self.n1(x)))
            return self.two(nn.functional.silu(self.n2(h))) + self.skip(x)

    class Attention(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.norm, self.qkv, self.out = nn.GroupNorm(8, c), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1)

        def forward(self, x):
            b, c, h, w = x.shape
            q, k, v = self.qkv(self.norm(x)).reshape(b, 3, 8, c // 8, h * w).transpose(-1, -2).unbind(1)
            y = nn.functional.scaled_dot_product_attention(q, k, v).transpose(-1, -2).reshape(b, c, h, w)
            return x + self.out(y)

    class Denoiser(nn.Module):
        def __init__(self):
            super().__init__()
            w = width
            self.first, self.last = nn.Conv2d(4, w, 3, padding=1), nn.Conv2d(w, 4, 3, padding=1)
            self.down = nn.ModuleList([Block(w, w), Block(w, 2 * w), Block(2 * w, 2 * w)])
            self.middle = nn.Sequential(Block(2 * w, 2 * w), Attention(2 * w), Block(2 * w, 2 * w))
            self.up = nn.ModuleList([Block(4 * w, 2 * w), Block(4 * w, w), Block(2 * w, w)])

        def forward(self, x):
            x, skips = self.first(x), []
            for block in self.down:
                x = block(x)
                skips.append(x)
                x = nn.functional.avg_pool2d(x, 2)
            x = self.middle(x)
            for block in self.up:
                skip = skips.pop()
                x = block(torch.cat([nn.functional.interpolate(x, size=skip.shape[2:]), skip], 1))
            return self.last(x)

    return Denoiser().cuda()


BUCKETS = [(64, 64), (48, 80), (80, 48), (56, 72), (72, 56), (40, 96), (96, 40)]  # of latents, by aspect


@program("training", "torch", "a diffusion model on buckets of aspect, with an average of its weights")
def diffusion_buckets(rng):
    import copy
    import torch

    model = denoiser()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for i in range(10):
        def loss_of(i):
            x = torch.randn(rng.choice([4, 8]), 4, *rng.choice(BUCKETS), device="cuda")
            noise = torch.randn_like(x)
            return torch.nn.functional.mse_loss(model(x * 0.7 + noise * 0.7), noise)
        steps(model, 1, loss_of, optimizer, amp=True)
        with torch.no_grad():
            torch._foreach_lerp_(list(average.parameters()), list(model.parameters()), 0.01)


@program("training", "torch", "two networks against each other, each with an optimizer")
def gan(rng):
    import torch
    from torch import nn

    up = [64, 256, 128, 64, 32]
    make = nn.Sequential(*[m for a, b in zip(up, up[1:]) for m in (nn.ConvTranspose2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.ReLU())],
                         nn.Conv2d(32, 3, 3, padding=1), nn.Tanh()).cuda()
    judge = nn.Sequential(*[m for a, b in zip([3, 32, 64, 128], [32, 64, 128, 256]) for m in (nn.Conv2d(a, b, 4, 2, 1), nn.LeakyReLU(0.2))],
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 1)).cuda()
    first, second = torch.optim.Adam(make.parameters(), 2e-4), torch.optim.Adam(judge.parameters(), 2e-4)
    bce = nn.functional.binary_cross_entropy_with_logits
    for i in range(25):
        real, rows = torch.randn(64, 3, 64, 64, device="cuda"), 64
        fake = make(torch.randn(rows, 64, 4, 4, device="cuda"))
        second.zero_grad()
        one = torch.ones(rows, 1, device="cuda")
        (bce(judge(real), one) + bce(judge(fake.detach()), one * 0)).backward()
        second.step()
        first.zero_grad()
        bce(judge(fake), one).backward()
        first.step()


@program("training", "torch", "rays with a random count of samples, and a network over all of them")
def radiance(rng):
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(63, 256), *[m for _ in range(5) for m in (nn.Linear(256, 256), nn.ReLU())], nn.Linear(256, 4)).cuda()

    def loss_of(i):
        rays = 4096
        points = torch.rand(rays, 96, 3, device="cuda")
        points = points[torch.rand(rays, 96, device="cuda") < rng.uniform(0.2, 0.9)]  # empty space is skipped
        waves = torch.cat([points] + [f(points * 2 ** k) for k in range(10) for f in (torch.sin, torch.cos)], 1)
        return model(waves).square().mean()

    steps(model, 20, loss_of, torch.optim.Adam(model.parameters()))


# ---- graphs, tables, sound, trained ----


@program("training", "torch torch_geometric", "a neighbourhood is drawn for each batch, so the graph has another size")
def sage(rng):
    import torch
    from torch_geometric.nn import SAGEConv

    model = torch.nn.ModuleList([SAGEConv(128, 256), SAGEConv(256, 256), SAGEConv(256, 47)]).cuda()

    def loss_of(i):
        nodes = rng.randint(5000, 60000)
        edges = torch.randint(0, nodes, (2, nodes * rng.randint(5, 12)), device="cuda")
        x = torch.randn(nodes, 128, device="cuda")
        for layer in model:
            x = layer(x, edges).relu()
        return torch.nn.functional.cross_entropy(x[:1024], torch.randint(0, 47, (1024,), device="cuda"))

    steps(model, 20, loss_of)


@program("training", "torch torch_geometric", "batches of small graphs with attention over their edges")
def molecules(rng):
    import torch
    from torch_geometric.nn import GATConv, global_mean_pool

    layers = torch.nn.ModuleList([GATConv(64, 64, heads=4, concat=False) for _ in range(4)]).cuda()
    head = torch.nn.Linear(64, 1).cuda()

    def loss_of(i):
        sizes = [rng.randint(8, 60) for _ in range(rng.choice([128, 256]))]
        starts = [sum(sizes[:k]) for k in range(len(sizes))]
        edges = torch.cat([torch.randint(0, n, (2, 3 * n)) + s for n, s in zip(sizes, starts)], 1).cuda()
        batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes)).cuda()
        x = torch.randn(sum(sizes), 64, device="cuda")
        for layer in layers:
            x = layer(x, edges).relu()
        return head(global_mean_pool(x, batch)).square().mean()

    steps(torch.nn.ModuleList([layers, head]), 20, loss_of)


@program("training", "torch", "large tables with dense gradients and Adagrad; batches of one size")
def recommend(rng):
    import torch
    from torch import nn

    tables = nn.ModuleList([nn.EmbeddingBag(rng.randint(1000, 300000), 32) for _ in range(16)]).cuda()
    top = nn.Sequential(nn.Linear(16 * 32 + 120, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)).cuda()

    def loss_of(i):
        features = torch.stack([t(torch.randint(0, t.num_embeddings, (4096, rng.randint(1, 12)), device="cuda")) for t in tables], 1)
        pairs = (features @ features.transpose(1, 2))[:, *torch.triu_indices(16, 16, 1)]
        return top(torch.cat([features.flatten(1), pairs], 1)).square().mean()

    steps(nn.ModuleList([tables, top]), 15, loss_of, torch.optim.Adagrad([*tables.parameters(), *top.parameters()]))


@program("training", "torch", "speech of any length: convolutions, attention, and the loss over alignments")
def speech(rng):
    import torch
    from torch import nn

    model = nn.ModuleDict({"front": nn.Sequential(nn.Conv1d(80, 256, 5, 2), nn.GELU(), nn.Conv1d(256, 256, 5, 2), nn.GELU()),
                           "body": nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), 4), "head": nn.Linear(256, 64)}).cuda()

    def loss_of(i):
        rows, frames = rng.randint(4, 16), rng.randint(300, 1800)
        y = model["head"](model["body"](model["front"](torch.randn(rows, 80, frames, device="cuda")).transpose(1, 2)))
        words = torch.randint(1, 64, (rows, 30), device="cuda")
        return nn.functional.ctc_loss(y.log_softmax(-1).transpose(0, 1), words, torch.full((rows,), y.shape[1]), torch.full((rows,), 30))

    steps(model, 12, loss_of)


# ---- compiled, captured, streams ----


@program("training", "torch", "compiled by torch.compile: one block for the inside of each graph; two shapes")
def compile_train(rng):
    import torch
    from torch import nn

    model = nn.Sequential(nn.Embedding(4000, 256), *[nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True) for _ in range(3)],
                          nn.Linear(256, 4000)).cuda()
    compiled = torch.compile(model)

    def loss_of(i):
        x = ids(8, [256, 384][i % 2], 4000)
        return nn.functional.cross_entropy(compiled(x).flatten(0, 1), x.flatten())

    steps(model, 10, loss_of)


@program("inference", "torch", "torch.compile captures graphs for each of several batches (reduce-overhead)")
def compile_graphs(rng):
    import torch
    from torch import nn

    model = nn.Sequential(*[m for _ in range(6) for m in (nn.Linear(1024, 1024), nn.GELU())]).cuda()
    compiled = torch.compile(model, mode="reduce-overhead")
    with torch.no_grad():
        for i in range(40):
            compiled(torch.randn([32, 64, 128, 256][i // 3 % 4], 1024, device="cuda")).sum().item()


@program("training", "torch", "a second stream brings the next batch while the first one works")
def prefetch(rng):
    import torch
    from torch import nn

    model = nn.Sequential(nn.Conv2d(3, 64, 3, 2, 1), nn.ReLU(), nn.Conv2d(64, 128, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)).cuda()
    optimizer, side = torch.optim.SGD(model.parameters(), 0.01), torch.cuda.Stream()

    def load():
        with torch.cuda.stream(side):
            x = torch.randn(rng.randint(8, 64), 3, 128, 128).pin_memory().cuda(non_blocking=True)
            return (x - x.mean()) / x.std()

    following = load()
    for i in range(40):
        torch.cuda.current_stream().wait_stream(side)
        x = following
        x.record_stream(torch.cuda.current_stream())
        following = load()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


# ---- inference ----


@program("inference", "torch transformers", "texts are generated; the cache of keys and values grows by a token")
def gpt2_generate(rng):
    import torch

    model = gpt2(layers=6).eval()
    with torch.no_grad():
        for _ in range(4):
            new = rng.randint(20, 45)
            model.generate(ids(rng.randint(1, 16), rng.randint(20, 400)), max_new_tokens=new, min_new_tokens=new, do_sample=False, pad_token_id=0)


@program("inference", "torch transformers", "beams are sorted after each token, and the cache with them")
def gpt2_beams(rng):
    import torch

    model = gpt2(layers=4).eval()
    with torch.no_grad():
        for _ in range(3):
            new = rng.randint(16, 30)
            model.generate(ids(rng.randint(1, 6), rng.randint(20, 200)), num_beams=4, max_new_tokens=new, min_new_tokens=new, pad_token_id=0)


@program("inference", "torch", "a paged cache is allocated once; requests come and go, so each step has other lengths")
def paged(rng):
    import torch

    width, layers, page, pages = 512, 6, 16, 2048
    weights = [[torch.randn(width, width * k, device="cuda") * 0.02 for k in (3, 1, 4)] + [torch.randn(4 * width, width, device="cuda") * 0.02] for _ in range(layers)]
    cache = torch.zeros(layers, 2, pages, page, width, device="cuda", dtype=torch.float16)
    words = torch.randn(16000, width, device="cuda") * 0.02
    free, live = list(range(pages)), []  # a request: [length, end, pages]
    with torch.no_grad():
        for step in range(70):
            while len(live) < 24 and rng.random() < 0.5 or not live:
                length = rng.randint(20, 600)
                live.append([length, length + rng.randint(5, 60), [free.pop() for _ in range((length + 80) // page + 1)]])
                prompt = words[ids(1, length, 16000)[0]]
                for n, (qkv, out, up, down) in enumerate(weights):  # the prompt is read at once
                    q, k, v = (prompt @ qkv).chunk(3, -1)
                    prompt = prompt + torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True)[0] @ out
                    prompt = prompt + torch.nn.functional.gelu(prompt @ up) @ down
            longest = max(len(r[2]) for r in live)
            table = torch.tensor([r[2] + [0] * (longest - len(r[2])) for r in live], device="cuda")
            x = words[ids(len(live), 1, 16000)]
            for n, (qkv, out, up, down) in enumerate(weights):
                q, k, v = (x @ qkv).chunk(3, -1)
                keys, values = (cache[n, which][table].flatten(1, 2).float() for which in (0, 1))
                x = x + torch.softmax(q @ keys.transpose(1, 2) / width ** 0.5, -1) @ values @ out
                x = x + torch.nn.functional.gelu(x @ up) @ down
            (x @ words.T).argmax(-1).sum().item()
            for r in live:
                r[0] += 1
            for r in [r for r in live if r[0] >= r[1]]:
                free += r[2]
                live.remove(r)


@program("inference", "torch transformers", "a small model proposes tokens, and a large one judges them")
def speculative(rng):
    import torch

    large, small = gpt2(layers=8).eval(), gpt2(layers=2, width=256).eval()
    with torch.no_grad():
        for _ in range(3):
            x = ids(1, rng.randint(50, 500))
            for _ in range(6):
                draft = x
                for _ in range(4):
                    draft = torch.cat([draft, small(draft).logits[:, -1:].argmax(-1)], 1)
                large(draft).logits[:, -5:].argmax(-1).sum().item()
                x = draft[:, : x.shape[1] + rng.randint(1, 4)]


@program("inference", "torch transformers", "requests of any length in batches of any size")
def bert_requests(rng):
    import torch
    import transformers

    model = transformers.BertModel(transformers.BertConfig(vocab_size=8000, hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048)).cuda().eval()
    with torch.no_grad():
        for _ in range(50):
            model(ids(rng.randint(1, 64), rng.randint(8, 512))).pooler_output.sum().item()


@program("inference", "torch transformers", "sound is encoded in pieces of one length, and its text is generated")
def whisper(rng):
    import torch
    import transformers

    model = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
        vocab_size=8000, d_model=384, encoder_layers=4, decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536,
        decoder_ffn_dim=1536, bos_token_id=1, eos_token_id=2, pad_token_id=3, decoder_start_token_id=1, suppress_tokens=[], begin_suppress_tokens=[])).cuda().eval()
    with torch.no_grad():
        for _ in range(3):
            sound = model.model.encoder(torch.randn(rng.randint(1, 8), 80, 3000, device="cuda"))
            words, cache = torch.ones(sound[0].shape[0], 1, dtype=torch.long, device="cuda"), None
            for _ in range(rng.randint(20, 50)):
                out = model(encoder_outputs=sound, decoder_input_ids=words, past_key_values=cache, use_cache=True)
                words, cache = out.logits[:, -1:].argmax(-1), out.past_key_values


@program("inference", "torch torchvision", "images of any size; boxes below a score are left out")
def detect_images(rng):
    import torch
    import torchvision

    model = torchvision.models.detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None, num_classes=20).cuda().eval()
    with torch.no_grad():
        for _ in range(8):
            model([torch.rand(3, rng.randint(300, 800), rng.randint(300, 800), device="cuda") for _ in range(rng.randint(1, 4))])[0]["boxes"].sum().item()


@program("inference", "torch", "images are denoised in 12 steps, with and without their text, and each request has another size")
def diffusion_sample(rng):
    import torch

    model = denoiser(128).eval()
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.float16):
        for _ in range(6):
            x = torch.randn(rng.randint(1, 4), 4, *rng.choice(BUCKETS), device="cuda")
            for _ in range(12):
                one, two = model(torch.cat([x, x])).chunk(2)
                x = x - 0.05 * (two + 5 * (one - two))
            torch.nn.functional.interpolate(x.float(), scale_factor=8.0).clamp(-1, 1).byte().cpu()


@program("inference", "torch", "a volume is read in windows that overlap, and their answers are added up")
def volumes(rng):
    import torch
    from torch import nn

    model = nn.Sequential(nn.Conv3d(1, 16, 3, padding=1), nn.InstanceNorm3d(16), nn.ReLU(), nn.Conv3d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv3d(32, 4, 1)).cuda().eval()
    with torch.no_grad():
        for _ in range(4):
            shape = [rng.randint(96, 200) for _ in range(3)]
            volume, total = torch.randn(1, 1, *shape, device="cuda"), torch.zeros(1, 4, *shape, device="cuda")
            starts = [sorted({min(k, n - 64) for k in range(0, n, 48)}) for n in shape]
            for a in starts[0]:
                for b in starts[1]:
                    for c in starts[2]:
                        total[..., a:a + 64, b:b + 64, c:c + 64] += model(volume[..., a:a + 64, b:b + 64, c:c + 64])
            total.argmax(1).to(torch.uint8).cpu()


@program("inference", "torch", "vectors are searched in shards; the best of each are kept and merged")
def search(rng):
    import torch

    shards = [torch.nn.functional.normalize(torch.randn(rng.randint(50000, 150000), 256, device="cuda"), dim=1) for _ in range(6)]
    for _ in range(40):
        queries = torch.nn.functional.normalize(torch.randn(rng.randint(1, 400), 256, device="cuda"), dim=1)
        best = [torch.topk(queries @ shard.T, 50) for shard in shards]
        torch.topk(torch.cat([b.values for b in best], 1), 50).indices.cpu()


# ---- simulation and data ----


@program("simulation", "torch", "a flow by spectral methods: Fourier transforms of one size, and many short temporaries")
def flow(rng):
    import torch

    n = 1024
    k = torch.fft.fftfreq(n, 1 / n, device="cuda")
    kx, ky = k[:, None], k[None, : n // 2 + 1].abs()
    laplace = kx ** 2 + ky ** 2
    inverse = torch.where(laplace == 0, 1.0, laplace).reciprocal()
    w = torch.fft.rfft2(torch.randn(n, n, device="cuda"))
    for step in range(60):
        def slope(w):
            psi = w * inverse
            u, v = torch.fft.irfft2(1j * ky * psi), torch.fft.irfft2(-1j * kx * psi)
            wx, wy = torch.fft.irfft2(1j * kx * w), torch.fft.irfft2(1j * ky * w)
            return -torch.fft.rfft2(u * wx + v * wy) - 1e-3 * laplace * w
        a = slope(w)
        b = slope(w + 5e-5 * a)
        w = w + 5e-5 * (a + b)
        if step % 20 == 19:
            float(w.abs().mean())


@program("simulation", "torch", "particles in cells: neighbours are sorted and counted anew in each step")
def particles(rng):
    import torch

    count = 200000
    x, v = torch.rand(count, 3, device="cuda"), torch.zeros(count, 3, device="cuda")
    for step in range(60):
        cell = (x * 32).long().clamp(0, 31)
        key = cell[:, 0] * 1024 + cell[:, 1] * 32 + cell[:, 2]
        order = key.argsort()
        x, v, key = x[order], v[order], key[order]
        cells, first = torch.unique_consecutive(key, return_inverse=True)
        mass = torch.zeros(len(cells), 3, device="cuda").index_add(0, first, x)
        centre = mass / torch.bincount(first)[:, None]
        near = (x[1:] - x[:-1]).norm(dim=1) < 0.02
        push = torch.zeros_like(x)
        push[1:][near] += (x[1:] - x[:-1])[near] * 0.1
        v = 0.98 * v + 0.05 * (centre[first] - x) + push
        x = (x + 0.01 * v).remainder(1.0)
    float(x.mean())


@program("simulation", "cupy", "a wave by Fourier transforms, under CuPy without its pool")
def cupy_waves(rng):
    import cupy

    cupy.cuda.set_allocator(None)
    n = 512
    k = cupy.fft.fftfreq(n, 1 / n)
    phase = cupy.exp(-0.5j * 1e-3 * (k[:, None] ** 2 + k[None, :] ** 2))
    x = cupy.linspace(-1, 1, n)
    psi = cupy.exp(-40 * (x[:, None] ** 2 + x[None, :] ** 2)).astype(cupy.complex64)
    for step in range(150):
        psi = cupy.fft.ifft2(cupy.fft.fft2(psi) * phase)
        psi = psi * cupy.exp(-1j * 0.05 * cupy.abs(psi) ** 2)
        if step % 50 == 49:
            float((cupy.abs(psi) ** 2).sum())


@program("data", "cupy", "clusters of k means, for data and clusters of several sizes, under CuPy without its pool")
def cupy_clusters(rng):
    import cupy

    cupy.cuda.set_allocator(None)
    for _ in range(6):
        rows, groups = rng.randint(20000, 200000), rng.randint(4, 40)
        x = cupy.random.rand(rows, 32, dtype=cupy.float32)
        centre = x[:groups].copy()
        for _ in range(10):
            far = (x * x).sum(1)[:, None] - 2 * x @ centre.T + (centre * centre).sum(1)[None]
            near = far.argmin(1)
            centre = cupy.stack([x[near == g].mean(0) for g in range(groups)])
        float(centre.sum())


@program("data", "cupy", "pictures are filtered, labelled and measured, under CuPy without its pool")
def cupy_pictures(rng):
    import cupy
    from cupyx.scipy import ndimage

    cupy.cuda.set_allocator(None)
    for _ in range(12):
        picture = cupy.random.rand(rng.randint(300, 1500), rng.randint(300, 1500), dtype=cupy.float32)
        smooth = ndimage.gaussian_filter(picture, 3)
        edges = cupy.hypot(ndimage.sobel(smooth, 0), ndimage.sobel(smooth, 1))
        parts, count = ndimage.label(smooth > smooth.mean())
        float(ndimage.sum(edges, parts, cupy.arange(1, min(int(count), 100) + 1)).max())


@program("training", "jax", "a network is trained by a jitted step on batches of four sizes, under JAX with a block for each array")
def jax_train(rng):
    import jax
    import jax.numpy as jnp

    keys = jax.random.split(jax.random.PRNGKey(0), 8)
    weights = [0.02 * jax.random.normal(k, (1024, 1024)) for k in keys[:6]]
    moments = [jnp.zeros_like(w) for w in weights]

    def loss_of(weights, x):
        for w in weights:
            x = jax.nn.relu(x @ w)
        return jnp.mean(x ** 2)

    @jax.jit
    def step(weights, moments, x):
        loss, slopes = jax.value_and_grad(loss_of)(weights, x)
        moments = [0.9 * m + s for m, s in zip(moments, slopes)]
        return [w - 1e-3 * m for w, m in zip(weights, moments)], moments, loss

    for i in range(60):
        weights, moments, loss = step(weights, moments, jax.random.normal(jax.random.fold_in(keys[7], i), ([2048, 1024, 3072, 512][i % 4], 1024)))
        if i % 10 == 9:
            float(loss)


@program("inference", "jax", "attention over batches that change, array by array without a jit, under JAX with a block for each array")
def jax_arrays(rng):
    import jax
    import jax.numpy as jnp

    weights = [jax.random.normal(jax.random.PRNGKey(i), (512, 512)) / 23 for i in range(4)]
    for i in range(60):
        x = jax.random.normal(jax.random.PRNGKey(i), ([4, 8, 2][i % 3], [128, 256, 384, 64][i % 4], 512))
        q, k, v = (x @ w for w in weights[:3])
        y = jax.nn.softmax(q @ k.transpose(0, 2, 1) / 23) @ v @ weights[3]
        y = (y - y.mean(-1, keepdims=True)) / (y.std(-1, keepdims=True) + 1e-5)
        float(jnp.tanh(y).sum())


@program("data", "thrust", "vectors are sorted, scanned and reduced, with the temporaries of these algorithms")
def thrust_sorts(rng):
    raise NotImplementedError("a program of its own: THRUST")


of_midrun("unet", "training", "images of any size, whose halves are joined again")
of_midrun("lstm", "training", "sequences of any length through a recurrent network")
of_midrun("evaluate", "training", "every third step an evaluation of far larger batches follows")
of_midrun("experts", "training", "each token goes to one of eight experts")
of_midrun("embeddings", "training", "tables with sparse gradients, batches of any size")
of_midrun("generate", "inference", "caches of keys and values that are copied to grow by a token")
of_midrun("streams", "inference", "two streams hand tensors to each other")
of_midrun("graphs", "inference", "graphs are captured and replayed beside work that is not captured")


# Recorded applications of suites/real, which are in the corpus too: kind, licence, what is typical
APPLICATIONS = {
    "pyopencl": ("data", "MIT", "arithmetic over arrays of one size, a temporary for each operation"),
    "opencv": ("data", "Apache-2.0", "filters over the frames of a video"),
    "pyclesperanto": ("data", "BSD-3-Clause", "an image is filtered, and its parts are labelled and measured"),
    "tinygrad": ("training", "MIT", "a small network; blocks are kept and used again by the program itself"),
    "openmm": ("simulation", "MIT", "molecules of water: nearly all blocks are made before the first step"),
    "lightgbm": ("training", "MIT", "trees over a table that is made once"),
    "ffmpeg": ("data", "LGPL-2.1-or-later", "images of frames through two filters and three queues"),
}


def halve(traces):
    """Constants may be tuned on one half, and figures are of the other. A trace keeps its half; new ones are drawn by the seed, in equal parts of each kind."""
    for name in sorted(traces, key=lambda name: hashlib.sha256(f"{SEED} {name}".encode()).digest()):
        t = traces[name]
        if not t["half"]:
            of = [x["half"] for x in traces.values() if x["kind"] == t["kind"]]
            t["half"] = min(("judge", "tune"), key=of.count)


def applications(suite):
    """The facts of suites/real, from the table of its page."""
    with open(os.path.join(suite, "..", "real", "README.md")) as page:
        rows = [line.strip("| \n").split(" | ") for line in page if line.startswith("| `")]
    for name, application, command, *_ in [row for row in rows if len(row) == 4]:
        if (key := name.strip("`")) in APPLICATIONS:
            kind, licence, typical = APPLICATIONS[key]
            yield key, {"file": f"../real/{key}.trace", "kind": kind, "half": None, "application": application.split(",")[0], "licence": licence,
                   "command": command.strip("`"), "device": "PoCL 3.1 on two cores of an Intel Xeon", "date": "2026-11-23" if key == "pyclesperanto" else "2026-11-22",
                   "typical": typical, "truth": {"allocator": "raw"}}


def gather(suite, *folders):
    """Takes the recordings of folders into a suite, beside those that it has."""
    os.makedirs(suite, exist_ok=True)
    path, traces = os.path.join(suite, "corpus.json"), {}
    if os.path.exists(path):
        with open(path) as file:
            traces = json.load(file)["traces"]
    halves = {name: t["half"] for name, t in traces.items()}
    traces.update(applications(suite))
    for facts_of in sorted(f for folder in folders for f in glob.glob(f"{folder}/*.json")):
        with open(facts_of) as file:
            facts = json.load(file)
        name = facts["name"]
        shutil.copyfile(facts_of[:-4] + "trace", os.path.join(suite, f"{name}.trace"))
        keys = ("kind", "half", "application", "licence", "command", "device", "driver", "date", "typical", "truth")
        facts["half"] = None
        traces[name] = {"file": f"{name}.trace", **{key: facts[key] for key in keys}}
    for name, t in traces.items():
        t["half"] = halves.get(name)
    halve(traces)
    with open(path, "w") as file:
        json.dump({"format": "gamut.corpus/1", "licence": "MIT", "seed": SEED, "traces": dict(sorted(traces.items()))}, file, indent=1)
        file.write("\n")


# ---- one run ----


def version_of(package):
    if package == "thrust":
        said = subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout
        return said.split("release ")[1].split(",")[0] if "release " in said else "of CUDA 13.0"
    return importlib.import_module(package).__version__


def gamut(*arguments):
    done = subprocess.run([GAMUT, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"gamut {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def served_to_torch(name):
    """What an allocator of gamut held that served a program of PyTorch: GAMUT_SERVE is its name."""
    import torch

    sys.path.insert(0, os.path.join(HERE, "..", "bench", "inside"))
    import gamut

    gamut.serve()
    torch.manual_seed(SEED)
    PROGRAMS[name]["run"](random.Random(SEED))
    torch.cuda.synchronize()
    counters = gamut.statistics()["devices"][0]["counters"]
    return {"allocator": os.environ["GAMUT_SERVE"], "reserved_peak_bytes": counters["peak_reserved_bytes"], "requested_peak_bytes": counters["peak_requested_bytes"],
            "driver_alloc_count": counters["driver_alloc_count"], "request_count": counters["alloc_count"]}


def one_of_torch(name, path):
    """Runs a program of PyTorch and makes its trace. Returns what PyTorch's allocator held."""
    import torch

    if os.environ.get("GAMUT_SERVE"):
        return served_to_torch(name)
    torch.cuda.init()
    torch.manual_seed(SEED)
    is_recorded = not os.environ.get("PYTORCH_CUDA_ALLOC_CONF")
    if is_recorded:
        torch.cuda.memory._record_memory_history("all", context=None)
    PROGRAMS[name]["run"](random.Random(SEED))
    torch.cuda.synchronize()
    stats = torch.cuda.memory_stats()
    if is_recorded:
        torch.cuda.memory._dump_snapshot(path + ".pickle")
        gamut("trace", "import", path + ".pickle", "-o", path + ".trace", "--force")
        os.remove(path + ".pickle")
    return {"allocator": "caching", "reserved_peak_bytes": stats["reserved_bytes.all.peak"], "allocated_peak_bytes": stats["allocated_bytes.all.peak"],
            "driver_alloc_count": stats["num_device_alloc"], "driver_free_count": stats["num_device_free"], "refused_count": stats["num_ooms"]}


def one(name, path):
    """In a process of its own, or in one of gamut record."""
    uses = PROGRAMS[name]["uses"]
    truth = {"allocator": "raw"}
    if uses[0] == "torch":
        truth = one_of_torch(name, path)
    else:
        PROGRAMS[name]["run"](random.Random(SEED))
    with open(path + ".json", "w") as file:
        json.dump({"name": name, "versions": {u: version_of(u) for u in uses}, "truth": truth}, file)


def command_of(name, path):
    uses = PROGRAMS[name]["uses"]
    record = [GAMUT, "record", "--anonymous", "--force", "-o", path + ".trace", "--"]
    if uses[0] == "thrust":
        return [*record, os.environ["THRUST"], "300000", "60"]
    own = [sys.executable, os.path.abspath(__file__), "--one", name, path]
    return own if uses[0] == "torch" else [*record, *own]


def launch(name, folder, until):
    path, began, entry = os.path.join(os.path.abspath(folder), name), time.time(), PROGRAMS[name]
    environment = dict(os.environ, GAMUT=GAMUT, OMP_NUM_THREADS="2", TORCHINDUCTOR_COMPILE_THREADS="4", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false",
                       XLA_PYTHON_CLIENT_PREALLOCATE="false", XLA_PYTHON_CLIENT_ALLOCATOR="cuda_async", TORCHINDUCTOR_CACHE_DIR=f"{path}.inductor")
    if entry["uses"][0] == "thrust" and "THRUST" not in os.environ:
        return False
    if until - began < 15:
        print(f"{name:26} no time was left", flush=True)
        return False
    try:
        done = subprocess.run(command_of(name, path), env=environment, text=True, capture_output=True, timeout=min(120, until - began))
        said = " | ".join(done.stderr.strip().splitlines()[-2:]) if done.returncode else ""
    except subprocess.TimeoutExpired:
        said = "took too long"
    subprocess.run(["rm", "-rf", f"{path}.inductor", f"{path}.pickle"])
    if not said and entry["uses"][0] == "thrust":
        with open(path + ".json", "w") as file:
            json.dump({"name": name, "versions": {"thrust": version_of("thrust")}, "truth": {"allocator": "raw"}}, file)
    ok = not said and os.path.exists(path + ".trace") and os.path.exists(path + ".json")
    print(f"{name:26} {time.time() - began:5.1f} s  {'ok, ' + str(os.path.getsize(path + '.trace')) + ' bytes' if ok else said or 'nothing was recorded'}", flush=True)
    if not ok:
        return False
    with open(path + ".json") as file:
        facts = json.load(file)
    info = json.loads(gamut("trace", "info", path + ".trace", "--format", "json"))
    facts.update(kind=entry["kind"], typical=entry["typical"], date=time.strftime("%Y-%m-%d", time.gmtime()),
                 application=", ".join(f"{TITLES[u]} {facts['versions'][u]}" for u in entry["uses"]), licence=", ".join(dict.fromkeys(LICENCES[u] for u in entry["uses"])),
                 command="serve_thrust 300000 60" if entry["uses"][0] == "thrust" else f"scripts/corpus.py --only {name}",
                 device=device_name(), driver=driver_version())
    del facts["versions"]
    with open(path + ".json", "w") as file:
        json.dump(facts, file, indent=1)
    return True


def held_under(name, conf, folder, until):
    """What PyTorch held when it ran a program under a setting; None where the program did not end well."""
    path = os.path.join(os.path.abspath(folder), f"{name}.{hashlib.sha256(conf.encode()).hexdigest()[:6]}")
    environment = dict(os.environ, OMP_NUM_THREADS="2", TORCHINDUCTOR_COMPILE_THREADS="4", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    environment.update({"GAMUT_SERVE": conf[6:]} if conf.startswith("serve:") else {"PYTORCH_CUDA_ALLOC_CONF": conf})
    left = until - time.time()
    if left < 12:
        return None
    try:
        done = subprocess.run([sys.executable, os.path.abspath(__file__), "--one", name, path], env=environment, capture_output=True, text=True, timeout=min(100, left))
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        print(name, conf, *done.stderr.strip().splitlines()[-1:], flush=True)
        return None
    with open(path + ".json") as file:
        facts = json.load(file)
    os.remove(path + ".json")
    return {"program": name, "conf": conf, "torch": facts["versions"]["torch"], "device": device_name(), **facts["truth"]}


def asked(what):
    done = subprocess.run(["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader"], capture_output=True, text=True)
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else None


def device_name():
    return asked("name")


def driver_version():
    return asked("driver_version")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--jobs", type=int, default=14)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    parser.add_argument("--conf")
    a = parser.parse_args()
    os.makedirs(a.folder, exist_ok=True)
    if a.conf:
        until = time.time() + a.seconds
        runs = [(name, conf) for conf in a.conf.split(";") for name in a.only.split(",") if PROGRAMS[name]["uses"][0] == "torch"]
        with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
            held = [x for x in pool.map(lambda run: held_under(*run, a.folder, until), runs) if x]
        with open(os.path.join(a.folder, "settings.json"), "w") as file:
            json.dump({"by": "scripts/corpus.py", "date": time.strftime("%Y-%m-%d", time.gmtime()), "runs": held}, file, indent=0)
        print(f"{len(held)} of {len(runs)} runs")
        return
    names, until = a.only.split(","), time.time() + a.seconds
    names.sort(key=lambda name: "compile" not in name)  # they take longest
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        done = list(pool.map(lambda name: launch(name, a.folder, until), names))
    print(f"{sum(done)} of {len(done)} programs")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(*sys.argv[2:4])
    elif sys.argv[1:2] == ["--gather"]:
        gather(*sys.argv[2:])
    elif sys.argv[1:2] == ["--list"]:
        for name, entry in PROGRAMS.items():
            print(f"{name:26} {entry['kind']:10} {entry['typical']}")
    elif len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    else:
        main()
