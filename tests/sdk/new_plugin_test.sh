#!/usr/bin/env bash
# `./dev new` starts a plugin of every kind that builds, passes its test and exports its entry alone.
# Arguments: source folder, build folder, library folder's name.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Whoever the checkout belongs to. A source tree without git (a tarball) does not say which files are its own.
git=(git -c "safe.directory=*" -C "$source")
"${git[@]}" rev-parse --git-dir >/dev/null || { echo "SKIPPED: $source is no git checkout" >&2; exit 77; }
(cd "$source" && "${git[@]}" ls-files -co --exclude-standard -z | xargs -0 cp --parents -t "$work" --)
cd "$work"
ln -s "$source/.deps" .deps
kinds="quantizer quantizer_c model decoder averaging metric corpus tokenizer optimizer format transform"
targets=()
for kind in $kinds; do
  tools/new_plugin "$kind" "fresh_$kind" >/dev/null
  path=$(echo plugins/*/"fresh_$kind"/"fresh_$kind".c*)
  [ -f "$path" ] || { echo "no $path"; exit 1; }
  if grep -qi "template" <<<"$(grep -i "template_$kind\|Template" "$path" | grep -v 'template <')"; then
    echo "$path still speaks of the template"
    exit 1
  fi
  folder=$(basename "$(dirname "$(dirname "$path")")")
  [ "$kind" != decoder ] || continue # needs libtorch, which this build goes without; install_test.sh builds one
  targets+=("${folder}_fresh_$kind" "${folder}_fresh_${kind}_tests")
done

! tools/new_plugin quantizer fresh_quantizer 2>refused || { echo "an existing id was taken"; exit 1; }
grep -q "already there" refused
! tools/new_plugin quantiser other 2>refused || { echo "an unknown kind was taken"; exit 1; }
grep -q "unknown kind" refused
! tools/new_plugin quantizer Other-One 2>refused || { echo "a bad id was taken"; exit 1; }

launcher=()
if command -v ccache >/dev/null; then
  export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
cmake --preset release -DQUENCH_TORCH=OFF "${launcher[@]}" >configure.log || { cat configure.log; exit 1; }
cmake --build --preset release -j 2 --target "${targets[@]}" >build.log || { tail -50 build.log; exit 1; }
ctest --preset release -R 'fresh_.*module describes' --no-tests=error
for module in build/release/lib/quench/*/fresh_*.so; do
  exported=$(nm -D --defined-only "$module" | awk '{print $3}')
  [ "$exported" = quench_module_v1 ] || { echo "$module exports: $exported"; exit 1; }
done
[ "$(find build/release/lib/quench -name 'fresh_*.so' | wc -l)" = 10 ]
