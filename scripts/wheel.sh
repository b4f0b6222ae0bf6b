#!/bin/sh
# make wheel: a wheel that needs no compiler where it is installed, into dist/, and what it wants of the system.
# One wheel serves every Python from 3.11 on (abi3); its name says for which machine and from which glibc on.
# Usage: scripts/wheel.sh [DIRECTORY]
set -eu
out=$(realpath -m "${1:-dist}")
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
"$python" -c 'import maturin' 2>/dev/null || { echo 'wheel.sh: maturin is missing; next: make setup' >&2; exit 1; }
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
trap 'exit 130' INT TERM HUP
# maturin looks at the symbols of the library, as auditwheel does, and names the oldest glibc that has them all.
"$python" -m maturin build --release --locked --quiet --out "$made"
wheel=$(ls "$made"/phpdyno-*-abi3-*.whl)
case $wheel in
    *-manylinux_*) ;;
    *) echo "wheel.sh: $(basename "$wheel") is for this system alone: its name tells no glibc" >&2; exit 1 ;;
esac
mkdir -p "$out"
mv -f "$wheel" "$out/"
printf 'wheel.sh: %s\n' "$out/$(basename "$wheel")"
