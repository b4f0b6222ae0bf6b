#!/bin/sh
# Let libFuzzer look for input that the parsers of the load core read wrongly: SECONDS (default 60) for each target.
# Usage: scripts/fuzz.sh [SECONDS [TARGET...]]
# Ends with 1 at the first finding, whose input is kept in crates/dyno-load/fuzz/artifacts/TARGET/, and with 2 when a
# program is missing: nothing is installed here. The options are those of cargo-fuzz, which is not needed.
set -eu

seconds=${1:-60}
case $seconds in '' | *[!0-9]*) seconds=0 ;; esac
[ "$seconds" -gt 0 ] || {
    echo "fuzz.sh: SECONDS must be a number above 0, not '$1'" >&2
    exit 2
}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- http_response fastcgi_records iproto_answers
cd "$(dirname "$0")/../crates/dyno-load/fuzz"

missing() {
    echo "fuzz.sh: $1 is missing; next: $2" >&2
    exit 2
}
command -v cargo >/dev/null || missing cargo "install Rust"
cargo +nightly --version >/dev/null 2>&1 || missing "a nightly compiler" "rustup toolchain install nightly"
command -v c++ >/dev/null || missing "a C++ compiler, which builds libFuzzer" "apt-get install g++"

for target in "$@"; do
    [ -f "fuzz_targets/$target.rs" ] || {
        echo "fuzz.sh: no target '$target'; there are: $(ls fuzz_targets | sed 's/\.rs$//' | tr '\n' ' ')" >&2
        exit 2
    }
done

triple=$(rustc +nightly -vV | sed -n 's/^host: //p')
RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing -Zsanitizer=address \
-Cdebug-assertions -Ccodegen-units=1" cargo +nightly build --locked --release --target "$triple"

for target in "$@"; do
    mkdir -p "corpus/$target" "artifacts/$target"
    echo "fuzz.sh: $target for $seconds s" >&2
    # Bounded memory is part of what is tested. Inputs go beyond the limit of a head, 64 KiB.
    "${CARGO_TARGET_DIR:-target}/$triple/release/$target" "corpus/$target" "seeds/$target" \
        -artifact_prefix="artifacts/$target/" -max_total_time="$seconds" -max_len=80000 -timeout=10 \
        -rss_limit_mb=1024 -malloc_limit_mb=16 -print_final_stats=1 || {
        echo "fuzz.sh: $target found something; run it again with the file in artifacts/$target/ as its only argument" >&2
        exit 1
    }
done
