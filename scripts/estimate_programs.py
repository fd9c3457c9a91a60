#!/usr/bin/env python3
"""Compares what gamut.estimate says on a machine without a GPU with what PyTorch holds on one.

    estimate_programs.py predict FOLDER --seed N [--new KIND]     without a GPU: draws the programs, estimates each, and writes FOLDER/predictions.json
    estimate_programs.py measure FOLDER              on a GPU: runs each freely, and under limits just above and below its estimate; FOLDER/measured.json
    estimate_programs.py record FOLDER NAME... --seed N     on a GPU: FOLDER/NAME.pickle, the history of each
    estimate_programs.py kernels FOLDER --seed N     on a GPU: what each operator, convolution and recurrent layer asks for beside its results, FOLDER/kernels.json
    estimate_programs.py table FOLDER                prints FOLDER/kernels.json as results/data/estimate-kernels.json, which gamut/kernels.py reads
    estimate_programs.py pools-predict FOLDER --seed N      without a GPU: what a pool has after all batch sizes of a decoder are captured, FOLDER/pools.json
    estimate_programs.py pools-measure FOLDER        on a GPU: FOLDER/pools-measured.json
    estimate_programs.py pools-judge FOLDER          prints both as one file, results/data/estimate-pools.json
    estimate_programs.py profiled NAME... --seed N   on the CPU: what PyTorch's profile_memory counts of these programs, as JSON
    estimate_programs.py judge FOLDER                prints both as one file, results/data/estimate.json

The seed draws sizes, batches and lengths. PYTHONPATH names the module gamut, and PATH the program.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time

PROGRAMS, STEPS = {}, 3
CONFS = {"caching": "", "vmm": "expandable_segments:True"}
ABOVE, BELOW = 1.00, 0.95  # limits, as parts of the least that was estimated
# ---- programs ----


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def trainer(model, loss_of, rng, optimizer=None, amp=None, accumulate=1, clip=False):
    import torch

    parameters = [p for p in model.parameters() if p.requires_grad]
    kind = optimizer or rng.choice(["adamw", "adam", "sgd", "fused"])
    made = {"adamw": lambda: torch.optim.AdamW(parameters, lr=1e-4), "adam": lambda: torch.optim.Adam(parameters, lr=1e-4),
            "sgd": lambda: torch.optim.SGD(parameters, lr=1e-4, momentum=0.9), "fused": lambda: torch.optim.AdamW(parameters, lr=1e-4, fused=True)}[kind]()

    def step():
        made.zero_grad()
        for _ in range(accumulate):
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=bool(amp)):
                loss = loss_of()
            loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        made.step()
    return step


def blocks():
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.checkpoint import checkpoint

    class Block(nn.Module):
        def __init__(self, width, heads, causal=True, dropout=0.0):
            super().__init__()
            self.heads, self.causal, self.dropout = heads, causal, nn.Dropout(dropout)
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            rows, length, width = x.shape
            q, k, v = self.qkv(self.before(x)).view(rows, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
            x = x + self.dropout(self.out(F.scaled_dot_product_attention(q, k, v, is_causal=self.causal).transpose(1, 2).reshape(rows, length, width)))
            return x + self.dropout(self.down(F.gelu(self.up(self.between(x)))))

    class Language(nn.Module):
        def __init__(self, width, layers, words=16000, checkpoints=False, dropout=0.0):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(2048, width)
            self.blocks = nn.ModuleList(Block(width, width // 64, dropout=dropout) for _ in range(layers))
            self.norm, self.head, self.checkpoints = nn.LayerNorm(width), nn.Linear(width, words, bias=False), checkpoints

        def forward(self, x):
            x = self.words(x) + self.places(torch.arange(x.shape[1], device=x.device))
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False) if self.checkpoints else block(x)
            return self.head(self.norm(x))

    return Block, Language


def tokens(model, rows, length, words=16000):
    import torch

    def loss():
        x = torch.randint(0, words, (rows, length + 1), device="cuda")
        return torch.nn.functional.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())
    return loss


def language(rng, low, high, dtype=None, **more):
    width, layers = rng.choice([512, 640, 768, 1024]), rng.randint(5, 10)
    model = blocks()[1](width, layers, **more).to("cuda", dtype)
    return model, tokens(model, rng.randint(low, high), rng.randint(400, 1100))


@program
def gpt(rng):
    model, loss = language(rng, 4, 10)
    return trainer(model, loss, rng)


@program
def gpt_amp_clip(rng):
    model, loss = language(rng, 6, 14)
    return trainer(model, loss, rng, amp=True, clip=True)


@program
def gpt_checkpoint(rng):
    model, loss = language(rng, 12, 20, checkpoints=True)
    return trainer(model, loss, rng, amp=True)


@program
def gpt_bfloat16(rng):
    import torch
    model, loss = language(rng, 8, 14, dtype=torch.bfloat16)
    return trainer(model, loss, rng)


@program
def gpt_dropout_accumulate(rng):
    model, loss = language(rng, 4, 8, dropout=0.1)
    return trainer(model, loss, rng, accumulate=rng.randint(2, 4))


@program
def lora(rng):
    import torch
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, of, rank):
            super().__init__()
            self.of, self.a, self.b = of.requires_grad_(False), nn.Linear(of.in_features, rank, bias=False), nn.Linear(rank, of.out_features, bias=False)

        def forward(self, x):
            return self.of(x) + self.b(self.a(x))

    model = blocks()[1](1024, rng.randint(8, 14)).requires_grad_(False)
    for block in model.blocks:
        block.qkv, block.out = Adapted(block.qkv, 16), Adapted(block.out, 16)
    model = model.to("cuda", torch.bfloat16)
    return trainer(model, tokens(model, rng.randint(4, 10), rng.randint(500, 1000)), rng)


@program
def experts(rng):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Experts(nn.Module):
        def __init__(self, width, count):
            super().__init__()
            self.gate, self.count = nn.Linear(width, count), count
            self.up, self.down = (nn.Parameter(torch.randn(count, *shape) * 0.02) for shape in ((width, 4 * width), (4 * width, width)))

        def forward(self, x):
            rows, length, width = x.shape
            flat = x.reshape(-1, width)
            weights, chosen = self.gate(flat).softmax(-1).topk(2)
            order = chosen.flatten().argsort()
            y = flat.repeat_interleave(2, 0)[order].view(self.count, -1, width)
            y = torch.bmm(F.gelu(torch.bmm(y, self.up)), self.down).view(-1, width)
            y = torch.zeros_like(y).index_copy(0, order, y).view(-1, 2, width)
            return x + y.mul(weights[..., None]).sum(1).view(rows, length, width)

    width, Block = 512, blocks()[0]
    parts = [part for _ in range(rng.randint(2, 4)) for part in (Block(width, 8), Experts(width, 8))]
    model = nn.Sequential(nn.Embedding(16000, width), *parts, nn.Linear(width, 16000)).to("cuda")
    return trainer(model, tokens(model, rng.randint(6, 12), 512), rng, amp=rng.random() < 0.5)


@program
def encoder(rng):
    from torch import nn
    width = rng.choice([512, 768])
    layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True)
    model = nn.Sequential(nn.Embedding(16000, width), nn.TransformerEncoder(layer, rng.randint(4, 8)), nn.Linear(width, 16000)).to("cuda")
    return trainer(model, tokens(model, rng.randint(12, 24), rng.randint(200, 400)), rng)


@program
def translation(rng):
    import torch
    from torch import nn
    model = nn.ModuleDict({"words": nn.Embedding(12000, 512), "body": nn.Transformer(512, 8, 4, 4, 2048, batch_first=True), "head": nn.Linear(512, 12000)}).to("cuda")
    rows, source, target = rng.randint(12, 24), rng.randint(150, 300), rng.randint(150, 300)
    mask = nn.Transformer.generate_square_subsequent_mask(target, device="cuda")

    def loss():
        x, y = (torch.randint(0, 12000, (rows, length), device="cuda") for length in (source, target))
        out = model["head"](model["body"](model["words"](x), model["words"](y), tgt_mask=mask))
        return nn.functional.cross_entropy(out.flatten(0, 1), y.flatten())
    return trainer(model, loss, rng)


@program
def llama_like(rng):
    import torch
    from torch import nn
    from torch.nn import functional as F
    width, heads = 768, 12

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = nn.RMSNorm(width), nn.RMSNorm(width)
            self.q, self.kv, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
            self.gate, self.up, self.down = nn.Linear(width, 2048, bias=False), nn.Linear(width, 2048, bias=False), nn.Linear(2048, width, bias=False)

        def forward(self, x, cos, sin):
            rows, length, _ = x.shape
            y = self.before(x)
            q = self.q(y).view(rows, length, heads, 64).transpose(1, 2)
            k, v = self.kv(y).view(rows, length, 2, heads // 2, 64).permute(2, 0, 3, 1, 4)

            def turn(t):
                a, b = t.chunk(2, -1)
                return t * cos + torch.cat([-b, a], -1) * sin
            y = F.scaled_dot_product_attention(turn(q), turn(k).repeat_interleave(2, 1), v.repeat_interleave(2, 1), is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(rows, length, width))
            y = self.between(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    class Model(nn.Module):
        def __init__(self, layers):
            super().__init__()
            self.words, self.layers = nn.Embedding(16000, width), nn.ModuleList(Layer() for _ in range(layers))
            self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, 16000, bias=False)

        def forward(self, x):
            at = torch.arange(x.shape[1], device=x.device)[:, None] / 10000 ** (torch.arange(32, device=x.device) / 32)
            cos, sin = torch.cat([at, at], -1).cos(), torch.cat([at, at], -1).sin()
            x = self.words(x)
            for layer in self.layers:
                x = layer(x, cos, sin)
            return self.head(self.norm(x))

    model = Model(rng.randint(5, 9)).to("cuda")
    return trainer(model, tokens(model, rng.randint(5, 10), rng.randint(500, 1000)), rng, amp=rng.random() < 0.6, accumulate=rng.randint(1, 2))


def transformers_gpt2(rng, checkpoints=False):
    import transformers
    width = rng.choice([512, 768])
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=8000, n_positions=1024, n_embd=width, n_layer=rng.randint(5, 9), n_head=8,
                                                                bos_token_id=0, eos_token_id=0)).cuda()


@program
def hugging_gpt2(rng):
    import torch
    model = transformers_gpt2(rng)
    rows, length = rng.randint(6, 12), rng.randint(300, 900)

    def loss():
        x = torch.randint(1, 8000, (rows, length), device="cuda")
        return model(x, labels=x).loss
    return trainer(model, loss, rng, amp=rng.random() < 0.5)


@program
def hugging_bert(rng):
    import torch
    import transformers
    model = transformers.BertForSequenceClassification(transformers.BertConfig(vocab_size=12000, hidden_size=768, num_hidden_layers=rng.randint(5, 10))).cuda()
    rows, length = rng.randint(24, 48), rng.randint(128, 384)
    return trainer(model, lambda: model(torch.randint(1, 12000, (rows, length), device="cuda"), labels=torch.randint(0, 2, (rows,), device="cuda")).loss, rng)


def vision(rng, name, low, high, size=224, last=False, amp=None, optimizer=None):
    import torch
    import torchvision
    model = getattr(torchvision.models, name)().to("cuda")
    model = model.to(memory_format=torch.channels_last) if last else model
    rows = rng.randint(low, high)

    def loss():
        x = torch.randn(rows, 3, size, size, device="cuda")
        x = x.to(memory_format=torch.channels_last) if last else x
        return torch.nn.functional.cross_entropy(model(x), torch.randint(0, 1000, (rows,), device="cuda"))
    return trainer(model, loss, rng, optimizer, amp)


for name_, arguments_ in {
    "resnet50": ("resnet50", 24, 48), "resnet34_last": ("resnet34", 48, 96, 224, True, True), "mobilenet_v3_large": ("mobilenet_v3_large", 48, 96),
    "efficientnet_b0": ("efficientnet_b0", 24, 48), "densenet121": ("densenet121", 16, 32), "vit_b_16": ("vit_b_16", 24, 48, 224, False, True),
    "vit_b_32": ("vit_b_32", 48, 96), "swin_t": ("swin_t", 24, 48), "convnext_tiny": ("convnext_tiny", 16, 32), "vgg11": ("vgg11", 16, 32),
}.items():
    PROGRAMS[name_] = lambda rng, arguments_=arguments_: vision(rng, *arguments_)


@program
def unet(rng):
    import torch
    from torch import nn
    from torch.nn import functional as F

    def pair(a, b):
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.GroupNorm(8, b), nn.SiLU(), nn.Conv2d(b, b, 3, padding=1), nn.SiLU())

    class Net(nn.Module):
        def __init__(self, w):
            super().__init__()
            self.down, self.up = nn.ModuleList([pair(3, w), pair(w, 2 * w), pair(2 * w, 4 * w)]), nn.ModuleList([pair(6 * w, 2 * w), pair(3 * w, w)])
            self.out = nn.Conv2d(w, 3, 1)

        def forward(self, x):
            a = self.down[0](x)
            b = self.down[1](F.max_pool2d(a, 2))
            y = self.down[2](F.max_pool2d(b, 2))
            y = self.up[0](torch.cat([F.interpolate(y, scale_factor=2), b], 1))
            return self.out(self.up[1](torch.cat([F.interpolate(y, scale_factor=2), a], 1)))

    model, rows, size = Net(rng.choice([48, 64, 96])).to("cuda"), rng.randint(8, 20), rng.choice([96, 128, 160])
    return trainer(model, lambda: F.mse_loss(model(torch.randn(rows, 3, size, size, device="cuda")), torch.randn(rows, 3, size, size, device="cuda")), rng)


@program
def graph(rng):
    import torch
    from torch import nn
    from torch.nn import functional as F
    nodes, edges, width = rng.randint(40000, 90000), rng.randint(300000, 700000), rng.choice([128, 256, 320])
    layers = nn.ModuleList([nn.Linear(128, width), nn.Linear(width, width), nn.Linear(width, 40)]).to("cuda")
    x, y = torch.randn(nodes, 128, device="cuda"), torch.randint(0, 40, (nodes,), device="cuda")
    a, b = (torch.randint(0, nodes, (edges,), device="cuda") for _ in range(2))

    def loss():
        h = x
        for i, layer in enumerate(layers):
            z = layer(h)
            h = torch.zeros_like(z).index_add_(0, b, z[a])
            h = F.dropout(F.relu(h)) if i < 2 else h
        return F.cross_entropy(h, y)
    return trainer(layers, loss, rng)


@program
def recommender(rng):
    import torch
    from torch import nn
    rows, width = rng.randint(30000, 60000), rng.choice([32, 64])
    tables = nn.ModuleList(nn.Embedding(rng.randint(50000, 400000), width) for _ in range(8))
    top = nn.Sequential(nn.Linear(8 * width, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1))
    model = nn.ModuleList([tables, top]).to("cuda")

    def loss():
        x = torch.cat([t(torch.randint(0, t.num_embeddings, (rows,), device="cuda")) for t in tables], 1)
        return nn.functional.binary_cross_entropy_with_logits(top(x).flatten(), torch.rand(rows, device="cuda"))
    return trainer(model, loss, rng)


def infer(model, make):
    import torch

    def step():
        with torch.no_grad():
            model(make()).float().softmax(-1).max(-1)
    return step


@program
def gpt_inference(rng):
    import torch
    model = blocks()[1](1024, rng.randint(10, 16)).to("cuda", torch.bfloat16).eval()
    rows, length = rng.randint(8, 24), rng.randint(700, 1500)
    return infer(model, lambda: torch.randint(0, 16000, (rows, length), device="cuda"))


@program
def vit_inference(rng):
    import torch
    import torchvision
    model, rows = torchvision.models.vit_l_16().to("cuda", torch.bfloat16).eval(), rng.randint(64, 160)
    return infer(model, lambda: torch.randn(rows, 3, 224, 224, device="cuda", dtype=torch.bfloat16))


@program
def resnet_inference(rng):
    import torch
    import torchvision
    model, rows = torchvision.models.resnet101().to("cuda").eval(), rng.randint(64, 160)
    return infer(model, lambda: torch.randn(rows, 3, 224, 224, device="cuda"))


# ---- kinds of programs from which no rule was made: a draw of its own (predict --new) ----

NEW = {}


def new(function):
    NEW[function.__name__] = function
    return function


def hugging(rng, model, rows, length, words=8000, **more):
    import torch
    model = model.to("cuda")

    def loss():
        x = torch.randint(1, words, (rows, length), device="cuda")
        return model(input_ids=x, labels=x).loss
    return trainer(model, loss, rng, **more)


@new
def new_llama_gqa(rng):
    import torch
    import transformers
    config = transformers.LlamaConfig(vocab_size=16000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=rng.randint(5, 9), num_attention_heads=16,
                                      num_key_value_heads=4, max_position_embeddings=2048)
    return hugging(rng, transformers.LlamaForCausalLM(config).to(torch.bfloat16), rng.randint(4, 10), rng.randint(400, 1000), optimizer="adamw")


@new
def new_t5(rng):
    import transformers
    config = transformers.T5Config(vocab_size=12000, d_model=512, d_ff=1024, num_layers=rng.randint(4, 7), num_heads=8, decoder_start_token_id=0)
    return hugging(rng, transformers.T5ForConditionalGeneration(config), rng.randint(8, 20), rng.randint(150, 400), optimizer="adamw")


@new
def new_whisper(rng):
    import torch
    import transformers
    config = transformers.WhisperConfig(vocab_size=8000, d_model=512, encoder_layers=4, decoder_layers=4, encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048,
                                        decoder_ffn_dim=2048, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, suppress_tokens=[], begin_suppress_tokens=[])
    model, rows, length = transformers.WhisperForConditionalGeneration(config).cuda(), rng.randint(4, 10), rng.randint(100, 300)
    return trainer(model, lambda: model(input_features=torch.randn(rows, 80, 3000, device="cuda"), labels=torch.randint(3, 8000, (rows, length), device="cuda")).loss, rng)


@new
def new_mamba(rng):
    import transformers
    config = transformers.MambaConfig(vocab_size=8000, hidden_size=512, num_hidden_layers=rng.randint(2, 4), use_mambapy=False)
    return hugging(rng, transformers.MambaForCausalLM(config), rng.randint(3, 6), rng.randint(64, 128))


@new
def new_clip(rng):
    import torch
    import transformers
    text = {"vocab_size": 8000, "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 6, "num_attention_heads": 8, "eos_token_id": 2}
    model = transformers.CLIPModel(transformers.CLIPConfig(text_config=text, vision_config={"num_hidden_layers": rng.randint(6, 10)})).cuda()
    rows = rng.randint(32, 64)
    return trainer(model, lambda: model(input_ids=torch.randint(3, 8000, (rows, 77), device="cuda"), pixel_values=torch.randn(rows, 3, 224, 224, device="cuda"), return_loss=True).loss, rng,
                   amp=True)


@new
def new_generate(rng):
    import torch
    import transformers
    config = transformers.LlamaConfig(vocab_size=16000, hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=4)
    model, rows, length = transformers.LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval(), rng.randint(16, 48), rng.randint(200, 500)

    def step():
        with torch.no_grad():
            model.generate(torch.randint(3, 16000, (rows, length), device="cuda"), max_new_tokens=20, min_new_tokens=20, do_sample=False, pad_token_id=0)
    return step


for name_, arguments_ in {"new_maxvit_t": ("maxvit_t", 8, 20), "new_regnet_y_1_6gf": ("regnet_y_1_6gf", 24, 64), "new_efficientnet_v2_s_amp": ("efficientnet_v2_s", 16, 40, 224, False, True),
                          "new_shufflenet_v2_x1_5_300": ("shufflenet_v2_x1_5", 32, 80, 300)}.items():
    NEW[name_] = lambda rng, arguments_=arguments_: vision(rng, *arguments_)


@new
def new_deeplab(rng):
    import torch
    import torchvision
    model, rows, size = torchvision.models.segmentation.deeplabv3_resnet50(num_classes=21, weights_backbone=None).cuda(), rng.randint(4, 10), rng.choice([320, 384, 448])
    return trainer(model, lambda: torch.nn.functional.cross_entropy(model(torch.randn(rows, 3, size, size, device="cuda"))["out"],
                                                                     torch.randint(0, 21, (rows, size, size), device="cuda")), rng)


@new
def new_video_r3d_18(rng):
    import torch
    import torchvision
    model, rows = torchvision.models.video.r3d_18().cuda(), rng.randint(4, 10)
    return trainer(model, lambda: torch.nn.functional.cross_entropy(model(torch.randn(rows, 3, 16, 112, 112, device="cuda")), torch.randint(0, 400, (rows,), device="cuda")), rng)


@new
def new_gat(rng):
    import torch
    from torch_geometric.nn import GATConv
    nodes, edges = rng.randint(20000, 50000), rng.randint(200000, 400000)
    layers = torch.nn.ModuleList([GATConv(128, 32, heads=4), GATConv(128, 40)]).cuda()
    x, y, e = torch.randn(nodes, 128, device="cuda"), torch.randint(0, 40, (nodes,), device="cuda"), torch.randint(0, nodes, (2, edges), device="cuda")
    return trainer(layers, lambda: torch.nn.functional.cross_entropy(layers[1](torch.nn.functional.elu(layers[0](x, e)), e), y), rng)


@new
def new_diffusion_unet(rng):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Residual(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.n1, self.c1, self.t, self.n2, self.c2 = nn.GroupNorm(32, a), nn.Conv2d(a, b, 3, padding=1), nn.Linear(512, b), nn.GroupNorm(32, b), nn.Conv2d(b, b, 3, padding=1)
            self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

        def forward(self, x, t):
            y = self.c1(F.silu(self.n1(x))) + self.t(F.silu(t))[:, :, None, None]
            return self.skip(x) + self.c2(F.silu(self.n2(y)))

    class Attend(nn.Module):
        def __init__(self, a):
            super().__init__()
            self.norm, self.qkv, self.out = nn.GroupNorm(32, a), nn.Linear(a, 3 * a), nn.Linear(a, a)

        def forward(self, x):
            n, c, h, w = x.shape
            q, k, v = self.qkv(self.norm(x).flatten(2).transpose(1, 2)).view(n, h * w, 3, c // 64, 64).permute(2, 0, 3, 1, 4)
            return x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, h * w, c)).transpose(1, 2).reshape(n, c, h, w)

    class Net(nn.Module):
        def __init__(self, w):
            super().__init__()
            self.time, self.first, self.last = nn.Sequential(nn.Linear(128, 512), nn.SiLU(), nn.Linear(512, 512)), nn.Conv2d(4, w, 3, padding=1), nn.Conv2d(w, 4, 3, padding=1)
            wide = [w, 2 * w, 4 * w]
            self.downs = nn.ModuleList(Residual(a, b) for a, b in zip([w, *wide], wide))
            self.smaller = nn.ModuleList(nn.Conv2d(b, b, 3, 2, 1) for b in wide[:2])
            self.middle = nn.ModuleList([Residual(4 * w, 4 * w), Attend(4 * w), Residual(4 * w, 4 * w)])
            self.ups = nn.ModuleList([Residual(8 * w, 2 * w), Residual(4 * w, w), Residual(2 * w, w)])

        def forward(self, x, t):
            at = t[:, None] * torch.exp(torch.arange(64, device=x.device) * -0.14)
            t, x, kept = self.time(torch.cat([at.sin(), at.cos()], 1)), self.first(x), []
            for i, down in enumerate(self.downs):
                x = down(x, t)
                kept.append(x)
                x = self.smaller[i](x) if i < 2 else x
            x = self.middle[2](self.middle[1](self.middle[0](x, t)), t)
            for i, up in enumerate(self.ups):
                x = up(torch.cat([x, kept.pop()], 1), t)
                x = F.interpolate(x, scale_factor=2) if i < 2 else x
            return self.last(x)

    model, rows, size = Net(rng.choice([64, 128])).cuda(), rng.randint(8, 20), rng.choice([32, 64])

    def loss():
        noise = torch.randn(rows, 4, size, size, device="cuda")
        return F.mse_loss(model(torch.randn_like(noise), torch.rand(rows, device="cuda") * 1000), noise)
    return trainer(model, loss, rng, amp=rng.random() < 0.5)


@new
def new_gan(rng):
    import torch
    from torch import nn
    w, rows = 64, rng.randint(64, 200)
    makes = nn.Sequential(nn.ConvTranspose2d(100, 8 * w, 4), nn.BatchNorm2d(8 * w), nn.ReLU(), *(part for i in (8, 4, 2) for part in (
        nn.ConvTranspose2d(i * w, i * w // 2, 4, 2, 1), nn.BatchNorm2d(i * w // 2), nn.ReLU())), nn.ConvTranspose2d(w, 3, 4, 2, 1), nn.Tanh()).cuda()
    judges = nn.Sequential(nn.Conv2d(3, w, 4, 2, 1), nn.LeakyReLU(0.2), *(part for i in (1, 2, 4) for part in (
        nn.Conv2d(i * w, 2 * i * w, 4, 2, 1), nn.BatchNorm2d(2 * i * w), nn.LeakyReLU(0.2))), nn.Conv2d(8 * w, 1, 4)).cuda()
    return trainer(nn.ModuleList([makes, judges]), lambda: nn.functional.softplus(judges(makes(torch.randn(rows, 100, 1, 1, device="cuda")))).mean()
                   + nn.functional.softplus(-judges(torch.randn(rows, 3, 64, 64, device="cuda"))).mean(), rng)


@new
def new_lstm_language(rng):
    from torch import nn

    class Model(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.words, self.body, self.head = nn.Embedding(10000, width), nn.LSTM(width, width, 2, batch_first=True, dropout=0.1), nn.Linear(width, 10000)

        def forward(self, x):
            return self.head(self.body(self.words(x))[0])

    return trainer(model := Model(rng.choice([512, 650])).cuda(), tokens(model, rng.randint(32, 64), rng.randint(70, 160), 10000), rng, clip=True)


# ---- recurrent networks, and programs whose sizes depend on values ----


def recurrent(rng, kind, width, count, rows, length, amp=None, **more):
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(10000, width)
            self.body = getattr(nn, kind)(width, width, count, batch_first=True, **more)
            self.head = nn.Linear(width * (2 if more.get("bidirectional") else 1), 10000)

        def forward(self, x):
            return self.head(self.body(self.words(x))[0])

    model = Model().cuda()
    return trainer(model, tokens(model, rows, length, 10000), rng, amp=amp)


for name_, (arguments_, more_) in {"rnn_lstm_amp": (("LSTM", 3), {"amp": True, "dropout": 0.2}), "rnn_gru": (("GRU", 2), {}), "rnn_tanh": (("RNN", 2), {}),
                                   "rnn_lstm_both": (("LSTM", 2), {"bidirectional": True})}.items():
    NEW[name_] = lambda rng, arguments_=arguments_, more_=more_: recurrent(rng, arguments_[0], rng.choice([384, 600, 768]), arguments_[1], rng.randint(24, 72), rng.randint(50, 200), **more_)


@new
def rnn_translation(rng):
    import torch
    from torch import nn
    model = nn.ModuleDict({"a": nn.Embedding(8000, 400), "b": nn.Embedding(8000, 400), "in": nn.LSTM(400, 600, 2), "out": nn.LSTM(400, 600, 2), "head": nn.Linear(600, 8000)}).cuda()
    rows, source, target = rng.randint(32, 80), rng.randint(40, 100), rng.randint(40, 100)

    def loss():
        x, y = torch.randint(0, 8000, (source, rows), device="cuda"), torch.randint(0, 8000, (target, rows), device="cuda")
        out = model["head"](model["out"](model["b"](y), model["in"](model["a"](x))[1])[0])
        return nn.functional.cross_entropy(out.flatten(0, 1), y.flatten())
    return trainer(model, loss, rng)


@new
def rnn_packed(rng):
    import torch
    from torch import nn
    rows, length = rng.randint(64, 128), rng.randint(80, 160)
    model = nn.ModuleDict({"words": nn.Embedding(8000, 300), "body": nn.GRU(300, 512, 2, batch_first=True), "head": nn.Linear(512, 5)}).cuda()
    lengths = torch.randint(length // 4, length, (rows,))

    def loss():
        x = model["words"](torch.randint(0, 8000, (rows, length), device="cuda"))
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return nn.functional.cross_entropy(model["head"](model["body"](packed)[1][-1]), torch.randint(0, 5, (rows,), device="cuda"))
    return trainer(model, loss, rng)


@new
def value_masks(rng):
    import torch
    from torch import nn
    rows, width, part = rng.randint(40000, 60000), 256, rng.choice([0.1, 0.3])
    small, large, head = nn.Linear(64, width).cuda(), nn.Sequential(nn.Linear(width, 1024), nn.GELU(), nn.Linear(1024, width)).cuda(), nn.Linear(width, 10).cuda()

    def loss():
        x, chosen = torch.randn(rows, 64, device="cuda"), torch.rand(rows, device="cuda") < part
        h = small(x)
        h = h.index_put((chosen,), large(h[chosen]))
        return head(h).logsumexp(1).mean()
    return trainer(nn.ModuleList([small, large, head]), loss, rng)


@new
def value_experts(rng):
    import torch
    from torch import nn
    width, count, rows = 256, 8, rng.randint(10000, 16000)
    gate, experts = nn.Linear(width, count).cuda(), nn.ModuleList(nn.Sequential(nn.Linear(width, 1024), nn.SiLU(), nn.Linear(1024, width)) for _ in range(count)).cuda()

    def loss():
        x = torch.randn(rows, width, device="cuda")
        weight, chosen = gate(x).softmax(-1).topk(2)
        out = torch.zeros_like(x)
        for i, expert in enumerate(experts):
            row, place = torch.where(chosen == i)
            out.index_add_(0, row, expert(x[row]) * weight[row, place, None])
        return out.square().mean()
    return trainer(nn.ModuleList([gate, experts]), loss, rng)


@new
def value_detection(rng):
    import torch
    import torchvision
    model = torchvision.models.detection.fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=21, min_size=320, max_size=320).cuda()
    rows = rng.randint(2, 4)

    def loss():
        images = [torch.rand(3, 320, 320, device="cuda") for _ in range(rows)]
        corner = [torch.rand(5, 2, device="cuda") * 200 for _ in range(rows)]
        aims = [{"boxes": torch.cat([c, c + 20 + torch.rand(5, 2, device="cuda") * 80], 1), "labels": torch.randint(1, 21, (5,), device="cuda")} for c in corner]
        return sum(model(images, aims).values())
    return trainer(model, loss, rng, optimizer="sgd")


# ---- more kinds, for a later draw: each is called by its seed, and gives one step ----


def other(function):
    NEW["other_" + function.__name__] = function
    return function


def optimizer_of(kind):
    """A trainer with another optimizer."""
    def made(model, loss_of, rng, scaler=False, **more):
        import torch
        optimizer = getattr(torch.optim, kind)([p for p in model.parameters() if p.requires_grad], lr=1e-4, **more)
        scale = torch.amp.GradScaler("cuda") if scaler else None

        def step():
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16, enabled=scaler):
                loss = loss_of()
            (scale.scale(loss) if scaler else loss).backward()
            if scaler:
                scale.step(optimizer)
                scale.update()
            else:
                optimizer.step()
        return step
    return made


def causal(rng, name, low, high, dtype=None, checkpoints=False, train=trainer, words=8000, more=None, **config):
    import torch
    import transformers
    made = getattr(transformers, f"{name}Config")(vocab_size=words, **config)
    model = getattr(transformers, f"{name}ForCausalLM")(made).to("cuda", dtype and getattr(torch, dtype))
    if checkpoints:
        model.gradient_checkpointing_enable()
    rows, length = rng.randint(low, high), rng.randint(200, 700)

    def loss():
        x = torch.randint(3, words, (rows, length), device="cuda")
        return model(input_ids=x, labels=x, use_cache=False).loss
    return train(model, loss, rng, **(more or {}))


for name_, arguments_ in {
    "opt_checkpoints": dict(name="OPT", low=8, high=20, checkpoints=True, hidden_size=768, num_hidden_layers=8, ffn_dim=3072, num_attention_heads=12, word_embed_proj_dim=768, more={"amp": True}),
    "neox": dict(name="GPTNeoX", low=4, high=10, hidden_size=768, num_hidden_layers=7, intermediate_size=3072, num_attention_heads=12, more={"optimizer": "sgd"}),
    "bloom": dict(name="Bloom", low=4, high=8, hidden_size=768, n_layer=6, n_head=12),
    "qwen3_bf16": dict(name="Qwen3", low=4, high=10, dtype="bfloat16", hidden_size=1024, num_hidden_layers=6, intermediate_size=3072, num_attention_heads=16, num_key_value_heads=8, head_dim=128),
    "gemma2": dict(name="Gemma2", low=2, high=6, hidden_size=768, num_hidden_layers=4, intermediate_size=3072, num_attention_heads=8, num_key_value_heads=4, head_dim=96, more={"amp": True}),
    "mistral_fp16": dict(name="Mistral", low=4, high=10, hidden_size=768, num_hidden_layers=6, intermediate_size=2048, num_attention_heads=12, num_key_value_heads=12, train=optimizer_of("AdamW"), more={"scaler": True}),
    "phi": dict(name="Phi", low=4, high=8, hidden_size=640, num_hidden_layers=6, intermediate_size=2560, num_attention_heads=10, train=optimizer_of("RMSprop"), more={"momentum": 0.9}),
    "mamba2": dict(name="Mamba2", low=2, high=3, hidden_size=256, num_hidden_layers=2, num_heads=8, head_dim=64, state_size=32, n_groups=1, chunk_size=64),
    "value_mixtral": dict(name="Mixtral", low=1, high=2, hidden_size=256, num_hidden_layers=3, intermediate_size=512, num_attention_heads=4, num_key_value_heads=4, num_local_experts=4),
}.items():
    NEW[name_ if name_.startswith("value") else "other_" + name_] = lambda rng, arguments_=arguments_: causal(rng, **arguments_)


def masked(rng, model, rows, length, words=8000, padded=False, **more):
    import torch
    model = model.to("cuda")
    lengths = torch.tensor([rng.randint(length // 2, length) for _ in range(rows)])

    def loss():
        x = torch.randint(3, words, (rows, length), device="cuda")
        mask = {"attention_mask": (torch.arange(length)[None] < lengths[:, None]).long().to("cuda")} if padded else {}
        return model(input_ids=x, labels=x, **mask).loss
    return more.pop("train", trainer)(model, loss, rng, **more)


@other
def bert_padded(rng):
    import transformers
    config = transformers.BertConfig(vocab_size=8000, hidden_size=512, num_hidden_layers=rng.randint(6, 10), num_attention_heads=8, intermediate_size=2048)
    return masked(rng, transformers.BertForMaskedLM(config), rng.randint(16, 32), rng.randint(150, 400), padded=True, train=optimizer_of("AdamW"), scaler=True)


@other
def distilbert_padded_fp32(rng):
    import transformers
    return masked(rng, transformers.DistilBertForMaskedLM(transformers.DistilBertConfig(vocab_size=8000, n_layers=5)), rng.randint(12, 24), rng.randint(150, 400), padded=True)


@other
def deberta(rng):
    import transformers
    config = transformers.DebertaV2Config(vocab_size=8000, hidden_size=512, num_hidden_layers=5, num_attention_heads=8, intermediate_size=2048, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=128)
    return masked(rng, transformers.DebertaV2ForMaskedLM(config), rng.randint(8, 16), rng.randint(128, 256))


@other
def albert(rng):
    import transformers
    config = transformers.AlbertConfig(vocab_size=8000, hidden_size=768, num_hidden_layers=8, num_attention_heads=12, intermediate_size=3072)
    return masked(rng, transformers.AlbertForMaskedLM(config), rng.randint(12, 24), rng.randint(150, 400), amp=True)


@other
def fnet(rng):
    import transformers
    return masked(rng, transformers.FNetForMaskedLM(transformers.FNetConfig(vocab_size=8000, num_hidden_layers=6)), rng.randint(12, 24), rng.randint(150, 400))


@other
def bart(rng):
    import transformers
    config = transformers.BartConfig(vocab_size=8000, d_model=512, encoder_layers=4, decoder_layers=4, encoder_ffn_dim=2048, decoder_ffn_dim=2048, encoder_attention_heads=8, decoder_attention_heads=8)
    return hugging(rng, transformers.BartForConditionalGeneration(config), rng.randint(8, 20), rng.randint(150, 400))


@other
def mt5_amp(rng):
    import transformers
    config = transformers.MT5Config(vocab_size=8000, d_model=512, d_ff=1024, num_layers=5, num_heads=6, decoder_start_token_id=0)
    return hugging(rng, transformers.MT5ForConditionalGeneration(config), rng.randint(8, 20), rng.randint(150, 400), amp=True)


@other
def wav2vec2_ctc(rng):
    import torch
    import transformers
    model = transformers.Wav2Vec2ForCTC(transformers.Wav2Vec2Config(vocab_size=32, hidden_size=512, num_hidden_layers=5, num_attention_heads=8, intermediate_size=2048, mask_time_prob=0.0)).cuda()
    rows, length = rng.randint(2, 6), rng.randint(30000, 80000)
    return trainer(model, lambda: model(torch.randn(rows, length, device="cuda")).logits.logsumexp(-1).mean(), rng)


def pictures(rng, name, rows, size, seen=lambda out: out.last_hidden_state, train=trainer, config=None, more=None):
    import torch
    import transformers
    model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**(config or {}))).cuda()
    return train(model, lambda: seen(model(torch.randn(rows, 3, size, size, device="cuda"))).square().mean(), rng, **(more or {}))


for name_, arguments_ in {"beit": dict(name="Beit", size=224, config={"num_hidden_layers": 6}, more={"amp": True}), "dinov2": dict(name="Dinov2", size=224, config={"num_hidden_layers": 8, "hidden_size": 384, "num_attention_heads": 6, "image_size": 224}),
                          "segformer": dict(name="Segformer", size=256), "swinv2": dict(name="Swinv2", size=224, config={"embed_dim": 96}), "pvt": dict(name="PvtV2", size=224), "vit_mae": dict(name="ViTMAE", size=224, config={"num_hidden_layers": 8})}.items():
    NEW["other_" + name_] = lambda rng, arguments_=arguments_: pictures(rng, rows=rng.randint(16, 40), **arguments_)

for name_, arguments_ in {"googlenet_inference": ("inception_v3", 32, 96, 299), "mnasnet": ("mnasnet1_0", 32, 80), "alexnet": ("alexnet", 64, 256), "wide_resnet_amp": ("wide_resnet50_2", 24, 64, 224, False, True),
                          "squeezenet_200": ("squeezenet1_0", 32, 96, 200), "swin_v2_t": ("swin_v2_t", 12, 32), "convnext_base_last": ("convnext_base", 12, 24, 192, True, True), "resnext_160": ("resnext50_32x4d", 24, 64, 160),
                          "regnet_x_last": ("regnet_x_800mf", 32, 96, 192, True, True), "vit_l_32": ("vit_l_32", 16, 40)}.items():
    if name_ != "googlenet_inference":
        NEW["other_" + name_] = lambda rng, arguments_=arguments_: vision(rng, *arguments_)


@other
def inception_inference(rng):
    import torch
    import torchvision
    model, rows = torchvision.models.inception_v3(init_weights=False).to("cuda", torch.float16).eval(), rng.randint(32, 96)
    return infer(model, lambda: torch.randn(rows, 3, 299, 299, device="cuda", dtype=torch.float16))


def segmentation(rng, name, size, rows, **more):
    import torch
    import torchvision
    model = getattr(torchvision.models.segmentation, name)(num_classes=21, weights_backbone=None).cuda()
    return trainer(model, lambda: torch.nn.functional.cross_entropy(model(torch.randn(rows, 3, size, size, device="cuda"))["out"], torch.randint(0, 21, (rows, size, size), device="cuda")), rng, **more)


NEW["other_lraspp"] = lambda rng: segmentation(rng, "lraspp_mobilenet_v3_large", rng.choice([256, 320]), rng.randint(8, 20))
NEW["other_fcn_amp"] = lambda rng: segmentation(rng, "fcn_resnet50", rng.choice([256, 320]), rng.randint(4, 10), amp=True)


def video(rng, name, frames, size, rows, **more):
    import torch
    import torchvision
    model = getattr(torchvision.models.video, name)().cuda()
    return trainer(model, lambda: torch.nn.functional.cross_entropy(model(torch.randn(rows, 3, frames, size, size, device="cuda")), torch.randint(0, 400, (rows,), device="cuda")), rng, **more)


NEW["other_mvit"] = lambda rng: video(rng, "mvit_v1_b", 16, 224, rng.randint(1, 3), amp=True)
NEW["other_s3d"] = lambda rng: video(rng, "s3d", 16, 224, rng.randint(2, 6))
NEW["other_swin3d"] = lambda rng: video(rng, "swin3d_t", 8, 160, rng.randint(2, 5))


def detector(rng, name, size, aims=None):
    import torch
    import torchvision
    model = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, num_classes=21).cuda()
    rows = rng.randint(2, 3)

    def loss():
        corner = [torch.rand(4, 2, device="cuda") * 150 for _ in range(rows)]
        boxes = [{"boxes": torch.cat([c, c + 20 + torch.rand(4, 2, device="cuda") * 60], 1), "labels": torch.randint(1, 21, (4,), device="cuda")} for c in corner]
        return sum(model([torch.rand(3, size, size, device="cuda") for _ in range(rows)], boxes).values())
    return trainer(model, loss, rng, optimizer="sgd")


NEW["value_ssdlite"] = lambda rng: detector(rng, "ssdlite320_mobilenet_v3_large", 320)


def graphs(rng, make, **more):
    import torch
    nodes, edges = rng.randint(20000, 60000), rng.randint(150000, 400000)
    layers = torch.nn.ModuleList(make()).cuda()
    x, y, e = torch.randn(nodes, 128, device="cuda"), torch.randint(0, 40, (nodes,), device="cuda"), torch.randint(0, nodes, (2, edges), device="cuda")
    return trainer(layers, lambda: torch.nn.functional.cross_entropy(layers[1](layers[0](x, e).relu(), e), y), rng, **more)


def geometric(name, *shapes, **more):
    def make():
        import torch_geometric.nn as g
        return [getattr(g, name)(*shape, **more) for shape in shapes]
    return lambda rng: graphs(rng, make)


NEW["other_gcn"], NEW["other_sage"] = geometric("GCNConv", (128, 256), (256, 40)), geometric("SAGEConv", (128, 256), (256, 40))
NEW["other_graph_transformer"], NEW["other_gatv2"] = geometric("TransformerConv", (128, 128), (128, 40)), geometric("GATv2Conv", (128, 96), (96, 40))


@other
def vae(rng):
    import torch
    from torch import nn
    w, rows = rng.choice([32, 48]), rng.randint(64, 160)
    down = nn.Sequential(*(p for a, b in ((3, w), (w, 2 * w), (2 * w, 4 * w)) for p in (nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.LeakyReLU())), nn.Flatten(), nn.Linear(4 * w * 64, 256))
    up = nn.Sequential(nn.Linear(128, 4 * w * 64), nn.Unflatten(1, (4 * w, 8, 8)), *(p for a, b in ((4 * w, 2 * w), (2 * w, w), (w, w)) for p in (nn.ConvTranspose2d(a, b, 3, 2, 1, 1), nn.BatchNorm2d(b), nn.LeakyReLU())), nn.Conv2d(w, 3, 3, 1, 1))
    model = nn.ModuleList([down, up]).cuda()

    def loss():
        x = torch.rand(rows, 3, 64, 64, device="cuda")
        mean, spread = model[0](x).chunk(2, 1)
        made = model[1](mean + torch.randn_like(mean) * (spread / 2).exp())
        return nn.functional.mse_loss(made.sigmoid(), x) - (1 + spread - mean.square() - spread.exp()).mean()
    return trainer(model, loss, rng)


@other
def wavenet(rng):
    import torch
    from torch import nn
    w, rows, length = rng.choice([64, 96]), rng.randint(4, 10), rng.randint(4000, 9000)

    class Layer(nn.Module):
        def __init__(self, step):
            super().__init__()
            self.both, self.out = nn.Conv1d(w, 2 * w, 2, dilation=step, padding=step), nn.Conv1d(w, w, 1)

        def forward(self, x):
            a, b = self.both(x)[..., : x.shape[-1]].chunk(2, 1)
            return x + self.out(a.tanh() * b.sigmoid())
    model = nn.Sequential(nn.Conv1d(1, w, 1), *(Layer(2**i) for i in range(8)), nn.Conv1d(w, 256, 1)).cuda()
    return trainer(model, lambda: nn.functional.cross_entropy(model(torch.randn(rows, 1, length, device="cuda")), torch.randint(0, 256, (rows, length), device="cuda")), rng)


@other
def unet3d(rng):
    import torch
    from torch import nn
    w, rows, size = rng.choice([16, 24]), rng.randint(1, 3), rng.choice([48, 64])
    pair = lambda a, b: nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.InstanceNorm3d(b), nn.ReLU(), nn.Conv3d(b, b, 3, padding=1), nn.ReLU())  # noqa: E731
    model = nn.ModuleDict({"a": pair(1, w), "b": pair(w, 2 * w), "up": nn.ConvTranspose3d(2 * w, w, 2, 2), "c": pair(2 * w, w), "out": nn.Conv3d(w, 3, 1)}).cuda()

    def loss():
        a = model["a"](torch.randn(rows, 1, size, size, size, device="cuda"))
        b = model["up"](model["b"](nn.functional.max_pool3d(a, 2)))
        return nn.functional.cross_entropy(model["out"](model["c"](torch.cat([a, b], 1))), torch.randint(0, 3, (rows, size, size, size), device="cuda"))
    return trainer(model, loss, rng)


@other
def super_resolution(rng):
    import torch
    from torch import nn
    w, rows, size = 64, rng.randint(4, 16), rng.choice([48, 64])
    model = nn.Sequential(nn.Conv2d(3, w, 3, padding=1), *(p for _ in range(8) for p in (nn.Conv2d(w, w, 3, padding=1), nn.PReLU())), nn.Conv2d(w, 4 * w, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(w, 3, 3, padding=1)).cuda()
    return trainer(model, lambda: nn.functional.l1_loss(model(torch.rand(rows, 3, size, size, device="cuda")), torch.rand(rows, 3, 2 * size, 2 * size, device="cuda")), rng)


@other
def mixer(rng):
    import torch
    from torch import nn
    width, places, rows = 384, 196, rng.randint(32, 96)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.a, self.b = (nn.Sequential(nn.Linear(n, 4 * n), nn.GELU(), nn.Linear(4 * n, n)) for n in (places, width))

        def forward(self, x):
            x = x + self.a(self.n1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.b(self.n2(x))
    model = nn.ModuleList([nn.Conv2d(3, width, 16, 16), *(Layer() for _ in range(rng.randint(4, 8)))]).cuda()

    def loss():
        x = model[0](torch.randn(rows, 3, 224, 224, device="cuda")).flatten(2).transpose(1, 2)
        for layer in model[1:]:
            x = layer(x)
        return x.mean(1).square().mean()
    return trainer(model, loss, rng, amp=rng.random() < 0.5)


@other
def embedding_bags(rng):
    import torch
    from torch import nn
    rows, width = rng.randint(8000, 20000), 64
    tables = nn.ModuleList(nn.EmbeddingBag(rng.randint(20000, 200000), width) for _ in range(10))
    top = nn.Sequential(nn.Linear(10 * width, 1024), nn.ReLU(), nn.Linear(1024, 1))
    model = nn.ModuleList([tables, top]).cuda()

    def loss():
        x = torch.cat([t(torch.randint(0, t.num_embeddings, (rows, 12), device="cuda")) for t in tables], 1)
        return nn.functional.binary_cross_entropy_with_logits(top(x).flatten(), torch.rand(rows, device="cuda"))
    return optimizer_of("Adagrad")(model, loss, rng)


@other
def double_backward(rng):
    import torch
    from torch import nn
    rows, width = rng.randint(40000, 120000), rng.choice([128, 256])
    model = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)).cuda()

    def loss():
        x = torch.rand(rows, 2, device="cuda", requires_grad=True)
        u = model(x)
        first = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
        second = torch.autograd.grad(first[:, 0].sum(), x, create_graph=True)[0][:, 0]
        return (first[:, 1] - second).square().mean() + u.square().mean()
    return trainer(model, loss, rng, optimizer="adam")


@other
def linear_attention(rng):
    import torch
    from torch import nn
    width, heads, rows, length = 512, 8, rng.randint(4, 10), rng.randint(300, 900)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.qkv, self.out, self.mlp = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width), nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 3, heads, -1).unbind(2)
            q, k = nn.functional.elu(q) + 1, (nn.functional.elu(k) + 1).cumsum(1)
            y = torch.einsum("blhd,bhde->blhe", q, torch.einsum("blhd,blhe->bhde", k, v)) / torch.einsum("blhd,blhd->blh", q, k)[..., None]
            x = x + self.out(y.flatten(2))
            return x + self.mlp(x)
    model = nn.Sequential(nn.Embedding(8000, width), *(Layer() for _ in range(rng.randint(4, 8))), nn.Linear(width, 8000)).cuda()
    return trainer(model, tokens(model, rows, length, 8000), rng)


@other
def fft_convolution(rng):
    import torch
    from torch import nn
    width, rows, length = 256, rng.randint(4, 12), rng.choice([1024, 1500, 2048])

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.filter, self.norm, self.mix = nn.Parameter(torch.randn(width, length) * 0.02), nn.LayerNorm(width), nn.Linear(width, 2 * width)

        def forward(self, x):
            y = self.norm(x).transpose(1, 2)
            y = torch.fft.irfft(torch.fft.rfft(y, n=2 * length) * torch.fft.rfft(self.filter, n=2 * length), n=2 * length)[..., :length]
            return x + nn.functional.glu(self.mix(y.transpose(1, 2)))
    model = nn.Sequential(nn.Embedding(4000, width), *(Layer() for _ in range(4)), nn.Linear(width, 4000)).cuda()
    return trainer(model, tokens(model, rows, length, 4000), rng)


@other
def speech_ctc(rng):
    import torch
    from torch import nn
    rows, length = rng.randint(8, 24), rng.randint(300, 800)
    front = nn.Sequential(nn.Conv2d(1, 32, 3, 2, 1), nn.Hardtanh(), nn.Conv2d(32, 32, 3, (1, 2), 1), nn.Hardtanh())
    model = nn.ModuleList([front, nn.GRU(32 * 20, 400, 2, batch_first=True, bidirectional=True), nn.Linear(800, 40)]).cuda()

    def loss():
        x = front(torch.randn(rows, 1, length, 80, device="cuda"))
        x = model[2](model[1](x.transpose(1, 2).flatten(2))[0]).log_softmax(-1).transpose(0, 1)
        return nn.functional.ctc_loss(x, torch.randint(1, 40, (rows, 30), device="cuda"), torch.full((rows,), x.shape[0]), torch.full((rows,), 30))
    return trainer(model, loss, rng)


@other
def contrastive_ema(rng):
    import copy
    import torch
    import torchvision
    model, rows = torchvision.models.resnet18(num_classes=128).cuda(), rng.randint(48, 128)
    slow = copy.deepcopy(model).requires_grad_(False)

    def loss():
        x = torch.rand(rows, 3, 160, 160, device="cuda")
        a = torch.nn.functional.normalize(model(x), dim=1)
        with torch.no_grad():
            for p, q in zip(slow.parameters(), model.parameters()):
                p.lerp_(q, 0.01)
            b = torch.nn.functional.normalize(slow(x.flip(3)), dim=1)
        return torch.nn.functional.cross_entropy(a @ b.t() * 10, torch.arange(rows, device="cuda"))
    return trainer(model, loss, rng)


@other
def diffusion_sampling(rng):
    import torch
    from torch import nn
    from torch.nn import functional as F
    w, rows, size = rng.choice([96, 128]), rng.randint(4, 12), rng.choice([48, 64])

    class Cross(nn.Module):
        def __init__(self, a):
            super().__init__()
            self.norm, self.q, self.kv, self.out = nn.GroupNorm(16, a), nn.Linear(a, a), nn.Linear(512, 2 * a), nn.Linear(a, a)

        def forward(self, x, text):
            n, c, h, v = x.shape
            q = self.q(self.norm(x).flatten(2).transpose(1, 2)).view(n, h * v, 8, -1).transpose(1, 2)
            k, y = self.kv(text).view(n, -1, 2, 8, c // 8).permute(2, 0, 3, 1, 4)
            return x + self.out(F.scaled_dot_product_attention(q, k, y).transpose(1, 2).flatten(2)).transpose(1, 2).reshape(n, c, h, v)
    conv = lambda a, b, s=1: nn.Sequential(nn.GroupNorm(16, a), nn.SiLU(), nn.Conv2d(a, b, 3, s, 1))  # noqa: E731
    model = nn.ModuleDict({"in": nn.Conv2d(4, w, 3, 1, 1), "a": conv(w, w), "x": Cross(w), "down": conv(w, 2 * w, 2), "b": conv(2 * w, 2 * w), "y": Cross(2 * w), "up": conv(2 * w, w), "c": conv(2 * w, w), "out": nn.Conv2d(w, 4, 3, 1, 1)}).to("cuda", torch.float16).eval()

    def step():
        with torch.no_grad():
            x, text = torch.randn(rows, 4, size, size, device="cuda", dtype=torch.float16), torch.randn(rows, 77, 512, device="cuda", dtype=torch.float16)
            for _ in range(4):
                a = model["x"](model["a"](model["in"](x)), text)
                b = model["y"](model["b"](model["down"](a)), text)
                x = x - 0.1 * model["out"](model["c"](torch.cat([F.interpolate(model["up"](b), scale_factor=2), a], 1)))
    return step


@other
def cache_inference(rng):
    import torch
    from torch import nn
    from torch.nn import functional as F
    width, heads, count, rows, length = 1024, 16, rng.randint(6, 12), rng.randint(8, 32), rng.randint(100, 400)
    layers = nn.ModuleList(nn.ModuleDict({"qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width), "mlp": nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))}) for _ in range(count)).to("cuda", torch.float16).eval()

    def step():
        with torch.no_grad():
            x, cache = torch.randn(rows, length, width, device="cuda", dtype=torch.float16), [None] * count
            for token in range(12):
                for i, layer in enumerate(layers):
                    q, k, v = layer["qkv"](x).view(rows, -1, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
                    cache[i] = (k, v) if not token else tuple(torch.cat([old, now], 2) for old, now in zip(cache[i], (k, v)))
                    y = F.scaled_dot_product_attention(q, *cache[i], is_causal=not token)
                    x = x + layer["out"](y.transpose(1, 2).flatten(2))
                    x = x + layer["mlp"](x)
                x = x[:, -1:]
    return step


@other
def opt_generate(rng):
    import torch
    import transformers
    config = transformers.OPTConfig(vocab_size=8000, hidden_size=768, num_hidden_layers=6, ffn_dim=3072, num_attention_heads=12, word_embed_proj_dim=768)
    model, rows, length = transformers.OPTForCausalLM(config).to("cuda", torch.float16).eval(), rng.randint(16, 48), rng.randint(200, 500)

    def step():
        with torch.no_grad():
            model.generate(torch.randint(3, 8000, (rows, length), device="cuda"), max_new_tokens=12, min_new_tokens=12, do_sample=False, pad_token_id=0)
    return step


@other
def checkpoint_resnet(rng):
    import torch
    import torchvision
    from torch.utils.checkpoint import checkpoint
    model, rows = torchvision.models.resnet34().cuda(), rng.randint(48, 128)

    def loss():
        x = model.maxpool(model.relu(model.bn1(model.conv1(torch.randn(rows, 3, 192, 192, device="cuda")))))
        for part in (model.layer1, model.layer2, model.layer3, model.layer4):
            x = checkpoint(part, x, use_reentrant=False)
        return torch.nn.functional.cross_entropy(model.fc(model.avgpool(x).flatten(1)), torch.randint(0, 1000, (rows,), device="cuda"))
    return trainer(model, loss, rng)


@other
def lora_qwen2(rng):
    import torch
    import transformers
    from torch import nn

    class Adapted(nn.Module):
        def __init__(self, of):
            super().__init__()
            self.of, self.a, self.b = of, nn.Linear(of.in_features, 8, bias=False), nn.Linear(8, of.out_features, bias=False)

        def forward(self, x):
            return self.of(x) + 2 * self.b(self.a(nn.functional.dropout(x, 0.05)))
    config = transformers.Qwen2Config(vocab_size=16000, hidden_size=1024, num_hidden_layers=8, intermediate_size=2816, num_attention_heads=16, num_key_value_heads=4)
    model = transformers.Qwen2ForCausalLM(config).requires_grad_(False)
    for layer in model.model.layers:
        layer.self_attn.q_proj, layer.self_attn.v_proj, layer.mlp.down_proj = Adapted(layer.self_attn.q_proj), Adapted(layer.self_attn.v_proj), Adapted(layer.mlp.down_proj)
    return hugging(rng, model.to(torch.bfloat16), rng.randint(4, 12), rng.randint(300, 700), 16000)


@other
def patchtst(rng):
    import torch
    import transformers
    config = transformers.PatchTSTConfig(num_input_channels=12, context_length=512, patch_length=16, patch_stride=8, d_model=256, num_hidden_layers=4, num_attention_heads=8, ffn_dim=1024, prediction_length=96)
    model, rows = transformers.PatchTSTForPrediction(config).cuda(), rng.randint(24, 64)
    return trainer(model, lambda: model(past_values=torch.randn(rows, 512, 12, device="cuda"), future_values=torch.randn(rows, 96, 12, device="cuda")).loss, rng)


@other
def convlstm(rng):
    import torch
    from torch import nn
    w, rows, length, size = rng.choice([32, 64]), rng.randint(8, 20), rng.randint(6, 12), 64
    model = nn.ModuleList([nn.Conv2d(3 + w, 4 * w, 3, padding=1), nn.Conv2d(w, 3, 1)]).cuda()

    def loss():
        h = c = torch.zeros(rows, w, size, size, device="cuda")
        total = 0
        for _ in range(length):
            x = torch.rand(rows, 3, size, size, device="cuda")
            i, f, o, g = model[0](torch.cat([x, h], 1)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            total = total + nn.functional.mse_loss(model[1](h), x)
        return total
    return trainer(model, loss, rng)


# ---- kinds of a sixth draw ----

for name_, arguments_ in {
    "gpt_neo": dict(name="GPTNeo", low=3, high=8, hidden_size=768, num_layers=6, num_heads=12, attention_types=[[["global", "local"], 3]], train=optimizer_of("RAdam")),
    "gptj": dict(name="GPTJ", low=4, high=8, n_embd=768, n_layer=6, n_head=12, rotary_dim=32, more={"amp": True}),
    "falcon_bf16": dict(name="Falcon", low=4, high=10, dtype="bfloat16", hidden_size=1024, num_hidden_layers=7, num_attention_heads=16, more={"clip": True}),
    "stablelm": dict(name="StableLm", low=3, high=8, hidden_size=768, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=12, num_key_value_heads=12, train=optimizer_of("NAdam")),
    "olmo2_accumulate": dict(name="Olmo2", low=3, high=6, hidden_size=768, intermediate_size=2304, num_hidden_layers=6, num_attention_heads=12, num_key_value_heads=12, more={"amp": True, "accumulate": 3}),
    "bigcode": dict(name="GPTBigCode", low=4, high=8, n_embd=768, n_layer=6, n_head=12),
    "phi3_checkpoints": dict(name="Phi3", low=6, high=12, checkpoints=True, hidden_size=768, intermediate_size=2048, num_hidden_layers=8, num_attention_heads=12, num_key_value_heads=12, pad_token_id=0, train=optimizer_of("Adafactor")),
    "cohere": dict(name="Cohere", low=3, high=8, hidden_size=768, intermediate_size=2048, num_hidden_layers=5, num_attention_heads=12, num_key_value_heads=12, more={"optimizer": "fused"}),
    "granite_scaler": dict(name="Granite", low=4, high=8, hidden_size=768, intermediate_size=2048, num_hidden_layers=6, num_attention_heads=12, num_key_value_heads=4, train=optimizer_of("AdamW"), more={"scaler": True}),
    "mpt": dict(name="Mpt", low=3, high=6, d_model=768, n_layers=6, n_heads=12),
    "biogpt": dict(name="BioGpt", low=4, high=10, hidden_size=640, num_hidden_layers=6, num_attention_heads=10, intermediate_size=2560, train=optimizer_of("Adamax")),
    "value_olmoe": dict(name="Olmoe", low=1, high=2, hidden_size=256, num_hidden_layers=2, intermediate_size=256, num_attention_heads=4, num_key_value_heads=4, num_experts=4, num_experts_per_tok=2),
}.items():
    NEW[name_ if name_.startswith("value") else "other_" + name_] = lambda rng, arguments_=arguments_: causal(rng, **arguments_)

for name_, (kind_, config_, low_, high_, more_) in {
    "roberta_padded_amp": ("Roberta", dict(hidden_size=512, num_hidden_layers=7, num_attention_heads=8, intermediate_size=2048), 12, 28, dict(padded=True, amp=True)),
    "electra_padded": ("Electra", dict(embedding_size=128, hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048), 12, 24, dict(padded=True, train=optimizer_of("Adamax"))),
    "mpnet_padded": ("MPNet", dict(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048), 10, 20, dict(padded=True, clip=True)),
    "longformer_padded": ("Longformer", dict(attention_window=64, hidden_size=512, num_hidden_layers=4, num_attention_heads=8, intermediate_size=2048, pad_token_id=1, sep_token_id=2), 6, 12, dict(padded=True)),
    "roformer": ("RoFormer", dict(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048), 10, 20, dict(train=optimizer_of("RMSprop"))),
    "nystromformer": ("Nystromformer", dict(hidden_size=512, num_hidden_layers=4, num_attention_heads=8, intermediate_size=2048, segment_means_seq_len=256, num_landmarks=32), 8, 16, dict(length=256)),
    "squeezebert": ("SqueezeBert", dict(hidden_size=512, embedding_size=512, num_hidden_layers=5, num_attention_heads=8, intermediate_size=2048), 10, 20, {}),
    "convbert": ("ConvBert", dict(hidden_size=512, embedding_size=256, num_hidden_layers=4, num_attention_heads=8, intermediate_size=2048), 8, 16, dict(amp=True)),
    "xlm_roberta_accumulate": ("XLMRoberta", dict(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048), 8, 16, dict(padded=True, accumulate=2)),
}.items():
    def masked_(rng, kind_=kind_, config_=config_, low_=low_, high_=high_, more_=more_):
        import transformers
        config = getattr(transformers, kind_ + "Config")(vocab_size=8000, max_position_embeddings=1026, **config_)
        return masked(rng, getattr(transformers, kind_ + "ForMaskedLM")(config), rng.randint(low_, high_), **{"length": rng.randint(150, 400), **more_})
    NEW["other_" + name_] = masked_

for name_, (kind_, config_, more_) in {
    "pegasus": ("Pegasus", {}, dict(amp=True)), "marian": ("Marian", dict(pad_token_id=0, decoder_start_token_id=0, forced_eos_token_id=None), dict(clip=True)),
    "blenderbot": ("Blenderbot", {}, dict(accumulate=2)), "m2m_100": ("M2M100", dict(encoder_layerdrop=0.2, decoder_layerdrop=0.2), {}), "mbart_fp16": ("MBart", {}, dict(scaler=True)),
    "led": ("LED", dict(attention_window=64, max_encoder_position_embeddings=1024), {}),
}.items():
    def pairs_(rng, kind_=kind_, config_=config_, more_=more_):
        import transformers
        config = getattr(transformers, kind_ + "Config")(vocab_size=8000, d_model=512, encoder_layers=4, decoder_layers=4, encoder_ffn_dim=2048, decoder_ffn_dim=2048, encoder_attention_heads=8, decoder_attention_heads=8, max_position_embeddings=1024, **config_)
        model, rows, length = getattr(transformers, "MarianMTModel" if kind_ == "Marian" else kind_ + "ForConditionalGeneration")(config), rng.randint(6, 16), rng.randint(128, 320)
        return masked(rng, model, rows, length, train=optimizer_of("AdamW"), **more_) if "scaler" in more_ else masked(rng, model, rows, length, **more_)
    NEW["other_" + name_] = pairs_

for name_, (kind_, config_, more_) in {
    "hubert": ("Hubert", dict(layerdrop=0.1), {}), "data2vec_audio_amp": ("Data2VecAudio", dict(layerdrop=0.0, num_conv_pos_embeddings=5, conv_pos_kernel_size=19), dict(amp=True)),
    "wavlm": ("WavLM", dict(layerdrop=0.0), {}), "unispeech": ("UniSpeech", dict(layerdrop=0.0), {}),
}.items():
    def speech_(rng, kind_=kind_, config_=config_, more_=more_):
        import torch
        import transformers
        model = getattr(transformers, kind_ + "ForCTC")(getattr(transformers, kind_ + "Config")(vocab_size=32, hidden_size=512, num_hidden_layers=5, num_attention_heads=8, intermediate_size=2048, mask_time_prob=0.0, **config_)).cuda()
        rows, length = rng.randint(2, 6), rng.randint(30000, 80000)
        return trainer(model, lambda: model(torch.randn(rows, length, device="cuda")).logits.logsumexp(-1).mean(), rng, **more_)
    NEW["other_" + name_] = speech_


@other
def speech_to_text(rng):
    import torch
    import transformers
    config = transformers.Speech2TextConfig(vocab_size=8000, d_model=384, encoder_layers=4, decoder_layers=3, encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536, decoder_ffn_dim=1536)
    model, rows, length = transformers.Speech2TextForConditionalGeneration(config).cuda(), rng.randint(6, 16), rng.randint(400, 900)
    return trainer(model, lambda: model(input_features=torch.randn(rows, length, 80, device="cuda"), labels=torch.randint(3, 8000, (rows, 60), device="cuda")).loss, rng)


@other
def audio_spectrogram(rng):
    import torch
    import transformers
    model, rows = transformers.ASTModel(transformers.ASTConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=6, intermediate_size=1536, max_length=512)).cuda(), rng.randint(8, 24)
    return trainer(model, lambda: model(torch.randn(rows, 512, 128, device="cuda")).pooler_output.square().mean(), rng, amp=True)


for name_, arguments_ in {"mobilevit": dict(name="MobileViT", size=256), "levit": dict(name="Levit", size=224, train=optimizer_of("NAdam")), "convnextv2_amp": dict(name="ConvNextV2", size=224, more={"amp": True}),
                          "dpt": dict(name="DPT", size=384, rows_=(4, 10), config={"num_hidden_layers": 6, "backbone_out_indices": [1, 2, 4, 5]}), "swiftformer": dict(name="SwiftFormer", size=224), "poolformer": dict(name="PoolFormer", size=224, train=optimizer_of("Adagrad")),
                          "hiera": dict(name="Hiera", size=224, rows_=(8, 20)), "focalnet": dict(name="FocalNet", size=224), "siglip": dict(name="SiglipVision", size=224, config={"num_hidden_layers": 6}, more={"amp": True, "clip": True}),
                          "cvt": dict(name="Cvt", size=224, rows_=(8, 20)), "deit_adadelta": dict(name="DeiT", size=224, config={"num_hidden_layers": 6}, train=optimizer_of("Adadelta"))}.items():
    NEW["other_" + name_] = lambda rng, arguments_=arguments_: pictures(rng, rows=rng.randint(*arguments_.get("rows_", (12, 32))), **{key: value for key, value in arguments_.items() if key != "rows_"})


def clips(rng, name, **more):
    import torch
    import transformers
    model, rows = getattr(transformers, name + "Model")(getattr(transformers, name + "Config")(num_hidden_layers=5, num_frames=8)).cuda(), rng.randint(2, 6)
    return trainer(model, lambda: model(torch.randn(rows, 8, 3, 224, 224, device="cuda")).last_hidden_state.square().mean(), rng, **more)


NEW["other_videomae"], NEW["other_timesformer_amp"] = lambda rng: clips(rng, "VideoMAE"), lambda rng: clips(rng, "Timesformer", amp=True)


def series(rng, name, **config):
    import torch
    import transformers
    made = getattr(transformers, name + "Config")(prediction_length=48, context_length=192, lags_sequence=[1, 2, 3], num_time_features=2, d_model=128, encoder_layers=3, decoder_layers=3, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=512, decoder_ffn_dim=512, **config)
    model, rows, past = getattr(transformers, name + "ForPrediction")(made).cuda(), rng.randint(48, 160), 195
    make = lambda *shape: torch.rand(rows, *shape, device="cuda")  # noqa: E731
    return trainer(model, lambda: model(past_values=make(past), past_time_features=make(past, 2), past_observed_mask=torch.ones(rows, past, device="cuda"), future_values=make(48), future_time_features=make(48, 2)).loss, rng)


NEW["other_informer"], NEW["other_autoformer"], NEW["other_time_series"] = lambda rng: series(rng, "Informer"), lambda rng: series(rng, "Autoformer"), lambda rng: series(rng, "TimeSeriesTransformer")
NEW["other_cheb"], NEW["other_tag"] = geometric("ChebConv", (128, 128, 3), (128, 40, 3)), geometric("TAGConv", (128, 128), (128, 40))


@other
def gin(rng):
    import torch_geometric.nn as g
    from torch import nn
    return graphs(rng, lambda: [g.GINConv(nn.Sequential(nn.Linear(a, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, b))) for a, b in ((128, 256), (256, 40))])


@other
def distillation(rng):
    import torch
    import torchvision
    from torch.nn import functional as F
    teacher, model, rows = torchvision.models.resnet34().cuda().eval().requires_grad_(False), torchvision.models.mobilenet_v2().cuda(), rng.randint(32, 80)

    def loss():
        x = torch.rand(rows, 3, 192, 192, device="cuda")
        return F.kl_div(F.log_softmax(model(x) / 2, 1), F.log_softmax(teacher(x) / 2, 1), reduction="batchmean", log_target=True)
    return trainer(model, loss, rng, amp=True)


@other
def average_of_weights(rng):
    import torch
    model = blocks()[1](rng.choice([512, 640]), rng.randint(5, 8)).cuda()
    step = optimizer_of("SGD")(model, tokens(model, rng.randint(4, 10), rng.randint(300, 800)), rng, momentum=0.9, nesterov=True)
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))

    def both():
        step()
        mean.update_parameters(model)
    return both


@other
def triplets(rng):
    import torch
    from torch import nn
    width, rows = rng.choice([512, 1024]), rng.randint(8000, 24000)
    model = nn.Sequential(nn.Linear(300, width), nn.LayerNorm(width), nn.Mish(), nn.Linear(width, width), nn.Softplus(), nn.Linear(width, 128)).cuda()
    return optimizer_of("ASGD")(model, lambda: nn.functional.triplet_margin_loss(*(model(torch.randn(rows, 300, device="cuda")) for _ in range(3))), rng)


@other
def radiance(rng):
    import torch
    from torch import nn
    rays, points = rng.randint(1000, 3000), 64
    model = nn.Sequential(nn.Linear(63, 256), nn.ReLU(), *(p for _ in range(6) for p in (nn.Linear(256, 256), nn.ReLU())), nn.Linear(256, 4)).cuda()

    def loss():
        x = torch.rand(rays, points, 3, device="cuda")
        waves = [f(x * 2**i) for i in range(10) for f in (torch.sin, torch.cos)]
        out = model(torch.cat([x, *waves], -1))
        seen = 1 - torch.exp(-nn.functional.softplus(out[..., 3]) / points)
        weight = seen * torch.cumprod(torch.cat([torch.ones_like(seen[:, :1]), 1 - seen + 1e-10], 1), 1)[:, :-1]
        return nn.functional.huber_loss((weight[..., None] * out[..., :3].sigmoid()).sum(1), torch.rand(rays, 3, device="cuda"))
    return trainer(model, loss, rng, optimizer="adam")


@other
def point_net(rng):
    import torch
    from torch import nn
    rows, points = rng.randint(16, 48), rng.choice([1024, 2048])
    model = nn.ModuleList([nn.Sequential(*(p for a, b in ((3, 64), (64, 128), (128, 1024)) for p in (nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU()))), nn.Sequential(nn.Linear(1024, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Dropout(0.3), nn.Linear(512, 40))]).cuda()
    return trainer(model, lambda: nn.functional.cross_entropy(model[1](model[0](torch.rand(rows, 3, points, device="cuda")).max(2)[0]), torch.randint(0, 40, (rows,), device="cuda"), label_smoothing=0.1), rng)


@other
def flow(rng):
    import torch
    from torch import nn
    width, rows = rng.choice([256, 512]), rng.randint(10000, 40000)
    model = nn.ModuleList(nn.Sequential(nn.Linear(32, width), nn.ELU(), nn.Linear(width, width), nn.ELU(), nn.Linear(width, 64)) for _ in range(8)).cuda()

    def loss():
        x, total = torch.randn(rows, 64, device="cuda"), 0
        for part in model:
            a, b = x.chunk(2, 1)
            scale, shift = part(a).chunk(2, 1)
            x, total = torch.cat([b * scale.tanh().exp() + shift, a], 1), total + scale.tanh().sum(1)
        return (x.square().sum(1) / 2 - total).mean()
    return trainer(model, loss, rng, clip=True)


@other
def encoder_of_torch(rng):
    import torch
    from torch import nn
    width, rows, length = rng.choice([512, 768]), rng.randint(6, 16), rng.randint(150, 400)
    model = nn.Sequential(nn.Embedding(8000, width), nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, activation="gelu"), rng.randint(4, 8)), nn.Linear(width, 8000)).cuda()
    return optimizer_of("AdamW")(model, tokens(model, rows, length, 8000), rng, scaler=True)


@other
def per_sample_gradients(rng):
    import torch
    from torch import nn
    from torch.func import functional_call, grad, vmap
    width, rows = rng.choice([256, 512]), rng.randint(64, 256)
    model = nn.Sequential(nn.Linear(256, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 10)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step():
        values = {name: p.detach() for name, p in model.named_parameters()}
        one = lambda p, x, y: nn.functional.cross_entropy(functional_call(model, p, (x[None],)), y[None])  # noqa: E731
        found = vmap(grad(one), (None, 0, 0))(values, torch.randn(rows, 256, device="cuda"), torch.randint(0, 10, (rows,), device="cuda"))
        for name, p in model.named_parameters():
            p.grad = found[name].clamp(-1, 1).mean(0)
        optimizer.step()
    return step


PROGRAMS.update(NEW)


# ---- captured graphs ----


class Decoder:
    """One token for each row of a batch, with a cache of keys and values."""

    def __init__(self, rng):
        import torch
        from torch import nn
        self.width, self.heads, self.length = rng.choice([768, 1024, 1280]), 8, rng.choice([256, 512])
        layers = rng.randint(4, 8)
        self.sizes = [1, 2, 4] + list(range(8, 8 * rng.randint(12, 32), 8))
        self.layers = nn.ModuleList(nn.ModuleDict({"norm": nn.LayerNorm(self.width), "qkv": nn.Linear(self.width, 3 * self.width), "out": nn.Linear(self.width, self.width),
                                                   "up": nn.Linear(self.width, 4 * self.width), "down": nn.Linear(4 * self.width, self.width)}) for _ in range(layers))
        self.layers = self.layers.to("cuda", torch.bfloat16).eval()
        self.words = nn.Embedding(32000, self.width).to("cuda", torch.bfloat16)
        most = self.sizes[-1]
        self.tokens = torch.zeros(most, dtype=torch.long, device="cuda")
        shape = (most, self.heads, self.length, self.width // self.heads)
        self.cache = [[torch.zeros(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2)] for _ in range(layers)]

    def step(self, rows):
        import torch
        from torch.nn import functional as F
        x = self.words(self.tokens[:rows])
        for layer, (keys, values) in zip(self.layers, self.cache):
            q, k, v = layer["qkv"](layer["norm"](x)).view(rows, 3, self.heads, 1, -1).unbind(1)
            keys[:rows, :, -1:] = k
            values[:rows, :, -1:] = v
            y = (q @ keys[:rows].transpose(-1, -2) / 8).softmax(-1) @ values[:rows]
            x = x + layer["out"](y.reshape(rows, -1))
            x = x + layer["down"](F.gelu(layer["up"](x)))
        return (x @ self.words.weight.t()).float()

    def orders(self, seed):
        shuffled = list(self.sizes)
        random.Random(seed).shuffle(shuffled)
        return {"ascending": self.sizes, "descending": self.sizes[::-1], "shuffled": shuffled}


def one_pool_prediction(seed):
    import gamut.estimate
    import torch
    with tempfile.TemporaryDirectory() as folder, gamut.estimate(steps=1000, out=f"{folder}/trace.txt", quiet=True) as made, torch.no_grad():
        decoder, outputs = Decoder(random.Random(seed)), {}
        for rows in decoder.sizes:
            with made.capture(rows):
                outputs[rows] = decoder.step(rows)
        said = lambda order: {"pool": made.pool(order), "first": made.pool(order[:1]), "second": made.pool(order[:2])}  # noqa: E731
        orders = {name: said(order) for name, order in decoder.orders(seed).items()}
        orders |= {json.dumps(order): {**said(order), "best_of": setting} for setting in CONFS for order, _ in [made.best(setting, 60)]}
        for i, rows in enumerate(decoder.sizes):
            made.captures[rows] = i % 2, made.captures[rows][1]
        orders |= {f"{name}, two streams": said(order) for name, order in decoder.orders(seed).items()}
    return {"sizes": decoder.sizes, "orders": orders}


def one_pool(seed, name):
    """Captures all sizes in this order, and says what the pool has; then after half of the graphs and all were released and the cache was emptied."""
    import gc
    import torch

    def bytes_of(pool):
        return sum(s["total_size"] for s in torch.cuda.memory_snapshot() if tuple(s["segment_pool_id"]) == tuple(pool))
    with torch.no_grad():
        decoder = Decoder(random.Random(seed))
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for rows in decoder.sizes:
                decoder.step(rows)
        torch.cuda.synchronize()
        pool, kept, steps = torch.cuda.graph_pool_handle(), [], []
        order = json.loads(name) if name.startswith("[") else decoder.orders(seed)[name.split(",")[0]]
        streams = [torch.cuda.Stream() for _ in range(2)]
        for rows in order:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=pool, stream=streams[decoder.sizes.index(rows) % 2 if "two streams" in name else 0]):
                output = decoder.step(rows)
            kept.append((graph, output))
            steps.append(bytes_of(pool))
        released = []
        for count in (len(kept) // 2, len(kept)):  # half of the graphs, then all, with what they made
            del kept[:count], graph, output
            graph = output = None
            gc.collect()
            torch.cuda.empty_cache()
            released.append(bytes_of(pool))
    return {"pool": steps[-1], "steps": steps, "released": released, "device": torch.cuda.get_device_name(0), "torch": torch.__version__}


# ---- what operators ask for beside their results ----

NETWORKS = """resnet18 resnet34 resnet50 resnext50_32x4d vgg11 vgg16 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small efficientnet_b0 densenet121 convnext_tiny
              squeezenet1_1 shufflenet_v2_x1_0 vit_b_16 vit_b_32 vit_l_16 swin_t""".split()
KINDS, ROWS, PARTS = ("float32", "bfloat16 last", "bfloat16", "float32 last"), (32, 64, 16, 96, 8, 48, 24, 128), 10


class Counted:
    """What was asked for in this block, in bytes. Less what it made, these are the operator's own blocks."""

    @staticmethod
    def now():
        import torch
        stats = torch._C._cuda_memoryStats(0)
        return stats["requested_bytes"]["all"]["allocated"], stats["requested_bytes"]["all"]["current"]

    def __enter__(self):
        self.before = self.now()
        return self

    def __exit__(self, *_):
        self.asked, self.stays = (after - before for after, before in zip(self.now(), self.before))


