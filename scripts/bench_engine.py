"""Training steps and matrix products beside those of others: see bench-engine.sh."""

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import astuple, dataclass

STEPS = 4
"""Timed steps of a process."""
SECONDS = 0.3
"""Time for which a product is measured in each turn; the fastest counts."""


@dataclass
class Shape:
    """A model with a tied head, and its batch."""

    vocab: int
    dim: int
    layers: int
    heads: int
    kv_heads: int
    ffn: int
    batch: int
    length: int

    def numbers(self):
        return [str(number) for number in astuple(self)]


MODELS = {
    "1.6M": Shape(288, 192, 4, 6, 2, 512, 24, 128),
    "14M": Shape(288, 384, 8, 6, 6, 1_024, 8, 256),
    "110M": Shape(32_000, 768, 12, 12, 12, 2_048, 4, 256),
    "vocab32768": Shape(32_768, 384, 6, 6, 6, 1_024, 8, 256),
    "vocab151936": Shape(151_936, 384, 6, 6, 6, 1_024, 8, 256),
}
"""By default the first three."""

PRODUCTS = [
    ("nt", 3_072, 512, 192),
    ("nn", 3_072, 192, 512),
    ("tn", 512, 192, 3_072),
    ("nt", 2_048, 1_024, 384),
    ("nn", 2_048, 384, 1_024),
    ("tn", 1_024, 384, 2_048),
    ("nt", 1_024, 2_048, 768),
    ("nn", 1_024, 768, 2_048),
    ("tn", 2_048, 768, 1_024),
]
"""Those of the models: forwards, back to the input, and to the weight; m, n, k."""


