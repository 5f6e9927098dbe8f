"""Called by check-eval.sh: the worker, a FOLDER with a model, and a folder to work in."""

import json
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import time
import urllib.request

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")

import lm_eval
import transformers
from lm_eval.tasks import TaskManager

QUESTIONS = 60
worker, folder, work = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
root = pathlib.Path(__file__).resolve().parent.parent
longest = transformers.AutoConfig.from_pretrained(folder).max_position_embeddings


def questions():
    """Lines of this project's documents, of which the end is to be found among ends of others."""
    draw = random.Random(1)
    lines = [line.strip() for path in sorted((root / "docs").rglob("*.md")) for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if 40 < len(line) < 140 and len(line.split()) > 7]
    for _ in range(QUESTIONS):
        chosen = [draw.choice(lines).split() for _ in range(4)]
        answer = draw.randrange(4)
        yield {"context": " ".join(chosen[answer][:-3]), "choices": [" ".join(words[-3:]) for words in chosen], "answer": answer}


file = work / "questions.jsonl"
file.write_text("".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions()), encoding="utf-8")
tasks = work / "tasks"
tasks.mkdir()
(tasks / "choices.yaml").write_text((root / "scripts/check-eval/choices.yaml").read_text().replace("QUESTIONS", str(file)))


def scores(kind, **arguments):
    found = lm_eval.simple_evaluate(
        model=kind, model_args=arguments, tasks=["neuroshard_choices"], task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        bootstrap_iters=0, log_samples=True, batch_size=8)
    logs = [sample["filtered_resps"] for sample in sorted(found["samples"]["neuroshard_choices"], key=lambda sample: sample["doc_id"])]
    results = found["results"]["neuroshard_choices"]
    return results["acc,none"], results["acc_norm,none"], [[(float(log), str(greedy) == "True") for log, greedy in sample] for sample in logs]


with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
server = subprocess.Popen([worker, "serve", "--model", folder, "--name", "model", "--listen", f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL)
try:
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).read()
            break
        except OSError:
            if server.poll() is not None:
                sys.exit("serve has ended")
            time.sleep(0.2)
    served = scores(
        "local-completions", model="model", base_url=f"http://127.0.0.1:{port}/v1/completions", tokenizer=str(folder), tokenizer_backend="huggingface",
        add_bos_token=True, max_length=longest)
finally:
    server.terminate()
    server.wait()
theirs = scores("hf", pretrained=str(folder), dtype="float32", device="cpu", add_bos_token=True, max_length=longest)
told = subprocess.run([worker, "eval", "--model", folder, "--choices", file], check=True, stdout=subprocess.PIPE, text=True).stdout
own = tuple(float(re.search(rf"\b{name} ([0-9.]+)", told)[1]) for name in ("acc", "acc_norm"))
pairs = [(ours, other) for one, both in zip(served[2], theirs[2], strict=True) for ours, other in zip(one, both, strict=True)]
difference = max(abs(ours[0] - other[0]) for ours, other in pairs)
greedy = sum(ours[1] != other[1] for ours, other in pairs)
for name, score in (("lm-eval with serve", served[:2]), ("lm-eval with transformers", theirs[:2]), ("eval", own)):
    print(f"{name}: acc {score[0]:.4f}, acc_norm {score[1]:.4f}; {QUESTIONS} questions")
print(f"log-likelihoods of {len(pairs)} answers differ by {difference:.1e} at most; {greedy} are greedy on one side only")
equal = all(abs(a - b) < 1e-4 for score in (theirs, own) for a, b in zip(served[:2], score[:2]))
sys.exit(0 if equal and greedy == 0 and difference < 1e-3 else "DIFFERENT")
