#!/usr/bin/env bash
# Run the tests under the code paths that other CPUs take: test_portable.sh PYTHON [PYTEST ARGUMENTS]
# Each line of PATHS is one run: torch, oneDNN, MKL, OpenBLAS and numba choose their code by it.
# torch.compile keeps code that it made for one of them and would take it for another.
set -uo pipefail
python=$1
shift
if [ $# -eq 0 ]; then set -- -n auto --dist loadfile --ignore=tests/browser; fi

PATHS=(
  "ATEN_CPU_CAPABILITY=default AGNN_TEST_THREADS=1"
  "ATEN_CPU_CAPABILITY=avx2 AGNN_TEST_THREADS=2"
  "MKL_CBWR=COMPATIBLE DNNL_MAX_CPU_ISA=SSE41 OPENBLAS_CORETYPE=Prescott AGNN_TEST_THREADS=2"
  "NUMBA_CPU_NAME=generic NUMBA_CACHE_DIR=${TMPDIR:-/tmp}/agnn-numba-generic AGNN_TEST_THREADS=1"
)

failed=0 number=0
inductor=$(mktemp -d)
trap 'rm -rf "$inductor"' EXIT
for path in "${PATHS[@]}"; do
  echo "== $path"
  # shellcheck disable=SC2086 (a path is several assignments)
  env $path TORCHINDUCTOR_CACHE_DIR="$inductor/$((number++))" "$python" -m pytest -q "$@" || failed=1
done
exit $failed
