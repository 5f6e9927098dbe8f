"""The other side of scripts/bench-dataset.sh: the text, and what Python makes of it.

text OUT BYTES FOLDER     JSON lines of the Rust and Markdown files below FOLDER; when there are no more of them, again with the lines of each in another
                          order, as often as it takes
python TEXT TOKENIZER OUT PROCESSES
                          tokens of TEXT by `datasets` and `tokenizers`, in so many processes (or 1, and the library's threads), into the file OUT, as of
                          nanoGPT's prepare.py
compare TEXT TOKENIZER FOLDER WORKER TURNS
                          `dataset build`, and the two ways of Python, so many times in turn: MB/s and peak memory of each
"""

import itertools
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def text(out, most, folder):
    files = sorted(path for ending in ("rs", "md") for path in pathlib.Path(folder).rglob(f"*.{ending}") if path.stat().st_size < 400_000)
    if not files:
        sys.exit(f"there are no Rust or Markdown files below {folder}")
    written = 0
    with open(out, "w", encoding="utf-8") as lines:
        for turn in itertools.count():
            for path in files:
                try:
                    content = path.read_text(encoding="utf-8")
                except UnicodeDecodeError:
                    continue
                if turn:
                    shuffled = content.split("\n")
                    random.Random(turn).shuffle(shuffled)
                    content = "\n".join(shuffled)
                written += lines.write(json.dumps({"text": content}, ensure_ascii=False) + "\n")
                if written >= int(most):
                    return


def python(source, tokenizer, out, processes):
    import datasets
    import numpy
    from tokenizers import Tokenizer

    processes = int(processes)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if processes == 1 else "false"
    datasets.disable_progress_bars()
    tokenizer = Tokenizer.from_file(tokenizer)
    tokenizer.encode_special_tokens = True
    end = tokenizer.token_to_id("<|endoftext|>")

    def tokens(batch):
        encoded = tokenizer.encode_batch_fast(batch["text"], add_special_tokens=False)
        return {"ids": [one.ids + [end] for one in encoded]}

    with tempfile.TemporaryDirectory(dir=os.path.dirname(out) or ".") as cache:
        rows = datasets.load_dataset("json", data_files=source, split="train", cache_dir=cache)
        rows = rows.map(tokens, batched=True, remove_columns=["text"], num_proc=processes if processes > 1 else None)
        count = 0
        with open(out, "wb") as file:
            for batch in rows.with_format("arrow").iter(1000):
                flat = batch["ids"].combine_chunks().flatten().to_numpy(zero_copy_only=False).astype(numpy.uint32)
                count += len(flat)
                flat.tofile(file)
    print(f"{count} tokens")


def measured(command):
    """Seconds, and bytes of memory of the largest process, of a command."""
    started = time.monotonic()
    wrapper = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\nprint(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    memory = subprocess.run([sys.executable, "-c", wrapper, *command], check=True, stdout=subprocess.PIPE).stdout
    return time.monotonic() - started, int(memory) * 1024


def compare(source, tokenizer, folder, worker, turns):
    size, cores = os.path.getsize(source), len(os.sched_getaffinity(0))
    dataset, tokens = os.path.join(folder, "dataset"), os.path.join(folder, "tokens.bin")
    build = [worker, "dataset", "build", "--corpus", source, "--tokenizer", tokenizer, "--out", dataset, "--tokens-per-shard", "4194304", "--held-out", "1"]
    python = [sys.executable, os.path.abspath(__file__), "python", source, tokenizer, tokens]
    ways = {"dataset build": build, "Python, threads": [*python, "1"], f"Python, {cores} processes": [*python, str(cores)]}
    figures = {name: [] for name in ways}
    for _ in range(int(turns)):
        for name, command in ways.items():
            shutil.rmtree(dataset, ignore_errors=True)
            figures[name].append(measured(command))
            print(f"{name}: {size / 1e6 / figures[name][-1][0]:.1f} MB/s", file=sys.stderr, flush=True)
    print(f"{size / 1e6:.0f} MB, {cores} cores, {turns} turns: median (least to most)")
    for name, turns_of in figures.items():
        speeds = [size / 1e6 / seconds for seconds, _ in turns_of]
        memory = max(memory for _, memory in turns_of) / 1e6
        print(f"{name}: {statistics.median(speeds):.1f} ({min(speeds):.1f} to {max(speeds):.1f}) MB/s, peak {memory:.0f} MB")
    shutil.rmtree(dataset, ignore_errors=True)
    os.remove(tokens)


if __name__ == "__main__":
    {"text": text, "python": python, "compare": compare}[sys.argv[1]](*sys.argv[2:])