def pytorch(shape, compiled, threads):
    """Prints the seconds of each step."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.set_num_threads(threads)
    config = LlamaConfig(
        vocab_size=shape.vocab,
        hidden_size=shape.dim,
        intermediate_size=shape.ffn,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=shape.length,
        tie_word_embeddings=True,
        use_cache=False,
    )
    torch.manual_seed(1)
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, betas=(0.9, 0.95), weight_decay=0.1)
    forward = torch.compile(model) if compiled else model
    tokens = torch.randint(shape.vocab, (shape.batch, shape.length + 1))

    def step():
        logits = forward(input_ids=tokens[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.view(-1, shape.vocab), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    # Compiles, and makes moments.
    step()
    step()
    for _ in range(STEPS):
        begin = time.monotonic()
        step()
        print(time.monotonic() - begin)


def product(library, layout, m, n, k, threads):
    """Prints GFLOP/s of the fastest product."""
    left = (k, m) if layout == "tn" else (m, k)
    right = (n, k) if layout == "nt" else (k, n)
    if library == "openblas":
        import numpy

        a, b = (numpy.random.default_rng(seed).random(shape, dtype=numpy.float32) for seed, shape in enumerate((left, right)))
        a, b = (a.T if layout == "tn" else a), (b.T if layout == "nt" else b)
        out = numpy.empty((m, n), dtype=numpy.float32)

        def once():
            numpy.matmul(a, b, out=out)

    else:
        import torch

        torch.set_num_threads(threads)
        a, b = torch.rand(left), torch.rand(right)
        a, b = (a.T if layout == "tn" else a), (b.T if layout == "nt" else b)
        if library == "onednn":
            # What torch.compile lowers a linear layer to: y = a w^T with w packed by oneDNN.
            weight = torch.ops.mkldnn._reorder_linear_weight(b.T.contiguous(), m)
            a = a.contiguous()

            def once():
                torch.ops.mkldnn._linear_pointwise(a, weight, None, "none", [], "")

        else:
            out = torch.empty((m, n))

            def once():
                torch.mm(a, b, out=out)

    once()
    fastest, end = float("inf"), time.monotonic() + SECONDS
    while time.monotonic() < end:
        begin = time.perf_counter()
        once()
        fastest = min(fastest, time.perf_counter() - begin)
    print(2e-9 * m * n * k / fastest)


def measured(command, threads):
    """Numbers that a command prints, and bytes of memory of its process."""
    names = ["RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
    environment = os.environ | {name: str(threads) for name in names}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    numbers = [float(line) for line in child.stdout]
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{command} has failed: {status}")
    return numbers, usage.ru_maxrss * 1024


def summary(numbers):
    return {"median": statistics.median(numbers), "least": min(numbers), "most": max(numbers)}


def steps(options, own):
    """A row for each model, way and number of threads."""
    rows = []
    for name in options.models:
        shape = MODELS[name]
        tokens = shape.batch * shape.length
        for threads in options.threads:
            example = [f"{options.examples}/steps", *shape.numbers(), str(STEPS), str(threads)]
            ways = {
                "neuroshard": [*example, "whole"],
                "candle": [*example, "candle"],
                "PyTorch": [*own, "pytorch", name, "0", str(threads)],
                "torch.compile": [*own, "pytorch", name, "1", str(threads)],
            }
            if name.startswith("vocab"):
                # candle keeps several copies of all logits.
                del ways["candle"]
                ways["neuroshard, micro-batches of 1, recomputed"] = [*example, "recomputed"]
            found = {way: ([], []) for way in ways}
            for _ in range(options.turns):
                for way, command in ways.items():
                    seconds, memory = measured(command, threads)
                    found[way][0].extend(tokens / each for each in seconds)
                    found[way][1].append(memory)
            speed = {way: summary(speeds) for way, (speeds, _) in found.items()}
            memory = {way: statistics.median(memories) for way, (_, memories) in found.items()}
            for way in ways:
                row = {
                    "model": name,
                    "threads": threads,
                    "way": way,
                    "tokens_per_second": speed[way],
                    "memory": memory[way],
                    "of_compile": speed[way]["median"] / speed["torch.compile"]["median"],
                    "memory_of_eager": memory[way] / memory["PyTorch"],
                }
                rows.append(row)
                print(
                    f"{name}, {threads} threads, {way}: {speed[way]['median']:.0f} ({speed[way]['least']:.0f} to {speed[way]['most']:.0f}) tokens/s, "
                    f"{row['of_compile']:.2f} of torch.compile; peak {memory[way] / 1e6:.0f} MB, {row['memory_of_eager']:.2f} of eager",
                    flush=True,
                )
    return rows


def products(options, own):
    """A row for each shape and number of threads: GFLOP/s of all libraries."""
    rows = []
    for threads in options.threads:
        for shape in PRODUCTS:
            numbers = [str(number) for number in shape]
            ways = {"neuroshard": [f"{options.examples}/product", "exact", *numbers, str(threads)]}
            ways["gemm"] = [f"{options.examples}/product", "gemm", *numbers, str(threads)]
            for library in ("openblas", "mkl", "onednn"):
                ways[library] = [*own, "product", library, *numbers, str(threads)]
            found = {way: 0.0 for way in ways}
            for _ in range(options.turns):
                for way, command in ways.items():
                    found[way] = max(found[way], *measured(command, threads)[0])
            best = max(speed for way, speed in found.items() if way != "neuroshard")
            rows.append({"shape": shape, "threads": threads, "gflops": found, "of_best": found["neuroshard"] / best})
            words = ", ".join(f"{way} {speed:.0f}" for way, speed in found.items())
            print(f"{'x'.join(numbers)}, {threads} threads: {words} GFLOP/s; {rows[-1]['of_best']:.2f} of the best of the others", flush=True)
    return rows


def main():
    if sys.argv[1] == "pytorch":
        pytorch(MODELS[sys.argv[2]], sys.argv[3] == "1", int(sys.argv[4]))
        return
    if sys.argv[1] == "product":
        product(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
        return
    parser = argparse.ArgumentParser(prog="bench-engine.sh")
    parser.add_argument("command", choices=["compare"])
    parser.add_argument("--examples", required=True)
    parser.add_argument("--json")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=lambda text: [int(part) for part in text.split(",")], default=[1, 2])
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS)[:3])
    parser.add_argument("--no-products", action="store_true")
    options = parser.parse_args()
    own = [sys.executable, os.path.abspath(__file__)]
    found = {"date": datetime.date.today().isoformat(), "turns": options.turns, "steps": steps(options, own)}
    if not options.no_products:
        found["products"] = products(options, own)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
