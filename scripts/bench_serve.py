"""Serving, compared with llama.cpp and transformers: run by bench-serve.sh.

Each peer has a process of its own, and is asked in turns, so that what else the machine does meets all alike. A figure is the median of the turns.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import urllib.request

import numpy

PROMPT, GENERATED, LONG = 32, 128, 512


def convert(model, path, kind):
    """The model as GGUF: f32, or Q8_0."""
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((model / "config.json").read_text())
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_vocab_size(config["vocab_size"])
    vocabulary = json.loads((model / "tokenizer.json").read_text())["model"]["vocab"]
    tokens = sorted(vocabulary, key=vocabulary.get)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token.startswith("<|") else 1 for token in tokens])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(256)
    names = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight",
    }
    parts = {
        "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    }
    for name, tensor in load_file(str(model / "model.safetensors")).items():
        if name not in names:
            _, _, layer, part = name.removesuffix(".weight").split(".", 3)
            # llama.cpp turns neighbours, not halves.
            count = {"self_attn.q_proj": heads, "self_attn.k_proj": kv_heads}.get(part)
            if count:
                tensor = tensor.reshape(count, 2, -1, tensor.shape[1]).swapaxes(1, 2).reshape(tensor.shape)
            name = f"blk.{layer}.{parts[part]}.weight"
        else:
            name = names[name]
        if kind == "q8_0" and tensor.ndim == 2:
            quantized = gguf.quants.quantize(tensor, gguf.GGMLQuantizationType.Q8_0)
            writer.add_tensor(name, quantized, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(name, numpy.ascontiguousarray(tensor))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}


class Peer:
    """A process that is asked."""

    def __init__(self, name, kind, command):
        self.name, self.kind = name, kind
        self.process = subprocess.Popen(command, **PIPES)

    def memory(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Server(Peer):
    """A peer that answers over HTTP."""

    def __init__(self, name, kind, command, url, model):
        super().__init__(name, kind, command)
        self.model = model
        while True:
            line = self.process.stdout.readline()
            if not line:
                sys.exit(f"bench-serve: {name} did not start: {' '.join(map(str, command))}")
            found = re.search(url, line)
            if found:
                self.url = found[1]
                return

    def ask(self, prompt, most):
        body = {"model": self.model, "prompt": prompt, "max_tokens": most, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
        request = urllib.request.Request(f"{self.url}/v1/completions", json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)["usage"]["completion_tokens"]

    def run(self, prompts, most):
        """Tokens that were generated, and seconds."""
        start = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(len(prompts)) as pool:
            tokens = sum(pool.map(lambda prompt: self.ask(prompt, most), prompts))
        return tokens, time.perf_counter() - start


LLAMA = """
import sys, xllamacpp
path, threads, batch = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
params = xllamacpp.CommonParams()
params.model.path, params.n_parallel, params.n_ctx = path, batch, 1024 * batch
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
params.warmup = True
server = xllamacpp.Server(params)
print("listening at", server.listening_address, flush=True)
sys.stdin.read()
"""

TORCH = """
import sys, time, json, torch
from transformers import AutoModelForCausalLM
folder, threads = sys.argv[1], int(sys.argv[2])
torch.set_num_threads(threads)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
print("ready", flush=True)
for line in sys.stdin:
    prompts, most = json.loads(line)
    start = time.perf_counter()
    with torch.inference_mode():
        out = model.generate(torch.tensor(prompts), max_new_tokens=most, min_new_tokens=most, do_sample=False, pad_token_id=256)
    print(json.dumps([(out.shape[1] - len(prompts[0])) * len(prompts), time.perf_counter() - start]), flush=True)
"""


class Torch(Peer):
    """transformers, in a process of its own."""

    def __init__(self, folder, threads):
        super().__init__("transformers", "f32", [sys.executable, "-c", TORCH, str(folder), str(threads)])
        if self.process.stdout.readline().strip() != "ready":
            sys.exit("bench-serve: transformers did not start")

    def run(self, prompts, most):
        print(json.dumps([prompts, most]), file=self.process.stdin, flush=True)
        return tuple(json.loads(self.process.stdout.readline()))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--random-model", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--sizes", default="13.8M,110M")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    random = numpy.random.default_rng(1)
    report = {"decode": [], "prefill": []}
    for size in options.sizes.split(","):
        model = options.folder / size
        if not (model / "tokenizer_config.json").exists():
            subprocess.run([options.random_model, str(model), size], check=True, stdout=subprocess.DEVNULL)
        for kind in ["f32", "q8_0"]:
            path = options.folder / f"{size}-{kind}.gguf"
            if not path.exists():
                convert(model, path.with_suffix(".part"), kind)
                path.with_suffix(".part").rename(path)
        for batch in [1, 8]:
            threads = str(options.threads)
            ours = [options.worker, "serve", "--model", model, "--listen", "127.0.0.1:0", "--threads", threads, "--name", size]
            url = r"(http://[\d.]+:\d+)/v1;"
            peers = [
                Server("neuroshard", "f32", ours, url, size),
                Server("neuroshard without lookup", "f32", [*ours, "--no-lookup"], url, size),
                Torch(model, options.threads),
            ]
            for kind in ["f32", "q8_0"]:
                command = [sys.executable, "-c", LLAMA, str(options.folder / f"{size}-{kind}.gguf"), threads, str(batch)]
                peers.append(Server("llama.cpp", kind, command, r"listening at (\S+)", size))
            figures = {(what, peer): [] for what in ["decode", "prefill"] for peer in peers}
            for turn in range(options.repeat + 1):
                for peer in peers:
                    fresh = lambda length: [[256, *map(int, random.integers(0, 256, length - 1))] for _ in range(batch)]
                    short, long = fresh(PROMPT), fresh(LONG)
                    tokens, seconds = peer.run(short, GENERATED)
                    _, reading = peer.run(long, 1)
                    # The first turn warms up.
                    if turn:
                        figures["decode", peer].append(tokens / seconds)
                        figures["prefill", peer].append(batch * LONG / reading)
            for (what, peer), values in figures.items():
                figure = {"model": size, "peer": peer.name, "class": peer.kind, "threads": options.threads, "batch": batch}
                figure |= {"tokens_per_second": round(statistics.median(values), 1), "spread": [round(min(values), 1), round(max(values), 1)]}
                figure |= {"peak_rss_bytes": peer.memory()}
                report[what].append(figure)
                print(f"{what:8} {size:6} batch {batch}  {peer.name:26} {peer.kind:5} {figure['tokens_per_second']:9.1f} tokens/s  {figure['spread']}", flush=True)
            for peer in peers:
                peer.stop()
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


main()
