"""Fine-tuning of imported models, and training of adapters beside them, with PyTorch and PEFT: see finetune.sh."""

import argparse
import json
import math
import pathlib
import shutil
import subprocess
import sys

import torch
from peft import PeftModel, get_peft_model_state_dict
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

BATCH, LENGTH, WARMUP, VOCAB = 4, 64, 10, 4_096
RANK = 16
"""Of the adapters, which all projections have one of."""
TOLERANCE = {"loss": 1e-4, "norm": 1e-3, "parameters": 1e-2, "logits": 1e-4}
"""Most that a loss and the norm of a gradient may differ by, as a part of PyTorch's, and what the parameters have become, as a part of how far they moved;
logits beside a trained adapter, as PEFT reads it and we do:
the update of AdamW is about as large for a tiny gradient as for a large one, so that rounding shows there first."""


def models():
    """Shapes of the families, with fewer layers and a smaller vocabulary."""
    common = {"vocab_size": VOCAB, "num_hidden_layers": 4, "max_position_embeddings": 512, "tie_word_embeddings": True, "attention_dropout": 0.0}
    qwen3 = Qwen3Config(
        hidden_size=256, intermediate_size=768, num_attention_heads=4, num_key_value_heads=2, head_dim=128, rms_norm_eps=1e-6, rope_theta=1e6, **common
    )
    smollm = LlamaConfig(
        hidden_size=576, intermediate_size=1_536, num_attention_heads=9, num_key_value_heads=3, rms_norm_eps=1e-5, rope_theta=1e4, **common
    )
    return {"qwen3": (Qwen3ForCausalLM, qwen3), "smollm": (LlamaForCausalLM, smollm)}


def batches(steps):
    """Sequences with something to learn: each token follows from the one before, or is a random one."""
    random = torch.Generator().manual_seed(1)
    tokens = torch.randint(VOCAB, (steps, BATCH, LENGTH + 1), generator=random)
    follows = torch.rand(tokens.shape, generator=random) < 0.7
    for place in range(1, LENGTH + 1):
        told = (tokens[:, :, place - 1] * 31 + 7) % VOCAB % 64
        tokens[:, :, place] = torch.where(follows[:, :, place], told, tokens[:, :, place])
    return tokens


def rate(step, steps, lr, lr_min):
    """Warm-up, then half a cosine."""
    if step < WARMUP:
        return lr * (step + 1) / WARMUP
    return lr_min + 0.5 * (lr - lr_min) * (1 + math.cos(math.pi * (step - WARMUP) / (steps - WARMUP)))


def train(model, tokens, settings):
    """Losses and norms of gradients of PyTorch's AdamW."""
    lr, lr_min, decay, beta1, beta2, eps, clip = settings
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=decay)
    told = []
    for step, batch in enumerate(tokens):
        optimizer.param_groups[0]["lr"] = rate(step, len(tokens), lr, lr_min)
        logits = model(batch[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(trained, clip)
        optimizer.step()
        told.append((loss.item(), norm.item()))
    return told


def served(model, folder, out, tokens, arguments):
    """The largest difference of a logit beside the adapter in `out` between what answers here and PEFT, which reads that folder."""
    shutil.copy(arguments.folder / "tokenizer.json", folder)
    file = arguments.folder / "served.tokens"
    file.write_bytes(tokens.to(torch.int32).numpy().tobytes())
    ours = subprocess.run([arguments.logits, folder, file, out], check=True, stdout=subprocess.PIPE).stdout
    ours = torch.frombuffer(bytearray(ours), dtype=torch.float32).view(len(tokens), -1)
    model = PeftModel.from_pretrained(model.unload(), out).eval()
    with torch.inference_mode():
        theirs = model(tokens[None]).logits[0]
    return float((ours - theirs).abs().max())


def compare(name, kind, config, rank, arguments):
    torch.manual_seed(2)
    model = kind(config).float()
    folder, out = (arguments.folder / f"finetune-{name}{end}" for end in ("", "-trained"))
    start = out / "start"
    for path in (folder, out):
        shutil.rmtree(path, ignore_errors=True)
    # As models are published. The peer reads it anew: in the model that is written, the frequencies of positions have 16 bits as well.
    model.to(torch.bfloat16).save_pretrained(folder, max_shard_size="8MB")
    model = kind.from_pretrained(folder, dtype=torch.float32)
    tokens = batches(arguments.steps)
    file = arguments.folder / "finetune.tokens"
    file.write_bytes(tokens.to(torch.int32).numpy().tobytes())
    command = [arguments.finetune, folder, file, str(BATCH), str(LENGTH), str(WARMUP), out] + [str(rank)] * (rank > 0)
    lines = [line.split() for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()]
    ours = [(float(loss), float(norm)) for word, loss, norm in (line for line in lines if line[0] == "step")]
    if rank:
        # It begins with the same numbers: those of ours.
        model = PeftModel.from_pretrained(model, start, is_trainable=True)
    state = lambda: get_peft_model_state_dict(model) if rank else model.state_dict()
    before = {key: value.clone() for key, value in state().items()}
    theirs = train(model, tokens, [float(word) for word in lines[0][1:]])
    assert len(ours) == len(theirs) == arguments.steps
    after, trained = state(), load_file(out / ("adapter_model.safetensors" if rank else "model.safetensors"))
    distance = lambda one, other: math.sqrt(sum(float(((one[key] - other[key]).double() ** 2).sum()) for key in trained))
    found = {
        "loss": max(abs(one[0] - other[0]) / other[0] for one, other in zip(ours, theirs)),
        "norm": max(abs(one[1] - other[1]) / other[1] for one, other in zip(ours, theirs)),
        "parameters": distance(trained, after) / distance(after, before),
    }
    if rank:
        found["logits"] = served(model, folder, out, tokens[0, 0], arguments)
    else:
        # The folder has none, and what answers needs one: any does.
        shutil.copy(out / "tokenizer.json", arguments.folder)
    numbers = sum(value.numel() for value in trained.values())
    print(json.dumps({"model": name, "rank": rank, "parameters": numbers, "steps": arguments.steps, "first": theirs[0][0], "last": theirs[-1][0], "differences": found}))
    return all(found.get(key, 0) <= most for key, most in TOLERANCE.items())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--finetune", required=True)
    parser.add_argument("--logits", required=True)
    parser.add_argument("--steps", type=int, default=60)
    arguments = parser.parse_args()
    agreed = [compare(name, kind, config, rank, arguments) for name, (kind, config) in models().items() for rank in (0, RANK)]
    if not all(agreed):
        sys.exit(f"a difference is larger than it may be: {TOLERANCE}")


if __name__ == "__main__":
    main()
