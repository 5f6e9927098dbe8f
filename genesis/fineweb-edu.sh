#!/usr/bin/env bash
# FineWeb-Edu, its sample of 10 billion tokens: web pages that a classifier finds instructive. Licence ODC-By 1.0, and the terms of use of Common Crawl.
# FineWeb has been filtered and has no near duplicates within a crawl; what several crawls have, it has several times: so near duplicates are left out here.
#
# Not tried: the files are some 28 GB. The root is not known yet.
#
#   genesis/fineweb-edu.sh TEXT DATASET [TOKENIZER]
#
# TEXT is the folder sample/10BT of the dataset HuggingFaceFW/fineweb-edu in Hugging Face's hub, or the snapshot of it in the cache of its tools, as of
#   hf download HuggingFaceFW/fineweb-edu --repo-type dataset --include 'sample/10BT/*'
# TOKENIZER is a tokenizer.json; without it one of 32,768 tokens is made of the first 500 MB.
set -euo pipefail
text="${1:?name the folder of Parquet files}" dataset="${2:?name a new folder for the dataset}" tokenizer="${3:-}"
worker="${NEUROSHARD_WORKER:-neuroshard-worker}"
if [ -z "$tokenizer" ]; then
	tokenizer="$dataset.tokenizer.json"
	"$worker" tokenizer train --corpus "$text" --max-bytes 500000000 --vocab 32768 --out "$tokenizer"
fi
# Shards of 8 MiB: some 2,400 of them, with 8 held out.
"$worker" dataset build --corpus "$text" --near-duplicates --tokenizer "$tokenizer" --out "$dataset" \
	--name "FineWeb-Edu 10BT" --licence ODC-By-1.0 --url hf://datasets/HuggingFaceFW/fineweb-edu/sample/10BT \
	--tokens-per-shard 4194304 --held-out 8
"$worker" dataset verify --dir "$dataset" --sources "$text"
