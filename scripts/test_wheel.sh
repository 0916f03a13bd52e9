#!/bin/sh
# Installs the wheel of dist/ in an empty environment and runs the demo from another folder,
# without a network where the machine can take it away.
set -eu
python=$1
here=$PWD
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
"$python" -m venv "$empty/venv"
"$empty/venv/bin/python" -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
cd "$empty"
offline=
unshare -r -n true 2>/dev/null && offline="unshare -r -n"
$offline "$empty/venv/bin/agnn" demo
$offline "$empty/venv/bin/python" -c "import agnn; print('agnn', agnn.__version__, 'in', agnn.__path__[0])" | tee version.txt
grep -q "$empty" version.txt
test -z "$offline" && echo "the network could not be taken away here" || echo "without a network"
cd "$here"
