"""Aggregation of deltas beside ByzFL: see bench-aggregate.sh."""

import argparse
import json
import pathlib
import statistics
import subprocess
import time

import byzfl
import numpy as np
import torch

TOLERANCE = 1e-4
"""Most that results may differ by, as a part of the largest value: norms of the peer are sums of millions of squares in f32."""
LIARS = 3
"""Vectors that are lies, and that the rules bear."""


def vectors(count, length):
    """Honest vectors around a common one, and lies that point elsewhere."""
    random = np.random.default_rng(1)
    common = random.standard_normal(length, dtype=np.float32)
    made = np.stack([common + random.standard_normal(length, dtype=np.float32) for _ in range(count)])
    made[-LIARS:] *= -3
    return made


def peers(made):
    """ByzFL's rules, with the limits that ours take from medians, in the order of the example."""
    norms = torch.linalg.vector_norm(made, dim=1)
    yield "mean", lambda: byzfl.Average()(made)
    yield "trimmed-mean", lambda: byzfl.TrMean(f=LIARS)(made)
    # Of an even number ours is the mean of the two in the middle.
    yield "median", lambda: byzfl.TrMean(f=(len(made) - 1) // 2)(made)
    yield "krum", lambda: byzfl.Krum(f=LIARS)(made)
    yield "multi-krum", lambda: byzfl.MultiKrum(f=LIARS)(made)
    yield "mixed-krum", lambda: byzfl.MultiKrum(f=LIARS)(byzfl.NNM(f=LIARS)(made))
    yield "centred-clipping", lambda: moved(made, lambda median: byzfl.CenteredClipping(L=1, tau=median))
    yield "geometric-median", lambda: moved(made, lambda median: byzfl.GeometricMedian(nu=1e-3 * median, T=3))
    yield "clipping", lambda: byzfl.Average()(byzfl.Clipping(c=float(torch.median(norms)))(made.clone()))


def moved(made, rule):
    """A rule on mixed vectors that begins with the best of them. ByzFL's begin with zero; all commute with translation."""
    mixed = byzfl.NNM(f=LIARS)(made)
    scores = torch.sort(torch.cdist(made, made) ** 2, dim=1)[0][:, 1 : len(made) // 2 + 1].sum(dim=1)
    start = mixed[torch.argmin(scores)]
    distances = torch.linalg.vector_norm(mixed - start, dim=1)
    return rule(float(torch.median(distances)))(mixed - start) + start


def timed(call, repeat):
    seconds = []
    for _ in range(repeat):
        begun = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - begun)
    return result, seconds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--aggregate", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vectors", type=int, default=10)
    parser.add_argument("--length", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder = options.folder / "aggregate"
    folder.mkdir(exist_ok=True)
    made = vectors(options.vectors, options.length)
    made.tofile(folder / "vectors.f32")
    command = [options.aggregate, folder, str(options.vectors), str(options.threads), str(options.repeat)]
    ours = [json.loads(line) for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()]
    found = []
    for own, (name, call) in zip(ours, peers(torch.from_numpy(made)), strict=True):
        assert own["rule"] == name
        result, seconds = timed(call, options.repeat)
        expected, got = result.numpy(), np.fromfile(folder / f"{name}.f32", dtype=np.float32)
        differs = float(np.abs(expected - got).max() / np.abs(expected).max())
        if differs > TOLERANCE:
            raise SystemExit(f"{name}: results differ by {differs:.1e} of the largest value")
        mine, theirs = statistics.median(own["seconds"]), statistics.median(seconds)
        found.append({"rule": name, "seconds": own["seconds"], "byzfl_seconds": seconds, "ratio": theirs / mine, "differs": differs})
        print(f"{name:18} {mine:8.4f} s, ByzFL {theirs:8.4f} s: {theirs / mine:5.1f}x; results differ by {differs:.1e} of the largest value", flush=True)
    for file in folder.iterdir():
        file.unlink()
    if options.json:
        figures = {"vectors": options.vectors, "length": options.length, "threads": options.threads, "level": ours[0]["level"], "rules": found}
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
