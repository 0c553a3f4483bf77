#!/bin/sh
# Removes from the environment of the image what Bookwise never loads, then imports what it can load: if a new version of a
# package needs a removed part, the build fails instead of the service.
set -eu
environment=$1
# The download client that `tokenizers` names but only uses to fetch models, and time zones, which Debian has.
"$environment/bin/python" -m pip uninstall --quiet --yes huggingface-hub hf-xet fsspec filelock tzdata setuptools pip
cd "$environment"/lib/python3*/site-packages
find . -type d \( -name tests -o -name __pycache__ \) -prune -exec rm -rf {} +
find . -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.proto' \
  -o -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cpp' -o -name '*.a' \) -delete
# The list of files that pip needs to uninstall a package.
find . -path './*.dist-info/RECORD' -delete
# onnxruntime: tools for developers, and a second copy of the engine for programs in C.
rm -rf onnxruntime/transformers onnxruntime/tools onnxruntime/quantization onnxruntime/datasets onnxruntime/backend
rm -f onnxruntime/capi/libonnxruntime.so.*
# Parts of numpy for compilers, tests and other mathematics, tests of the database libraries, and what the agent library has
# for speech and for other services.
rm -rf numpy/distutils numpy/f2py numpy/_core/_simd.*.so numpy/random numpy/fft numpy/polynomial
rm -rf sqlalchemy/testing alembic/testing
rm -rf agents/extensions agents/realtime agents/voice
# Not the libraries that wheels bring along (`*.libs`): they were edited for the wheel, and strip would break them.
find . -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} +
"$environment/bin/python" -B - <<'PYTHON'
import importlib
import pkgutil
import zoneinfo

import bookwise

for module in pkgutil.walk_packages(bookwise.__path__, "bookwise."):
    importlib.import_module(module.name)
for name in (
    "agents", "alembic.command", "mcp.server", "onnxruntime", "openai", "procrastinate", "psycopg", "psycopg_pool",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter", "opentelemetry.sdk.trace", "qdrant_client", "qdrant_edge",
    "sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite", "tokenizers", "uvicorn",
):
    importlib.import_module(name)
zoneinfo.ZoneInfo("Europe/Berlin")
PYTHON
