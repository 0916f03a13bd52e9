#!/bin/sh
# Tests the package with the lowest versions that pyproject.toml allows, in build/lowest.
# UV_TORCH_BACKEND=cpu takes torch from PyTorch's own index, without the CUDA packages.
set -eu
uv=$1
shift
"$uv" venv --quiet --clear build/lowest
"$uv" pip install --quiet --python build/lowest/bin/python --resolution lowest-direct -e '.[test]'
# Old releases warn about their own newer dependencies; here that is no error.
build/lowest/bin/python -m pytest -q -n auto --dist loadfile -m "not slow" \
    -W default::DeprecationWarning -W default::PendingDeprecationWarning -W default::FutureWarning "$@"
