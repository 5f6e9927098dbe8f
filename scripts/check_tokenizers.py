"""Called by tokenizers.sh; a file of that name would be the package: FOLDER of the tokenizers, the program that makes our tokens, number of texts."""

import hashlib
import json
import pathlib
import random
import subprocess
import sys
import time

import tokenizers

folder, program, most = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])


def texts(specials):
    """Lines of the sources and documents of this project, one or several with breaks and blanks between them, characters of all kinds, and names of special
    tokens."""
    root = pathlib.Path(__file__).parent.parent
    own = [line for path in sorted(root.rglob("*")) if path.suffix in (".rs", ".md") and "target" not in path.parts
           for line in path.read_text(encoding="utf-8", errors="replace").splitlines()]
    draw = random.Random(1)
    kinds = [(0x20, 0x7F), (0xA0, 0x250), (0x370, 0x600), (0x900, 0xE00), (0x3040, 0x3100), (0x4E00, 0x9FFF), (0x1F300, 0x1FAFF), (1, 0x20)]
    breaks = ["\n", "\n", "\r\n", "\r", "\n\n", " \n  \n", "\t\t", "   ", "\x0b", "\x85", "\u2028", "\u3000\xa0", "\n \u3000"]
    for number in range(most):
        kind = number % 8
        if kind < 5:
            text = draw.choice(own)
            while draw.randrange(3) == 0:
                text += draw.choice(breaks) + draw.choice(own)
        elif kind < 7:
            text = "".join(chr(draw.randrange(*draw.choice(kinds))) for _ in range(draw.randrange(60)))
        else:
            cut = draw.choice(own)
            place = draw.randrange(len(cut) + 1)
            text = cut[:place] + draw.choice(specials) + cut[place:]
        yield text


# The first with the pattern of nanochat, whose parts give nothing back.
PATTERN = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"""
beside, own = (folder / model / "package" / "models" for model in ("qwen3", "nanochat"))
own.mkdir(parents=True, exist_ok=True)
file = json.loads((beside / "tokenizer.json").read_text(encoding="utf-8"))
file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = PATTERN
(own / "tokenizer.json").write_text(json.dumps(file), encoding="utf-8")
(own / "tokenizer_config.json").write_text((beside / "tokenizer_config.json").read_text(encoding="utf-8"), encoding="utf-8")

failed = False
for model in ("qwen3", "llama3", "nanochat"):
    path = folder / model / "package" / "models" / "tokenizer.json"
    config = json.loads((path.parent / "tokenizer_config.json").read_text())
    end = config["eos_token"] if isinstance(config["eos_token"], str) else config["eos_token"]["content"]
    peer = tokenizers.Tokenizer.from_file(str(path))
    specials = [token.content for token in peer.get_added_tokens_decoder().values() if token.special]
    before = peer.encode("a").ids[:-1]
    peer.encode_special_tokens = True
    corpus = folder / f"{model}.jsonl"
    with corpus.open("w", encoding="utf-8", newline="\n") as file:
        for text in texts(specials):
            file.write(json.dumps(text, ensure_ascii=False) + "\n")
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
            ids = before + peer.encode(json.loads(line), add_special_tokens=False).ids
            ids.append(ending)
            theirs += len(ids)
            digest.update(b"".join(id.to_bytes(4, "little") for id in ids))
    done = time.monotonic()
    equal = digest.digest() == ours.digest()
    failed |= not equal
    size = corpus.stat().st_size / 1e6
    print(f"{model}: {peer.get_vocab_size()} tokens; {most} texts, {size:.0f} MB, {count} tokens here and {theirs} there: "
          f"{'equal' if equal else 'DIFFERENT'}; {size / (between - begun):.2f} and {size / (done - between):.2f} MB/s, one thread")
sys.exit(1 if failed else 0)
