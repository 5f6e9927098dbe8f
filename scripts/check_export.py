"""Called by check-export.sh: the program that writes our logits, a TEXT, a FOLDER with a model, and its GGUF file or nothing."""

import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
import transformers

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

# What is allowed, by what the matrices of the other side are rounded to: the largest difference of a logarithm of a probability, as a share of the largest of these
# logarithms.
ALLOWED = {"F32": 1e-5, "F16": 2e-3, "BF16": 2e-2}
# The difference of losses, in nats a token, where both are in f32.
LOSS = 2e-5
TOKENS = 200
# Places at which llama.cpp is asked for probabilities, and of how many tokens at most.
PLACES, LIKELIEST = 16, 1000

program, text, folder, gguf = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
failed = False


def logs(logits):
    logits = logits.astype(numpy.float64)
    top = logits.max(axis=-1, keepdims=True)
    return logits - top - numpy.log(numpy.exp(logits - top).sum(axis=-1, keepdims=True))


def loss(logs, ids):
    return -logs[numpy.arange(len(ids) - 1), ids[1:]].mean()


def compare(name, kind, difference, losses=(0, 0)):
    global failed
    allowed = ALLOWED[kind] * spread
    wrong = not (difference <= allowed and abs(losses[0] - losses[1]) <= LOSS)
    failed |= wrong
    words = f"log-probabilities down to -{spread:.0f} differ by {difference:.1e} at most ({allowed:.1e} allowed)"
    if any(losses):
        words += f", losses are {losses[0]:.6f} here and {losses[1]:.6f} there ({LOSS:.0e} allowed)"
    print(f"{pathlib.Path(folder).name}, {name}: {words}{'  DIFFERENT' if wrong else ''}", flush=True)


tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
content = text.read_text(encoding="utf-8")[:4000]
ids = tokenizer(content)["input_ids"][:TOKENS]
with tempfile.NamedTemporaryFile() as file:
    file.write(numpy.array(ids, dtype="<u4").tobytes())
    file.flush()
    ours = subprocess.run([program, folder, file.name], check=True, stdout=subprocess.PIPE).stdout
ours = logs(numpy.frombuffer(ours, dtype="<f4").reshape(len(ids), -1))
spread = -ours.min()

model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
with torch.inference_mode():
    theirs = logs(model(torch.tensor([ids])).logits[0].numpy())
name = f"transformers {transformers.__version__} ({type(model).__name__})"
compare(name, "F32", numpy.abs(ours - theirs).max(), (loss(ours, ids), loss(theirs, ids)))

if gguf:
    import importlib.metadata

    import gguf as reader
    import llama_server

    file = reader.GGUFReader(gguf)
    kind = {tensor.name: tensor.tensor_type.name for tensor in file.tensors}["token_embd.weight"]
    weights = model.state_dict()
    count = sum(int(tensor.n_elements) for tensor in file.tensors if tensor.name != "rope_freqs.weight")
    assert count == sum(tensor.numel() for name, tensor in weights.items() if not (name == "lm_head.weight" and model.config.tie_word_embeddings)), "tensors are missing"

    ask = llama_server.start(gguf, 512)
    name = f"llama.cpp (xllamacpp {importlib.metadata.version('xllamacpp')}), GGUF file in {kind}"
    known = ask("tokenize", {"content": content, "add_special": True, "parse_special": False})["tokens"][:TOKENS]
    if known != ids:
        failed = True
        print(f"{pathlib.Path(folder).name}, {name}: tokens are DIFFERENT, {known[:20]} there and {ids[:20]} here")
    most = 0.0
    # The token that is chosen has to be a whole character, or nothing is told.
    chosen = [[next(id for id in ids[1:] if tokenizer.decode([id]).isalpha()), 1000]]
    for place in numpy.linspace(1, len(ids), PLACES, dtype=int):
        count = min(ours.shape[1], LIKELIEST)
        body = {"prompt": ids[:place], "n_predict": 1, "n_probs": count, "temperature": 0.0, "cache_prompt": False, "logit_bias": chosen}
        told = ask("completion", body)["completion_probabilities"][0]["top_logprobs"]
        assert len(told) == count, f"{len(told)} of {count} probabilities are told"
        for token in told:
            most = max(most, abs(token["logprob"] - ours[place - 1, token["id"]]))
    compare(name, kind, most)
sys.exit(1 if failed else 0)