def functions(seed):
    """Calls functions of PyTorch that programs use, forward and backward, each with tensors of three sizes."""
    import torch
    from torch import nn
    from torch.nn import functional as F
    rng = random.Random(f"{seed} functions")
    whole, real = lambda high, *shape: torch.randint(0, high, shape, device="cuda"), lambda *shape: torch.randn(*shape, device="cuda", requires_grad=True)  # noqa: E731
    one = "abs acos asin atan ceil cos cosh digamma erf erfc exp exp2 expm1 floor frac isfinite isnan lgamma log log10 log1p log2 logical_not neg reciprocal round rsqrt sgn sigmoid sign " \
          "signbit sin sinh softmax sqrt square tan tanh trunc cumsum cumprod logcumsumexp logsumexp cummax std var mean sum prod amax amin argmax argmin max min median sort argsort norm flip any all " \
          "nansum count_nonzero diff isinf erfinv logit clone contiguous triu tril nan_to_num positive ravel logdet_".split()
    nearby = "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu relu6 rrelu selu silu softplus softshrink softsign tanhshrink dropout alpha_dropout normalize".split()
    two = "add sub mul div pow maximum minimum fmod remainder atan2 hypot eq ne lt le gt ge where_ logaddexp floor_divide fmax fmin copysign xlogy lerp_ dist cosine_similarity".split()
    along = ("softmax", "cumsum", "cumprod", "logcumsumexp", "logsumexp", "cummax")
    for rows, width in ((rng.randint(2000, 6000), 512), (rng.randint(300, 900), rng.randint(700, 3000)), (rng.randint(100000, 200000), 24)):
        a, b, positive = real(rows, width), real(rows, width), lambda: real(rows, width).abs() + 0.5  # noqa: E731
        c, h, s = rng.choice([32, 64]), rng.randint(12, 20), rng.randint(20, 40)
        image, volume, signal = real(16, c, s, s), real(4, c, 10, h, h), real(16, c, 200)
        index, at = whole(rows, rows), whole(rows, rows, width)
        calls = [lambda n=n: getattr(torch, n)(positive(), **({"dim": -1} if n in along else {"dims": [0]} if n == "flip" else {})) for n in one if hasattr(torch, n)]
        calls += [lambda n=n, d=d: getattr(torch, n)(positive(), dim=d) for n in ("sum", "mean", "amax", "max", "argmax", "std", "var", "cumsum", "sort", "median", "logsumexp", "softmax", "prod", "norm") for d in (0, 1)]
        calls += [lambda n=n: getattr(F, n)(a * 1) for n in nearby] + [lambda n=n: getattr(torch, n)(positive(), positive()) for n in two if hasattr(torch, n)]
        calls += [lambda n=n: getattr(F, n)(a.sigmoid(), b.sigmoid().detach()) for n in ("binary_cross_entropy", "binary_cross_entropy_with_logits", "huber_loss", "kl_div", "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss")]
        calls += [lambda k=k: F.cross_entropy(a, whole(width, rows), **k) for k in ({}, {"label_smoothing": 0.1}, {"reduction": "none"}, {"weight": torch.rand(width, device="cuda")})]
        calls += [lambda: F.cross_entropy(image, whole(c, 16, s, s)), lambda: F.nll_loss(image.log_softmax(1), whole(c, 16, s, s)), lambda: F.multi_margin_loss(a, whole(width, rows)), lambda: F.cosine_embedding_loss(a, b, torch.ones(rows, device="cuda")),
                  lambda: F.triplet_margin_loss(a, b, a + b), lambda: F.margin_ranking_loss(a, b, torch.ones_like(a)), lambda: F.ctc_loss(real(100, 16, 40).log_softmax(2), whole(39, 16, 20) + 1, torch.full((16,), 100), torch.full((16,), 20))]
        calls += [lambda: a[index], lambda: a[:, None].repeat(1, 2, 1), lambda: a.gather(0, at), lambda: torch.zeros_like(a).scatter(0, at, b), lambda: torch.zeros_like(a).scatter_add(0, at, b), lambda: torch.zeros_like(a).scatter_reduce(0, at, b, "amax"),
                  lambda: torch.zeros_like(a).scatter_reduce(0, at, b, "mean"), lambda: torch.zeros_like(a).index_add(0, index, b), lambda: torch.zeros_like(a).index_reduce(0, index, b, "mean"), lambda: a.index_select(0, index), lambda: a.take_along_dim(at, 0),
                  lambda: a.masked_fill(b > 0, 0.0), lambda: a.masked_scatter(b > 0, b), lambda: torch.where(b > 0, a, b), lambda: a.repeat_interleave(2, 0), lambda: a.roll(3, 0), lambda: a.roll((1, 2), (0, 1)), lambda: a.index_put((index,), b, accumulate=True),
                  lambda: a.index_fill(0, index, 0.0), lambda: a.index_copy(0, torch.randperm(rows, device="cuda"), b), lambda: a.clamp(-1, 1), lambda: a.clamp_min(0), lambda: torch.stack([a, b]), lambda: torch.cat([a, b], 1), lambda: a.view(-1, width // 2 * 2 if width % 2 else width).chunk(2, 1)[0] if width % 2 == 0 else a]
        calls += [lambda: a[b > 0], lambda: (b > 0).nonzero(), lambda: torch.unique(index), lambda: torch.unique_consecutive(index), lambda: torch.bincount(index), lambda: torch.searchsorted(torch.arange(100.0, device="cuda"), a.detach()), lambda: torch.bucketize(a.detach(), torch.arange(50.0, device="cuda")),
                  lambda: torch.histc(a.detach()), lambda: torch.isin(index, index[:50]), lambda: a.topk(5), lambda: a.kthvalue(3), lambda: torch.multinomial(torch.rand(64, 1000, device="cuda"), 20), lambda: torch.randperm(rows, device="cuda"), lambda: torch.eye(1000, device="cuda") @ real(1000, 8),
                  lambda: torch.linspace(0, 1, rows, device="cuda"), lambda: torch.empty_like(a).normal_(), lambda: torch.empty_like(a).uniform_(), lambda: torch.empty_like(a).exponential_(), lambda: torch.poisson(a.detach().abs()), lambda: torch.bernoulli(a.detach().sigmoid()), lambda: F.one_hot(index[:3000], rows) if rows < 6000 else a,
                  lambda: torch.meshgrid(torch.arange(500, device="cuda"), torch.arange(300, device="cuda"), indexing="ij")[0].float() * real(1), lambda: F.gumbel_softmax(a), lambda: F.embedding_bag(whole(5000, 512, 20), real(5000, 64)), lambda: F.embedding(whole(5000, 64, 200), real(5000, 64)), lambda: F.pairwise_distance(a, b),
                  lambda: torch.cdist(real(400, 64), real(300, 64)), lambda: torch.einsum("bik,bjk->bij", real(8, 200, 64), real(8, 150, 64)), lambda: torch.einsum("bhid,hde->bhie", real(4, 8, 100, 64), real(8, 64, 32)), lambda: real(8, 100, 64) @ real(64, 32), lambda: F.bilinear(real(200, 64), real(200, 32), real(16, 64, 32)), lambda: torch.outer(real(500), real(600)),
                  lambda: torch.baddbmm(real(8, 100, 100), real(8, 100, 64), real(8, 64, 100)), lambda: torch.fft.rfft(signal).abs(), lambda: torch.fft.irfft(torch.fft.rfft(signal, n=400) * torch.fft.rfft(real(c, 200), n=400)), lambda: torch.fft.fft2(image).abs(), lambda: torch.stft(real(8, 8000), 400, 160, window=torch.hann_window(400, device="cuda"), return_complex=True).abs(),
                  lambda: torch.linalg.solve(real(8, 64, 64), real(8, 64, 4)), lambda: torch.linalg.inv(real(8, 64, 64)), lambda: torch.linalg.svd(real(4, 64, 64))[1], lambda: torch.linalg.qr(real(4, 64, 64))[0], lambda: torch.linalg.eigh(real(4, 64, 64) @ torch.eye(64, device="cuda"))[0], lambda: torch.linalg.cholesky(torch.eye(64, device="cuda") * (2 + real(1).square())), lambda: torch.logdet(torch.eye(64, device="cuda") * (2 + real(1).square()))]
        calls += [lambda n=n: getattr(F, n)(image, 2) for n in ("avg_pool2d", "max_pool2d", "pixel_unshuffle", "adaptive_avg_pool2d", "adaptive_max_pool2d") if s % 2 == 0 or n != "pixel_unshuffle"] + [lambda n=n: getattr(F, n)(volume, 2) for n in ("avg_pool3d", "max_pool3d", "adaptive_avg_pool3d")]
        calls += [lambda n=n: getattr(F, n)(signal, 2) for n in ("avg_pool1d", "max_pool1d", "adaptive_avg_pool1d", "adaptive_max_pool1d")] + [lambda m=m: F.interpolate(image, scale_factor=2, mode=m) for m in ("nearest", "bilinear", "bicubic", "area", "nearest-exact")]
        calls += [lambda: F.adaptive_avg_pool2d(image, 7), lambda: F.interpolate(volume, scale_factor=2, mode="trilinear"), lambda: F.interpolate(volume, scale_factor=2), lambda: F.interpolate(signal, scale_factor=2, mode="linear"), lambda: F.interpolate(signal, scale_factor=2), lambda: F.lp_pool2d(image, 2, 2), lambda: F.pixel_shuffle(image, 2), lambda: F.channel_shuffle(image, 4),
                  lambda: F.unfold(image, 3), lambda: F.fold(real(16, c * 9, 64), (10, 10), 3), lambda: F.grid_sample(image, torch.rand(16, s, s, 2, device="cuda") * 2 - 1), lambda: F.affine_grid(real(16, 2, 3), (16, c, s, s)), lambda: F.local_response_norm(image, 5), *(lambda m=m: F.pad(image, (1, 2, 1, 2), m) for m in ("constant", "reflect", "replicate", "circular"))]
        norms = [(nn.BatchNorm1d(c), signal), (nn.BatchNorm1d(width), a), (nn.BatchNorm2d(c), image), (nn.BatchNorm3d(c), volume), (nn.InstanceNorm2d(c, affine=True), image), (nn.InstanceNorm1d(c), signal), (nn.GroupNorm(8, c), image), (nn.GroupNorm(8, c), signal), (nn.LayerNorm(width), a), (nn.RMSNorm(width), a), (nn.PReLU(c), image), (nn.GLU(), image if s % 2 == 0 else signal),
                 (nn.Dropout2d(0.1), image), (nn.Dropout1d(0.1), signal), (nn.FeatureAlphaDropout(0.1), image), (nn.Bilinear(64, 32, 16), None), (nn.utils.parametrizations.weight_norm(nn.Linear(width, 64)), a), (nn.utils.parametrizations.spectral_norm(nn.Linear(width, 64)), a), (nn.Softmax2d(), image), (nn.BatchNorm2d(c).eval(), image), (nn.BatchNorm1d(width).eval(), a)]
        calls += [lambda m=m, x=x: m.cuda()(x) for m, x in norms if x is not None]
        for call in calls:
            for kind in (torch.float32, torch.bfloat16):
                try:
                    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=kind != torch.float32):
                        y = call()
                    y = y[0] if isinstance(y, tuple) else y
                    if y.requires_grad:
                        y.backward(torch.ones_like(y))
                except (RuntimeError, TypeError, NotImplementedError, IndexError) as wrong:
                    print("functions:", str(wrong)[:100], file=sys.stderr)
                a.grad = b.grad = y = image.grad = volume.grad = signal.grad = None
    for kind in "Adam AdamW SGD RMSprop Adagrad Adadelta Adamax NAdam RAdam ASGD Rprop Adafactor Muon".split():
        for more in ({"foreach": True}, {"foreach": False}, {"fused": True}):
            model = nn.Sequential(nn.Linear(500, 600, bias=False), nn.Linear(600, 700, bias=False)).cuda()
            try:
                made = getattr(torch.optim, kind)(model.parameters(), lr=1e-3, **more)
                for _ in range(2):
                    model(torch.randn(64, 500, device="cuda")).square().mean().backward()
                    made.step()
            except (RuntimeError, TypeError, ValueError, AttributeError) as wrong:
                print("functions:", kind, more, str(wrong)[:100], file=sys.stderr)


def one_operators(name, seed):
    """Runs a program with real tensors: for each operator its calls as [asked for in addition, the rule's least, the rule's most, times]."""
    import torch
    from gamut import kernels
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves
    rows = {}

    class Measure(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            with Counted() as counted:
                out = func(*args, **(kwargs or {}))
            tensors = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor) and t.is_cuda]
            operator = func._schema.name.split("::")[-1]
            if tensors:
                rule = kernels.OPERATORS.get(operator)
                said = [size if isinstance(size, tuple) else (size, size) for part in rule(args, tensors) for one in part for size in (one if isinstance(one, list) else [one])] if rule else []
                key = operator, counted.asked - counted.stays, sum(low for low, _ in said), sum(high for _, high in said)
                rows[key] = rows.get(key, 0) + 1
            return out

    torch.cuda.init()
    with Measure():
        functions(seed) if name == "functions" else run(name, seed)
    return [[*key, times] for key, times in rows.items()]


