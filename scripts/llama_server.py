"""llama.cpp with a model, for check_export.py and check_loss.py."""

import json
import urllib.request

import xllamacpp


def start(gguf, context):
    """Answers `ask(path, body)` with a model in f32 attention on the CPU, one text of up to `context` tokens at a time."""
    params = xllamacpp.CommonParams()
    params.model.path, params.n_parallel, params.n_ctx, params.n_gpu_layers = gguf, 1, context, 0
    params.cache_type_k = params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    params.verbosity = 0
    server = xllamacpp.Server(params)

    def ask(path, body):
        request = urllib.request.Request(f"{server.listening_address}/{path}", json.dumps(body).encode(), {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)

    return ask
