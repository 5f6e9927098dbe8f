"""Serving, compared with llama.cpp and transformers, and rings, compared with one process: run by bench-serve.sh.

Each peer has a process of its own, and is asked in turns, so that what else the machine does meets all alike. A figure is the median of the turns.
"""

import argparse
import atexit
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time
import urllib.request

import numpy

PROMPT, GENERATED, LONG = 32, 128, 512
# Tokens of the answer that is checked.
CHECKED = 256
# MiB that a holder lends where layers are held twice: two together hold the model, one alone does not.
HALF = {"13.8M": 600}


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


class Logged:
    """A process of ours that writes to a file until it is ready."""

    def __init__(self, command, log, ready):
        with open(log, "w") as file:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        # However this ends.
        atexit.register(self.process.kill)
        self.log = log
        while not (found := re.search(ready + r"\n", log.read_text())):
            if self.process.poll() is not None:
                sys.exit(f"bench-serve: {' '.join(map(str, command))} did not start:\n{log.read_text()}")
            time.sleep(0.05)
        self.found = found[1]

    def stop(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait()


class Ring(Server):
    """A driver, and who computes for it; each has as many threads as are given."""

    def __init__(self, worker, model, folder, threads, holders, lent, options):
        folder.mkdir(parents=True, exist_ok=True)
        self.model = model.name
        self.holders = []
        for index in range(holders):
            command = [worker, "hold", "--model", model, "--base-path", folder / f"holder-{index}", "--threads", str(threads), "--memory", str(lent)]
            self.holders.append(Logged(command, folder / f"holder-{index}.log", r"are held at (\S+)"))
        addresses = ",".join(holder.found for holder in self.holders)
        command = [worker, "serve", "--model", model, "--base-path", folder / "driver", "--listen", "127.0.0.1:0", "--threads", str(threads)]
        command += ["--no-lookup", "--ring", addresses, *options]
        self.driver = Logged(command, folder / "driver.log", r"answers at (http://[\d.]+:\d+)/v1; .*")
        self.url = self.driver.found
        self.spans = self.read_spans()

    def said(self):
        return self.driver.log.read_text()

    def read_spans(self):
        """Who holds each span, the preferred one first."""
        peers = [holder.found.rsplit("/", 1)[1] for holder in self.holders]
        spans = []
        for line in self.said().splitlines():
            named = [peers.index(word.strip(",:")) for word in line.split() if word.strip(",:") in peers]
            if not named or not line.startswith(peers[named[0]]):
                continue
            if " repeats " in line and len(named) > 1:
                next(span for span in spans if span[0] == named[1]).append(named[0])
            elif " holds " in line:
                spans.append([named[0]])
        return spans

    def late(self, holder):
        """How often it was replaced since it was late."""
        return self.said().count(f"{self.holders[holder].found.rsplit('/', 1)[1]} is late;")

    def stop(self):
        for process in [self.driver, *self.holders]:
            process.stop()


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    return urllib.request.urlopen(request, timeout=600)


def prompt(random, length):
    return [256, *map(int, random.integers(0, 256, length - 1))]


def ring_of_two(options, random, size, model):
    """Tokens a second of one text by one process, and by a driver and two holders of half of the layers each, all with the same threads."""
    threads = str(options.threads)
    alone = [options.worker, "serve", "--model", model, "--listen", "127.0.0.1:0", "--threads", threads, "--name", size, "--no-lookup"]
    lent = ["--split", "memory", "--parallel", "1"]
    peers = {
        "alone": Server("neuroshard without lookup", "f32", alone, r"(http://[\d.]+:\d+)/v1;", size),
        "ring": Ring(options.worker, model, options.folder / "ring", options.threads, 2, 4_000, lent),
    }
    hops = len(peers["ring"].spans)
    rates = {name: [] for name in peers}
    for turn in range(options.repeat + 1):
        for name, peer in peers.items():
            tokens, seconds = peer.run([prompt(random, PROMPT)], GENERATED)
            if turn:
                rates[name].append(tokens / seconds)
    for peer in peers.values():
        peer.stop()
    ring, one = statistics.median(rates["ring"]), statistics.median(rates["alone"])
    # Of each turn, so that what else the machine does meets both alike.
    overheads = [(alone / ring - 1) / hops for alone, ring in zip(rates["alone"], rates["ring"])]
    figure = {"model": size, "threads": options.threads, "hops": hops, "tokens_per_second": round(ring, 1), "alone_tokens_per_second": round(one, 1)}
    figure |= {"overhead": round(statistics.median(overheads), 3), "spread": [round(min(overheads), 3), round(max(overheads), 3)]}
    print(f"ring     {size:6} {hops} hops {ring:9.1f} tokens/s, alone {one:.1f}: {figure['overhead']:.1%} more time for each hop  {figure['spread']}", flush=True)
    return figure


def checks(options, random, size, model):
    """Time of a check of an answer against the time in which it was given."""
    threads = str(options.threads)
    command = [options.worker, "serve", "--model", model, "--listen", "127.0.0.1:0", "--threads", threads, "--name", size, "--no-lookup"]
    server = Server("neuroshard without lookup", "f32", command, r"(http://[\d.]+:\d+)/v1;", size)
    figures = []
    for turn in range(options.repeat + 1):
        body = {"model": size, "prompt": prompt(random, PROMPT), "max_tokens": CHECKED, "seed": turn, "ignore_eos": True, "receipt": True}
        begin = time.perf_counter()
        with post(f"{server.url}/v1/completions", body) as answer:
            receipt = json.load(answer)["choices"][0]["receipt"]
        decoded = time.perf_counter()
        with post(f"{server.url}/v1/check", receipt) as answer:
            if not json.load(answer)["equal"] or len(receipt["answer"]) != CHECKED:
                sys.exit("bench-serve: an answer differs from its receipt")
        checked = time.perf_counter()
        if turn:
            figures.append((checked - decoded, decoded - begin))
    server.stop()
    ratios = [check / decode for check, decode in figures]
    figure = {"model": size, "threads": options.threads, "answer_tokens": CHECKED, "ratio_of_decode": round(statistics.median(ratios), 3)}
    figure |= {"spread": [round(min(ratios), 3), round(max(ratios), 3)]}
    figure |= {name: round(statistics.median(values) * 1e3, 1) for name, values in zip(["check_ms", "decode_ms"], zip(*figures))}
    print(f"check    {size:6} {figure['check_ms']:.0f} ms, decoded in {figure['decode_ms']:.0f} ms: {figure['ratio_of_decode']:.1%}  {figure['spread']}", flush=True)
    return figure


def failover(options, random, size, model):
    """The pause in a stream when the holder that is used stops: it is stopped as a process, so that nothing tells the driver."""
    lent = ["--split", "speed", "--redundancy", "2"]
    ring = Ring(options.worker, model, options.folder / "ring", 1, 4, HALF[size], lent)
    if [len(span) for span in ring.spans] != [2, 2]:
        sys.exit(f"bench-serve: the layers are split otherwise than in two spans that are held twice: {ring.said()}")
    pauses, usuals, unused = [], [], 0
    while len(pauses) < options.failovers:
        # A stream for each: one that was late knows the next text again, and is then the last that is asked.
        span = ring.spans[int(random.integers(0, 2))]
        holder, before = ring.holders[span[0]], ring.late(span[0])
        at = int(random.integers(20, 40))
        body = {"model": size, "prompt": prompt(random, PROMPT), "max_tokens": 600, "seed": at, "ignore_eos": True, "stream": True}
        gaps, last = [], None
        with post(f"{ring.url}/v1/completions", body) as answer:
            for line in answer:
                if not line.startswith(b"data: {"):
                    continue
                now = time.perf_counter()
                if last is not None:
                    gaps.append(now - last)
                last = now
                if len(gaps) == at:
                    holder.process.send_signal(signal.SIGSTOP)
                if len(gaps) == at + 10:
                    break
        holder.process.send_signal(signal.SIGCONT)
        # A machine that does other things may make others late.
        if ring.late(span[0]) == before or len(gaps) < at + 10:
            unused += 1
            if unused > options.failovers:
                sys.exit("bench-serve: the holders that were stopped are not those that were used")
            span.append(span.pop(0))
            continue
        span.append(span.pop(0))
        usual = statistics.median(gaps[:at])
        usuals.append(usual)
        pauses.append((max(gaps[at:]) - usual) * 1e3)
    ring.stop()
    pauses.sort()
    figure = {"model": size, "threads": 1, "spans": 2, "redundancy": 2, "times": len(pauses), "unused": unused}
    figure |= {"usual_gap_ms": round(statistics.median(usuals) * 1e3, 2), "p50": round(pauses[len(pauses) // 2], 1)}
    figure |= {"p99": round(pauses[min(len(pauses) * 99 // 100, len(pauses) - 1)], 1), "most": round(pauses[-1], 1)}
    print(f"failover {size:6} {figure}", flush=True)
    return figure


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--worker", required=True)
    parser.add_argument("--random-model", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--sizes", default="13.8M,110M")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--failovers", type=int, default=100)
    parser.add_argument("--only", choices=["peers", "ring", "check", "failover"], action="append")
    options = parser.parse_args()
    random = numpy.random.default_rng(1)
    report = {"decode": [], "prefill": [], "ring": [], "check": []}
    wanted = lambda what: not options.only or what in options.only
    for size in options.sizes.split(","):
        model = options.folder / size
        if not (model / "tokenizer_config.json").exists():
            subprocess.run([options.random_model, str(model), size], check=True, stdout=subprocess.DEVNULL)
        if wanted("ring"):
            report["ring"].append(ring_of_two(options, random, size, model))
        if wanted("check"):
            report["check"].append(checks(options, random, size, model))
        if wanted("failover") and size in HALF:
            report["failover_ms"] = failover(options, random, size, model)
        if not wanted("peers"):
            continue
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
                Server("neuroshard without lookup", "int8", [*ours, "--no-lookup", "--class", "int8"], url, size),
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
