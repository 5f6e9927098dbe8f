#!/usr/bin/env bash
# RedPajama 1T by the shares of its own table of tokens: Common Crawl 878, C4 175, GitHub 59, arXiv 28, Wikipedia 24, Stack Exchange 20 (billions). Its books
# are no longer published. Each subset has a licence of its own, which its authors name.
#
# Not tried: it is some 5 TB. Its root is not known. Shards hold 2^26 tokens at most, and a dataset has up to 65,536 of them, which is room for 4.4e12 tokens.
#
#   genesis/redpajama.sh FOLDER DATASET TOKENIZER
#
# FOLDER has the folders common_crawl, c4, github, arxiv, wikipedia and stackexchange of the dataset togethercomputer/RedPajama-Data-1T. What several subsets
# have counts for the first one that is named.
set -euo pipefail
folder="${1:?name the folder of the subsets}" dataset="${2:?name a new folder for the dataset}" tokenizer="${3:?name a tokenizer.json}"
worker="${NEUROSHARD_WORKER:-neuroshard-worker}"
"$worker" dataset build --mix "24:$folder/wikipedia" --mix "20:$folder/stackexchange" --mix "28:$folder/arxiv" --mix "59:$folder/github" \
	--mix "175:$folder/c4" --mix "878:$folder/common_crawl" --tokenizer "$tokenizer" --out "$dataset" \
	--name "RedPajama 1T" --licence LicenseRef-mixed --url https://data.together.xyz/redpajama-data-1T/v1.0.0 \
	--memory 34359738368 --tokens-per-shard 67108864 --held-out 8
"$worker" dataset verify --dir "$dataset" --sources "$folder" --memory 34359738368
