#!/usr/bin/env bash
# Makes the run and the store of this folder with a program of quench 0.1.0 whose keys still had the SHA-256 of plugins
# and `"host": 1` in them (commit 49b4f6a). Argument: the build folder of that program.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
work=/study # records name the run's folder; as root
[ ! -e "$work" ]
mkdir "$work"
trap 'rm -rf "$work"' EXIT
cd "$work"

# What tests/cli/program.cpp makes.
perl "$here/../../sdk/tiny_checkpoint.pl" tiny template_model
perl -e 'my $t = ""; for (my $i = 0; length $t < 1000; $i++) { $t .= "line " . ($i * 7919 % 1000) . "\n" }
         print substr $t, 0, 1000' >t.txt
mkdir models
cp -r tiny models/step1
cp -r tiny models/step2
cp "$here/m.yaml" .

env -i PATH="$PATH" HOME="$work" QUENCH_HOME="$work/home" QUENCH_PLUGIN_PATH="$build/template" \
  "$build/bin/quench" run m.yaml
rm -rf "$here/run" "$here/records"
mkdir "$here/run"
cp runs/m/manifest.* runs/m/records-* "$here/run/"
sed -E 's#"manifest": ".*"#"manifest": "m.yaml"#' runs/m/run.json >"$here/run/run.json"
cp -r home/records "$here/records"
