#!/bin/sh
# Removes from the environment of the image what Bookwise never loads: tests, stubs, C sources, the tools of onnxruntime for
# developers, debug symbols, and the download client that `tokenizers` names but only uses to fetch models.
set -eu
environment=$1
"$environment/bin/python" -m pip uninstall --quiet --yes huggingface-hub hf-xet fsspec filelock setuptools pip
cd "$environment"/lib/python3*/site-packages
find . -type d \( -name tests -o -name __pycache__ \) -prune -exec rm -rf {} +
find . -type f \( -name '*.pyi' -o -name '*.h' -o -name '*.c' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.a' \) -delete
for tools in transformers tools quantization datasets backend; do rm -rf "onnxruntime/$tools"; done
# Not the libraries that wheels bring along (`*.libs`): they were edited for the wheel, and strip would break them.
find . -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} +
