"""Called by check-loss.sh: MODEL DATASET SEQUENCES SEQ_LEN LOSS [GGUF]. The dataset is read by its specification (docs/spec/protocol.md), not by our code."""

import json
import pathlib
import sys

import numpy
import torch
import transformers

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

# What losses may differ by, in nats a token: all of them are computed in f32, in another order.
ALLOWED = {"transformers": 2e-5, "llama.cpp": 1e-4}
# In a token of a masked dataset: it is no target.
MASK = 1 << 31

folder, dataset, sequences, seq_len, attested = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5])
gguf = sys.argv[6] if len(sys.argv) > 6 else None
failed = False


def windows():
    """The windows of the validation loss, each with the token that follows it: spread evenly over the held-out shards."""
    manifest = json.loads((dataset / "manifest.json").read_text())
    shape, masked = manifest["shape"], manifest.get("masked", False)
    width = "<u2" if manifest["vocab"] <= 1 << 16 and not masked else "<u4"
    per_shard = (shape["tokens_per_shard"] - 1) // seq_len
    there = shape["held_out"] * per_shard
    for sequence in range(sequences):
        index = sequence * there // sequences
        shard = shape["shard_count"] - shape["held_out"] + index // per_shard
        start = index % per_shard * seq_len
        tokens = numpy.fromfile(dataset / "shards" / f"{shard:05}.bin", dtype=width)[start : start + seq_len + 1].astype(numpy.uint32)
        yield [int(token & (MASK - 1)) for token in tokens], [not token & MASK for token in tokens[1:]]


def compare(name, loss, kind):
    global failed
    wrong = not abs(loss - attested) <= ALLOWED[kind]
    failed |= wrong
    print(f"{name}: {loss:.6f}, attested {attested:.6f}, {abs(loss - attested):.1e} apart ({ALLOWED[kind]:.0e} allowed){'  DIFFERENT' if wrong else ''}", flush=True)


read = list(windows())
count = sum(map(sum, (targets for _, targets in read)))
print(f"{count} targets in {sequences} windows of {seq_len} tokens")
model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
total = 0.0
with torch.inference_mode():
    for ids, targets in read:
        losses = torch.nn.functional.cross_entropy(model(torch.tensor([ids[:-1]])).logits[0], torch.tensor(ids[1:]), reduction="none")
        total += losses.double()[torch.tensor(targets)].sum().item()
compare(f"transformers {transformers.__version__} ({type(model).__name__})", total / count, "transformers")

if gguf:
    import importlib.metadata

    import llama_server

    ask = llama_server.start(gguf, max(512, 2 * seq_len))
    vocab = model.config.vocab_size

    def probability(ids, target):
        """The logarithm of the probability of `target` after `ids`."""
        body = {"prompt": ids, "n_predict": 1, "temperature": 0.0, "cache_prompt": True}
        # What is chosen is told with its probability among all, and what it is made likelier by does not count. Of what is no whole character nothing is told.
        told = ask("completion", {**body, "n_probs": 1, "logit_bias": [[target, 1000]]}).get("completion_probabilities")
        if told and told[0]["id"] == target:
            return told[0]["logprob"]
        told = ask("completion", {**body, "n_probs": vocab, "logit_bias": [[whole, 1000]]})["completion_probabilities"][0]["top_logprobs"]
        return next(token["logprob"] for token in told if token["id"] == target)

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    whole = next(id for id in range(vocab) if tokenizer.decode([id]).isalpha())
    total = 0.0
    for ids, targets in read:
        for place, target in enumerate(targets, 1):
            total -= probability(ids[:place], ids[place]) if target else 0.0
    compare(f"llama.cpp (xllamacpp {importlib.metadata.version('xllamacpp')})", total / count, "llama.cpp")
sys.exit(1 if failed else 0)
