#!/usr/bin/env bash
# The Rust example builds against the bindings alone, exports one symbol, and keeps the promises of its kind.
# Arguments: source folder, build folder.
set -euo pipefail
source=$1 build=$2
command -v cargo >/dev/null || { echo "SKIPPED: no cargo"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
cp -r "$source/sdk/rust" "$work/rust"
(cd "$work/rust/example" && CARGO_TARGET_DIR=$work/target cargo build --release --offline) >"$work/log" 2>&1 || { cat "$work/log"; fail "cargo build"; }
plugin=$work/target/release/librust_rounding.so
exported=$(nm -D --defined-only "$plugin" | awk '$2 == "T" { print $3 }')
[ "$exported" = quench_module_v1 ] || fail "it exports: $exported"
QUENCH_HOME=$work/home "$build/bin/quench" plugins check "$plugin" || fail "a promise is broken"