def layers():
    """The convolutions of known networks: (channels, results, window, stride, padding, dilation, groups, height, width)."""
    import torch
    import torchvision
    found = {}

    def see(layer, args, _):
        found[layer.in_channels, layer.out_channels, layer.kernel_size, layer.stride, layer.padding, layer.dilation, layer.groups, *args[0].shape[2:]] = True
    with torch.device("meta"), torch.no_grad():
        for name in NETWORKS:
            model = getattr(torchvision.models, name)().eval()
            for module in model.modules():
                if isinstance(module, torch.nn.Conv2d):
                    module.register_forward_hook(see)
            model(torch.empty(2, 3, 224, 224))
    one, three = ((1, 1), (0, 0)), ((3, 3), (1, 1))
    for w in (48, 64, 96):
        for size in (96, 128, 160):
            for a, b, down, (window, padding) in ((3, w, 1, three), (w, w, 1, three), (w, 2 * w, 2, three), (2 * w, 2 * w, 2, three), (2 * w, 4 * w, 4, three),
                                                  (4 * w, 4 * w, 4, three), (6 * w, 2 * w, 2, three), (3 * w, w, 1, three), (w, 3, 1, one)):
                found[a, b, window, (1, 1), padding, (1, 1), 1, size // down, size // down] = True
    return list(found)


def grid():
    """Convolutions of common windows between powers of two of channels, at sizes that are powers of two, halves of 300 and 320, or those of signals."""
    pairs = [(3, 32), (3, 64), (32, 32), (32, 64), (64, 64), (64, 128), (128, 128), (128, 256), (256, 256), (256, 512), (512, 512), (512, 1024), (1024, 1024)]
    found = {}
    for (window, stride, padding, dilation), sizes in {((3, 3), 1, 1, 1): (8, 10, 16, 20, 32, 40, 64, 75, 128), ((3, 3), 2, 1, 1): (8, 16, 32, 40, 64, 75, 128), ((4, 4), 2, 1, 1): (8, 16, 32, 64, 128), ((1, 1), 1, 0, 1): (8, 16, 20, 32, 40, 64, 75),
                                                       ((5, 5), 1, 2, 1): (16, 32, 64), ((7, 7), 1, 3, 1): (32, 64), ((1, 1), 2, 0, 1): (16, 32, 64), ((2, 2), 2, 0, 1): (16, 32, 64), ((3, 3), 1, 2, 2): (16, 32, 40), ((3, 3), 1, 4, 4): (32, 40),
                                                       ((3, 3), 1, 12, 12): (32, 40, 56), ((3, 3), 1, 24, 24): (40, 56)}.items():
        for a, b in pairs + [(b, a) for a, b in pairs if a != b] + ([(2048, 256), (2048, 512), (1280, 256)] if dilation > 1 or window == (1, 1) else []):
            for size in sizes:
                found[a, b, window, (stride,) * 2, (padding,) * 2, (dilation,) * 2, 1, size, size] = True
    for width in (16, 32, 64, 96, 128, 240, 384, 576, 960):  # one filter for each channel; some channels together
        for size in (10, 16, 20, 32, 40, 64, 75):
            for window, stride in ((3, 1), (3, 2), (5, 1), (5, 2), (7, 1)):
                found[width, width, (window,) * 2, (stride,) * 2, (window // 2,) * 2, (1, 1), width, size, size] = True
    for width in (64, 128, 256, 512):
        for groups in (4, 32):
            for size in (10, 20, 40):
                found[width, width, (3, 3), (1, 1), (1, 1), (1, 1), groups, size, size] = True
    for a, b in [(1, 64), (1, 512), (80, 256), (64, 64), (64, 128), (128, 128), (256, 256), (256, 512), (512, 512), (512, 1024)]:  # of signals
        for window, stride, padding, dilation in ((1, 1, 0, 1), (2, 1, 1, 1), (2, 1, 8, 8), (3, 1, 1, 1), (3, 1, 4, 4), (3, 2, 0, 1), (3, 2, 1, 1), (4, 2, 1, 1), (8, 4, 2, 1), (10, 5, 0, 1)):
            for length in (200, 1000, 4000, 16000):
                found[a, b, (1, window), (1, stride), (0, padding), (1, dilation), 1, 1, length] = True
    return sorted(found)


def one_part_of_convolutions(part, seconds, seed=0):
    """[layer, kind, rows, forward, backward to the input, backward to the weight] of every PARTS-th layer, as far as the time allows. seed: of the grid's, some."""
    import torch
    until, rows_, aten, rng = time.time() + seconds, [], torch.ops.aten, random.Random(f"{seed} {part}")
    mine = grid()[part::PARTS] if seed else layers()[part::PARTS]
    if seed:
        rng.shuffle(mine)
    for rows, kind in [(rows, kind) for rows in ((16, 64, 4) if seed else ROWS) for kind in KINDS]:
        for layer in mine:
            a, b, window, stride, padding, dilation, groups, height, width = layer
            if time.time() > until or rows * height * width * a > 150e6 or rows * height * width * b / stride[0] ** 2 > 150e6:
                continue
            with torch.device("cuda"):
                form = {"dtype": getattr(torch, kind.split()[0]), "memory_format": torch.channels_last if "last" in kind else torch.contiguous_format}
                x, w = torch.empty(rows, a, height, width, **form), torch.empty(b, a // groups, *window, **form)
            more = (stride, padding, dilation, False, (0, 0), groups)
            with Counted() as forward:
                y = aten.convolution(x, w, None, *more)
            asked = [forward.asked - forward.stays]
            for mask in ([True, False, False], [False, True, False]):
                with Counted() as backward:
                    made = aten.convolution_backward(y, x, w, None, *more, mask)
                asked.append(backward.asked - backward.stays)
                del made
            rows_.append([layer, kind, rows, *asked])
            del x, w, y
            torch.cuda.empty_cache()
    return rows_


def one_recurrent(seed, seconds):
    """[mode, layers, hidden, input, length, rows, both directions, dropout, type, training, sizes asked for and freed (negative), forward and backward]."""
    import torch
    until, rng, found = time.time() + seconds, random.Random(seed), []
    while time.time() < until and len(found) < 250:
        mode, count, hidden, width = rng.choice(["LSTM", "GRU", "RNN"]), rng.randint(1, 3), rng.choice([64, 128, 256, 512, 1000]), rng.choice([64, 200, 512])
        length, rows, both, dropout = rng.choice([7, 16, 64, 128]), rng.choice([5, 8, 32, 64]), rng.random() < 0.4, rng.choice([0, 0.1])
        kind, training, first = rng.choice(["float32", "bfloat16"]), rng.random() < 0.8, rng.random() < 0.7
        layer = getattr(torch.nn, mode)(width, hidden, count, batch_first=first, dropout=dropout if count > 1 else 0, bidirectional=both).to("cuda", getattr(torch, kind)).train(training)
        x = torch.randn(*((rows, length) if first else (length, rows)), width, device="cuda", dtype=getattr(torch, kind), requires_grad=training)
        torch.cuda.synchronize()
        parts = []
        torch.cuda.memory._record_memory_history(context=None, max_entries=10000, clear_history=True)
        with torch.set_grad_enabled(training):
            y = layer(x)[0]
        at = len(torch.cuda.memory._snapshot()["device_traces"][0])
        if training:
            y.backward(y)
        trace = torch.cuda.memory._snapshot()["device_traces"][0]
        torch.cuda.memory._record_memory_history(enabled=None)
        for events in (trace[:at], trace[at:]):
            parts.append([e["size"] if e["action"] == "alloc" else -e["size"] for e in events if e["action"] in ("alloc", "free_requested")])
        found.append([mode, count, hidden, width, length, rows, both, dropout, kind, training, first, *parts])
        del layer, x, y
        torch.cuda.empty_cache()
    return found


def measure_kernels(folder, seed, at_once, seconds):
    import torch
    part = seconds * 0.75
    jobs = {("recurrent", 0): (("recurrent", "", seed, part), ""), **{("convolutions", i): (("convolutions", i, 0, part), "") for i in range(PARTS)},
            **{("operators", name): (("operators", name, seed), "") for name in PROGRAMS if name not in NEW}}
    found = {"device": torch.cuda.get_device_name(0), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "seed": seed, "recurrent": [], "convolutions": [], "operators": [], "failed": {}}
    for key, result in each(jobs, at_once, time.time() + seconds).items():
        if isinstance(result, list):
            found[key[0]] += result
        else:
            found["failed"][" ".join(map(str, key))] = result
    json.dump(found, open(f"{folder}/kernels.json", "w"))


def table(found):
    """Convolutions: {type and layout: {"channels results window stride padding dilation groups height width": [rows, forward, to the input, to the weight]}}, operators: {name: [calls,
    of these within the rule's span, the most that was asked for, the furthest from the span]}, in bytes."""
    convolutions, operators = {}, {}
    for layer, kind, *row in sorted(found["convolutions"], key=lambda row: row[2]):
        places = convolutions.setdefault(kind, {}).setdefault(" ".join(str(n) for part in layer for n in (part if isinstance(part, list) else [part])), [[], [], [], []])
        for place, value in zip(places, row):
            place.append(value)
    for name, asked, low, high, times in found["operators"]:
        row = operators.setdefault(name, [0, 0, 0, 0])
        row[0] += times
        row[1] += times if low <= asked <= high else 0
        row[2], row[3] = max(row[2], asked), max(row[3], low - asked, asked - high)
    lines = [f"{json.dumps(kind)}: {json.dumps(rows, separators=(',', ':'))}" for kind, rows in convolutions.items()]
    head = json.dumps({key: found[key] for key in ("device", "torch", "cudnn", "seed")})[:-1]
    return head + ', "operators": ' + json.dumps(operators) + ',\n"convolutions": {\n' + ",\n".join(lines) + "}}"


# ---- without a GPU ----


def run(name, seed):
    import torch
    torch.manual_seed(seed)
    step = PROGRAMS[name](random.Random(f"{seed} {name}"))
    for _ in range(STEPS):
        step()


def one_prediction(name, seed, folder):
    import gamut.estimate
    from gamut import kernels
    file = os.path.join(folder, f"{name}.txt")
    with gamut.estimate(steps=1000, out=file, quiet=True, real=name.startswith("value") or name == "rnn_packed") as made:
        run(name, seed)
    result = {"reserved": made.reserved, "least": made.least, "unknown": made.not_measured(), "tracker": tracked(name, seed, file)}
    kernels.OPERATORS, kernels.MATMUL, kernels.CUBLASLT_TOO = {}, set(), set()  # what is allocated, as estimates without an allocator count it
    with gamut.estimate(steps=1000, out=file, quiet=True):
        run(name, seed)
    told = subprocess.run(["gamut", "fit", file, "-s", "raw", "-f", "json", "--time-limit", "1s"], stdout=subprocess.PIPE, check=True)
    os.remove(file)
    return {**result, "allocated": json.loads(told.stdout)["fits"][0]["lower_bound_bytes"]}


def tracked(name, seed, file):
    """The most bytes on the GPU that PyTorch's own memory tracker counts, or why it does not."""
    import gamut.estimate
    from torch.distributed._tools.mem_tracker import MemTracker
    try:
        with gamut.estimate(steps=1000, out=file, quiet=True), MemTracker() as tracker:
            step = PROGRAMS[name](random.Random(f"{seed} {name}"))
            for _ in range(STEPS):
                step()
                tracker.reset_mod_stats()
        return max(max(counts.values()) for device, counts in tracker.get_tracker_snapshot("peak").items() if device.type == "cuda")
    except Exception as wrong:  # such as: "does not support memory tracking for multiple iterative calls"
        return f"{type(wrong).__name__}: {str(wrong)[:200]}"


def profiled(name, seed):
    """The most bytes that live at once by PyTorch's profile_memory, where the program runs on the CPU: this file with another device."""
    from torch.profiler import ProfilerActivity, profile
    there = {"__name__": "on_the_cpu", "__file__": __file__}
    exec(compile(open(__file__).read().replace('"cuda"', '"cpu"').replace(".cuda()", ""), __file__, "exec"), there)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        there["run"](name, seed)
    events = sorted((e.start_ns(), e.nbytes()) for e in seen.profiler.kineto_results.events() if e.name() == "[memory]")
    return max(itertools.accumulate(count for _, count in events))


# ---- on a GPU ----


def one_run(name, seed, least, recording):
    """Freely first, so that nothing is left from before; then under limits."""
    import gc
    import torch
    result, total = {}, torch.cuda.get_device_properties(0).total_memory
    if recording:
        torch.cuda.memory._record_memory_history(max_entries=1_000_000, stacks="python")
    for part, limit in {"free": 0, "above": least * ABOVE, "below": least * BELOW}.items():
        torch.cuda.set_per_process_memory_fraction(limit / total if limit else 1.0)
        torch.cuda.reset_peak_memory_stats()
        refused = False
        try:
            run(name, seed)
        except torch.OutOfMemoryError:
            refused = True
        stats = torch.cuda.memory_stats()
        if recording:
            torch.cuda.memory._dump_snapshot(recording)
            return {}
        gc.collect()
        torch._C._cuda_clearCublasWorkspaces()
        torch.cuda.empty_cache()
        result[part] = {"refused": refused, "reserved": stats["reserved_bytes.all.peak"], "allocated": stats["allocated_bytes.all.peak"],
                        "left": torch.cuda.memory_reserved()}
    return {**result, "device": torch.cuda.get_device_name(0), "torch": torch.__version__}


def child(*arguments, conf="", seconds=150):
    done = subprocess.run([sys.executable, os.path.abspath(__file__), "one", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, timeout=seconds, env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": conf})
    if done.returncode:
        return {"error": done.stderr.strip()[-600:]}
    return json.loads(done.stdout.splitlines()[-1])


def each(jobs, at_once, until):
    """jobs: {key: (arguments, conf)}. Their results by key, as far as the time allows."""
    results = {}

    def go(key):
        left = until - time.time()
        if left < 5:
            return {"error": "there was no time"}
        try:
            return child(*jobs[key][0], conf=jobs[key][1], seconds=left)
        except subprocess.TimeoutExpired:
            return {"error": "took too long"}
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for key, result in zip(jobs, pool.map(go, jobs)):
            results[key] = result
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["predict", "measure", "record", "kernels", "table", "judge", "pools-predict", "pools-measure", "pools-judge", "profiled", "one"])
    parser.add_argument("arguments", nargs="+")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--new", default="", metavar="NAMES", help="predict: kinds of programs from which no rule was made, of names that begin so: new, rnn, value")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=3600)
    given = parser.parse_args()
    folder, until = given.arguments[0], time.time() + given.seconds
    if given.what == "one":
        how, name, seed, *more = given.arguments
        if how == "pool":
            print(json.dumps(one_pool(int(seed), name) if name else one_pool_prediction(int(seed))))
            return
        parts = {"operators": lambda: one_operators(name, int(seed)), "convolutions": lambda: one_part_of_convolutions(int(name), float(more[0]), int(seed)),
                 "recurrent": lambda: one_recurrent(int(seed), float(more[0]))}
        if how in parts:
            print(json.dumps(parts[how]()))
            return
        print(json.dumps(one_prediction(name, int(seed), *more) if how == "predict" else one_run(name, int(seed), int(more[0]), more[1])))
    elif given.what == "profiled":
        print(json.dumps({name: {"seed": given.seed, "profiled_bytes": profiled(name, given.seed)} for name in given.arguments}, indent=1))
    elif given.what == "predict":
        os.makedirs(folder, exist_ok=True)
        programs = each({name: (("predict", name, given.seed, folder), "") for name in PROGRAMS if (name.startswith(tuple(given.new.split(","))) if given.new else name not in NEW)}, given.jobs, until)
        from gamut.estimate import BAND
        json.dump({"seed": given.seed, "band": BAND, "programs": programs}, open(f"{folder}/predictions.json", "w"), indent=1)
    elif given.what == "pools-predict":
        os.makedirs(folder, exist_ok=True)
        json.dump(each({given.seed + i: (("pool", "", given.seed + i), "") for i in range(2)}, given.jobs, until), open(f"{folder}/pools.json", "w"), indent=1)
    elif given.what == "pools-measure":
        pools = json.load(open(f"{folder}/pools.json"))
        jobs = {(seed, name, conf): (("pool", name, seed), CONFS[conf]) for seed, p in pools.items() for name in p["orders"] for conf in CONFS}
        for (seed, name, conf), result in each(jobs, given.jobs, until).items():
            pools[seed]["orders"][name].setdefault("measured", {})[conf] = result
        json.dump(pools, open(f"{folder}/pools-measured.json", "w"), indent=1)
    elif given.what == "kernels":
        os.makedirs(folder, exist_ok=True)
        measure_kernels(folder, given.seed, given.jobs, given.seconds)
    elif given.what == "pools-judge":
        pools = json.load(open(f"{folder}/pools-measured.json"))
        rows = [(seed, p["sizes"], order, o, conf, o["measured"][conf]) for seed, p in pools.items() for order, o in p["orders"].items() for conf in CONFS if o.get("best_of", conf) == conf]
        captures = [{"decoder": seed, "sizes": len(sizes), "largest": sizes[-1], "order": "found by search" if "best_of" in o else order, "setting": CONFS[conf] or "default",
                     "predicted_bytes": o["pool"][conf], "held_bytes": m["pool"], "first_bytes": o["first"][conf], "second_bytes": o["second"][conf], "released_bytes": m["released"]}
                    for seed, sizes, order, o, conf, m in rows]
        print(json.dumps({"device": rows[0][-1]["device"], "torch": rows[0][-1]["torch"].split("+")[0], "captures": captures}, indent=1))
    elif given.what == "table":
        print(table(json.load(open(f"{folder}/kernels.json"))))
    elif given.what == "record":
        names = given.arguments[1:]
        each({name: (("run", name, given.seed, 0, f"{folder}/{name}.pickle"), "") for name in names}, given.jobs, until)
    elif given.what == "measure":
        predictions = json.load(open(f"{folder}/predictions.json"))
        good = {name: p for name, p in predictions["programs"].items() if "error" not in p}
        jobs = {(name, conf): (("run", name, predictions["seed"], p["least"][conf], ""), CONFS[conf]) for name, p in good.items() for conf in CONFS}
        measured = {}
        for (name, conf), result in each(jobs, given.jobs, until).items():
            measured.setdefault(name, {})[conf] = result
        json.dump(measured, open(f"{folder}/measured.json", "w"), indent=1)
    else:
        predictions, measured = (json.load(open(f"{folder}/{name}.json")) for name in ("predictions", "measured"))
        missing = {name: p.get("error", "was not measured").strip().splitlines()[-1] for name, p in predictions["programs"].items()
                   if "error" in p or any("free" not in measured.get(name, {}).get(conf, {}) for conf in CONFS)}
        runs = {name: {"predicted": p, "measured": {conf: {part: measured[name][conf].get(part) for part in ("free", "above", "below")} for conf in CONFS}}
                for name, p in predictions["programs"].items() if name not in missing}
        said = {key: next(m[conf][key] for m in measured.values() for conf in CONFS if key in m[conf]) for key in ("device", "torch")}
        print(json.dumps({"seed": predictions["seed"], **said, "band": predictions["band"], "above": ABOVE, "below": BELOW, "missing": missing, "programs": runs}, indent=1))


if __name__ == "__main__":
    main()
