"""What the official `openai` package for Python shows of a worker that serves a model: python main.py BASE_URL MODEL KEY LIMITED_KEY, or of a
gateway by which a provider is paid: python main.py BASE_URL MODEL."""

import math
import sys

import openai

base_url, model, *keys = sys.argv[1:]
client = openai.OpenAI(base_url=base_url, api_key=keys[0] if keys else "none", max_retries=0, timeout=60)
messages = [{"role": "user", "content": "fn main() {"}]


def ask(**options):
    return client.chat.completions.create(**{"model": model, "messages": messages, "max_tokens": 24, "seed": 7, **options})


def refused(kind, **options):
    try:
        ask(**options)
    except kind as error:
        return error
    raise AssertionError(f"{options} was not refused")


assert [one.id for one in client.models.list()] == [model]
whole, other = ask(temperature=0.9), ask(temperature=0.9, seed=8)
content = whole.choices[0].message.content
assert content == ask(temperature=0.9).choices[0].message.content != other.choices[0].message.content
assert whole.usage.prompt_tokens + whole.usage.completion_tokens == whole.usage.total_tokens
print("ok: chats, with the same answer for the same seed")

chunks = list(ask(temperature=0.9, stream=True, stream_options={"include_usage": True}))
assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == content
assert chunks[-1].usage == whole.usage
print("ok: streams what it answers at once")

text = ask(temperature=0).choices[0].message.content
stopped = ask(temperature=0, stop=text[3:5]).choices[0]
assert (stopped.message.content, stopped.finish_reason) == (text[: text.index(text[3:5])], "stop")
told = ask(temperature=0, logprobs=True, top_logprobs=3).choices[0].logprobs.content
assert all(token.top_logprobs[0].logprob == token.logprob for token in told) and "".join(token.token for token in told) == text
print("ok: ends before a stop string, and tells probabilities")

completed = client.completions.create(model=model, prompt="let x", max_tokens=8, temperature=0)
pieces = client.completions.create(model=model, prompt="let x", max_tokens=8, temperature=0, stream=True)
assert completed.choices[0].text == "".join(piece.choices[0].text for piece in pieces)
if keys:
    embedded = client.embeddings.create(model=model, input="one").data[0].embedding
    assert abs(math.hypot(*embedded) - 1) < 1e-5
print("ok: completes text, and embeds it where that is not paid for")

assert refused(openai.NotFoundError, model="other").code == "model_not_found"
assert refused(openai.BadRequestError, top_p=2).param == "top_p"
assert refused(openai.BadRequestError, messages=[{"role": "user", "content": "x" * 10_000}]).code == "context_length_exceeded"
print("ok: says what is wrong")
