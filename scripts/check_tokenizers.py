"""Called by tokenizers.sh; a file of that name would be the package: FOLDER of the tokenizers, the program that makes our tokens, number of lines."""

import hashlib
import json
import pathlib
import random
import subprocess
import sys
import time

import tokenizers

folder, program, lines = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])


def text(specials):
    """Lines of the sources and documents of this project, of characters of all kinds, and of the names of special tokens."""
    root = pathlib.Path(__file__).parent.parent
    own = [line for path in sorted(root.rglob("*")) if path.suffix in (".rs", ".md") and "target" not in path.parts
           for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    draw = random.Random(1)
    kinds = [(0x20, 0x7F), (0xA0, 0x250), (0x370, 0x600), (0x900, 0xE00), (0x3040, 0x3100), (0x4E00, 0x9FFF), (0x1F300, 0x1FAFF), (1, 0x20)]
    for number in range(lines):
        kind = number % 8
        if kind < 5:
            line = draw.choice(own)
        elif kind < 7:
            line = "".join(chr(draw.randrange(*draw.choice(kinds))) for _ in range(draw.randrange(60)))
        else:
            cut = draw.choice(own)
            place = draw.randrange(len(cut) + 1)
            line = cut[:place] + draw.choice(specials) + cut[place:]
        yield line.replace("\n", " ").replace("\r", " ").replace("\x0b", " ")


failed = False
for model in ("qwen3", "llama3"):
    path = folder / model / "package" / "models" / "tokenizer.json"
    config = json.loads((path.parent / "tokenizer_config.json").read_text())
    end = config["eos_token"] if isinstance(config["eos_token"], str) else config["eos_token"]["content"]
    peer = tokenizers.Tokenizer.from_file(str(path))
    specials = [token.content for token in peer.get_added_tokens_decoder().values() if token.special]
    before = peer.encode("a").ids[:-1]
    peer.encode_special_tokens = True
    corpus = folder / f"{model}.txt"
    with corpus.open("w", encoding="utf-8", newline="\n") as file:
        for line in text(specials):
            file.write(line + "\n")
    begun = time.monotonic()
    ours, count = hashlib.blake2b(), 0
    with subprocess.Popen([program, path, corpus], stdout=subprocess.PIPE) as process:
        while block := process.stdout.read(1 << 20):
            ours.update(block)
            count += len(block) // 4
    if process.returncode:
        sys.exit(process.returncode)
    between = time.monotonic()
    digest, theirs = hashlib.blake2b(), 0
    ending = peer.token_to_id(end)
    with corpus.open(encoding="utf-8", newline="\n") as file:
        for line in file:
            ids = before + peer.encode(line[:-1], add_special_tokens=False).ids
            ids.append(ending)
            theirs += len(ids)
            digest.update(b"".join(id.to_bytes(4, "little") for id in ids))
    done = time.monotonic()
    equal = digest.digest() == ours.digest()
    failed |= not equal
    size = corpus.stat().st_size / 1e6
    print(f"{model}: {peer.get_vocab_size()} tokens; {lines} lines, {size:.0f} MB, {count} tokens here and {theirs} there: "
          f"{'equal' if equal else 'DIFFERENT'}; {size / (between - begun):.2f} and {size / (done - between):.2f} MB/s, one thread")
sys.exit(1 if failed else 0)
