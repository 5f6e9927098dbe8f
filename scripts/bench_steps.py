"""Training steps of models of several vocabularies: see bench-steps.sh."""

import os
import statistics
import subprocess
import sys
import time

DIM, LAYERS, BATCH, LENGTH, STEPS = 384, 6, 8, 256, 4
"""Of every model; a step takes BATCH times LENGTH tokens."""
VOCABULARIES = [288, 32_768, 151_936]


def pytorch(vocab, compiled):
    """Prints the seconds of each step."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=vocab,
        hidden_size=DIM,
        intermediate_size=-(-(DIM * 8 // 3) // 32) * 32,
        num_hidden_layers=LAYERS,
        num_attention_heads=DIM // 64,
        max_position_embeddings=LENGTH,
        tie_word_embeddings=True,
        use_cache=False,
    )
    torch.manual_seed(1)
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, betas=(0.9, 0.95), weight_decay=0.1)
    forward = torch.compile(model) if compiled else model
    tokens = torch.randint(vocab, (BATCH, LENGTH + 1))

    def step():
        logits = forward(input_ids=tokens[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.view(-1, vocab), tokens[:, 1:].reshape(-1))
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


def measured(command):
    """Seconds of the steps of a command, and bytes of memory of its process."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    seconds = [float(line) for line in child.stdout]
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"{command} has failed: {status}")
    return seconds, usage.ru_maxrss * 1024


def compare(steps, turns):
    numbers = [str(number) for number in (DIM, LAYERS, BATCH, LENGTH, STEPS)]
    own = [sys.executable, os.path.abspath(__file__), "pytorch"]
    print(f"{BATCH * LENGTH} tokens a step, {LAYERS} layers of width {DIM}, {len(os.sched_getaffinity(0))} cores, {turns} turns: median (least to most)")
    for vocab in VOCABULARIES:
        ways = {
            "neuroshard": [steps, str(vocab), *numbers],
            "neuroshard, micro-batches of 1, recomputed": [steps, str(vocab), *numbers, "1"],
            "PyTorch": [*own, str(vocab), "0"],
            "torch.compile": [*own, str(vocab), "1"],
        }
        figures = {name: ([], []) for name in ways}
        for _ in range(int(turns)):
            for name, command in ways.items():
                seconds, memory = measured(command)
                figures[name][0].extend(BATCH * LENGTH / each for each in seconds)
                figures[name][1].append(memory)
                print(f"{vocab}: {name}: {statistics.median(seconds):.3f} s, {memory / 1e6:.0f} MB", file=sys.stderr, flush=True)
        peer = statistics.median(figures["torch.compile"][0]), statistics.median(figures["torch.compile"][1])
        for name, (speeds, memory) in figures.items():
            speed, memory = statistics.median(speeds), statistics.median(memory)
            print(
                f"vocabulary {vocab}: {name}: {speed:.0f} ({min(speeds):.0f} to {max(speeds):.0f}) tokens/s, {speed / peer[0]:.2f} of torch.compile; "
                f"peak {memory / 1e6:.0f} MB, {memory / peer[1]:.2f} of it",
                flush=True,
            )


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["pytorch", vocab, compiled]:
            pytorch(int(vocab), compiled == "1")
        case ["compare", steps, turns]:
            compare(steps, turns)
