#!/usr/bin/env bash
# What a plugin author and a user see of an installed quench: the SDK builds plugins out of the tree with nothing else,
# the plugins find their libraries, the program finds its plugins.
# Arguments: source folder, build folder, library folder's name.
set -euo pipefail
build=$2 libdir=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() { echo "FAILED: $*"; exit 1; }
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; fail "$*"; }; }

QUENCH_INSTALL_DEPS=symlink quietly cmake --install "$build" --prefix "$prefix"

# Every installed plugin resolves all its libraries, none of them in the build tree or the checkout's own path.
plugins=0
for module in "$prefix/$libdir"/quench/*/*.so; do
  [ -f "$module" ] || continue
  plugins=$((plugins + 1))
  if ldd "$module" | grep 'not found'; then fail "$module: a library is missing"; fi
  if readelf -d "$module" | grep -E 'R(UN)?PATH' | grep -v 'ORIGIN'; then fail "$module: an absolute path"; fi
done
echo "installed plugins: $plugins"

# The list has every plugin as it was installed, and the program refuses one that is not what the list says.
(cd "$prefix/$libdir/quench" && quietly sha256sum --strict -c SHA256SUMS) || fail "SHA256SUMS"
[ "$(wc -l <"$prefix/$libdir/quench/SHA256SUMS")" -ge "$plugins" ] || fail "SHA256SUMS has not all of $plugins plugins"
changed=$prefix/$libdir/quench/corpora/text.so
cp "$changed" "$work/text.so"
echo >>"$changed"
QUENCH_HOME=$work/home "$prefix/bin/quench" plugins list >"$work/listed" 2>&1 || true
grep -q 'text.so: is not the file that was installed' "$work/listed" || { cat "$work/listed"; fail "a changed plugin is used"; }
cp "$work/text.so" "$changed"

# The manual and the completions are the program's own words.
for text in man:man/man1/quench.1 bash:bash-completion/completions/quench zsh:zsh/site-functions/_quench \
  fish:fish/vendor_completions.d/quench.fish; do
  "$prefix/bin/quench" completion "${text%%:*}" >"$work/printed"
  cmp -s "$work/printed" "$prefix/share/${text#*:}" || fail "share/${text#*:} is not what the program prints"
done

# Four plugins of somebody else: a model family, a format and a tokenizer under names of their own, and a quantizer in plain C.
templates=$prefix/share/quench/template
mkdir "$work/theirs"
sed -e 's/template_model/another_family/g' -e 's/TemplateModel/AnotherFamily/g' \
  "$templates/model/template_model.cpp" >"$work/theirs/another_family.cpp"
sed -e 's/template_format/another_format/g' -e 's/TemplateFormat/AnotherFormat/g' \
  "$templates/format/template_format.cpp" >"$work/theirs/another_format.cpp"
sed -e 's/template_tokenizer/their_words/g' -e 's/TemplateTokenizer/TheirWords/g' \
  "$templates/tokenizer/template_tokenizer.cpp" >"$work/theirs/their_words.cpp"
cp "$templates/quantizer_c/template_quantizer_c.c" "$work/theirs/"
cat >"$work/theirs/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(theirs LANGUAGES C CXX)
find_package(quench-sdk 0.1 REQUIRED)
quench_add_plugin(another_family KIND models SOURCES another_family.cpp)
quench_add_plugin(another_format KIND formats SOURCES another_format.cpp)
quench_add_plugin(their_words KIND tokenizers SOURCES their_words.cpp)
quench_add_plugin(template_quantizer_c KIND quantizers SOURCES template_quantizer_c.c)
END
quietly cmake -S "$work/theirs" -B "$work/theirs/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
quietly cmake --build "$work/theirs/build"
for module in models/another_family formats/another_format tokenizers/their_words quantizers/template_quantizer_c; do
  exported=$(nm -D --defined-only "$work/theirs/build/$module.so" | awk '{print $3}')
  [ "$exported" = quench_module_v1 ] || fail "$module exports: $exported"
done

# The same sources in another folder make the same plugin, as content keys name it; so does installing it.
id_of() { readelf --notes --wide "$1" | sed -n 's/.*Build ID: //p'; }
mkdir "$work/elsewhere"
cp -r "$work/theirs" "$work/elsewhere/a copy of it"
rm -r "$work/elsewhere/a copy of it/build"
quietly cmake -S "$work/elsewhere/a copy of it" -B "$work/elsewhere/built" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
quietly cmake --build "$work/elsewhere/built"
for module in models/another_family quantizers/template_quantizer_c; do
  here=$(id_of "$work/theirs/build/$module.so") there=$(id_of "$work/elsewhere/built/$module.so")
  [ -n "$here" ] && [ "$here" = "$there" ] || fail "$module: its build id is $here in one folder, $there in another"
done
while read -r module; do
  installed=$prefix/$libdir/quench/${module##*/quench/}
  [ -f "$installed" ] || continue
  [ "$(id_of "$module")" = "$(id_of "$installed")" ] || fail "$installed: its build id is not that of $module"
done <"$build/plugins.txt"

# A quantizer of fewer than a hundred lines, made from the SDK alone, keeps every promise of its kind.
[ "$(wc -l <"$templates/quantizer/template_quantizer.cpp")" -lt 100 ] || fail "the quantizer template has a hundred lines"
quietly cmake -S "$templates/quantizer" -B "$work/small" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
quietly cmake --build "$work/small"
if [ -x "$build/tests/contract_tests" ]; then
  QUENCH_CONTRACT_QUANTIZERS=$work/small/quantizers/template_quantizer.so quietly "$build/tests/contract_tests" "[quantizers]"
fi

# Each template is a project of its own.
for folder in "$templates"/*/; do
  kind=$(basename "$folder")
  quietly cmake -S "$folder" -B "$work/template/$kind" -DCMAKE_PREFIX_PATH="$prefix"
done

# With libtorch: the component gives a target that compiles and links the kit's glue.
if [ -e "$prefix/$libdir/quench/deps/torch/lib/libtorch_cpu.so" ]; then
  mkdir "$work/torch"
  cat >"$work/torch/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(with_torch LANGUAGES CXX)
find_package(quench-sdk REQUIRED COMPONENTS torch)
quench_add_plugin(with_torch SOURCES with_torch.cpp LINK quench::torch)
END
  cat >"$work/torch/with_torch.cpp" <<'END'
#include "quench/abi/module.h"
#include "quench/kit/torch.hpp"
static int64_t count = 0;
extern "C" const quench_module* quench_module_v1(void) noexcept {
  count += quench::kit::host_empty({2, 2}, at::kFloat).numel();
  return nullptr;
}
END
  quietly cmake -S "$work/torch" -B "$work/torch/build" -DCMAKE_PREFIX_PATH="$prefix"
  quietly cmake --build "$work/torch/build"
  if readelf -d "$work/torch/build/with_torch.so" | grep -E 'R(UN)?PATH'; then fail "with_torch: a path of this machine"; fi
  readelf --notes "$work/torch/build/with_torch.so" | grep -q quench || fail "with_torch: no note of its libtorch"

  # Of libtorch, the functions alone that it keeps: such a plugin keeps its promises with the libtorch that quench has, whatever
  # it was built with; one that wants more is refused when it is built.
  mkdir "$work/stable"
  cp "$(dirname "$0")/stable_rounding.cpp" "$work/stable/"
  cat >"$work/stable/wants_more.cpp" <<'END'
#include "quench/abi/module.h"
namespace at {
int get_num_threads();  // its headers refuse to be included here
}
static int threads = 0;
extern "C" const quench_module* quench_module_v1(void) noexcept {
  threads = at::get_num_threads();
  return nullptr;
}
END
  cat >"$work/stable/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(stable LANGUAGES CXX)
find_package(quench-sdk REQUIRED COMPONENTS torch_stable)
quench_add_plugin(stable_rounding SOURCES stable_rounding.cpp LINK quench::torch_stable)
quench_add_plugin(wants_more SOURCES wants_more.cpp LINK quench::torch_stable)
set_target_properties(wants_more PROPERTIES EXCLUDE_FROM_ALL ON)
END
  quietly cmake -S "$work/stable" -B "$work/stable/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
  quietly cmake --build "$work/stable/build"
  if readelf -d "$work/stable/build/stable_rounding.so" | grep -E 'R(UN)?PATH'; then fail "stable_rounding: a path of this machine"; fi
  QUENCH_HOME=$work/home quietly "$prefix/bin/quench" plugins check "$work/stable/build/stable_rounding.so"
  if cmake --build "$work/stable/build" --target wants_more >"$work/log" 2>&1; then fail "C++ symbols of libtorch in a stable plugin"; fi
  grep -q get_num_threads "$work/log" || { cat "$work/log"; fail "the symbol is not named"; }
  echo "a plugin of libtorch's stable functions ran"
fi

# A seventh family of Llama's layout, out of the tree, in less than 150 lines: it gives the bits of a built-in family with
# the same mathematics, and its linears are quantized.
if [ -e "$prefix/$libdir/quench/sdk/libquench_decoder.a" ]; then
  lines=$(wc -l <"$(dirname "$0")/seventh_family.cpp")
  [ "$lines" -lt 150 ] || fail "the seventh family takes $lines lines, wanted fewer than 150"
  mkdir "$work/seventh"
  sed -e 's/template_decoder/seventh/g' "$templates/decoder/CMakeLists.txt" >"$work/seventh/CMakeLists.txt"
  cp "$(dirname "$0")/seventh_family.cpp" "$work/seventh/seventh.cpp"
  quietly cmake --build "$work/template/decoder"
  quietly cmake -S "$work/seventh" -B "$work/seventh/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release
  quietly cmake --build "$work/seventh/build"
  exported=$(nm -D --defined-only "$work/seventh/build/models/seventh.so" | awk '{print $3}')
  [ "$exported" = quench_module_v1 ] || fail "seventh exports: $exported"
  if readelf -d "$work/seventh/build/models/seventh.so" | grep -E 'R(UN)?PATH'; then fail "seventh: a path of this machine"; fi
  python3 "$(dirname "$0")/twin_checkpoints.py" "$work/twins"
  for twin in theirs ours; do
    "$prefix/bin/quench" eval "$work/twins/$twin" --plugin-path "$work/seventh/build" --json --quantizer gptq:bits=3 \
      --calibration "tokens=$work/twins/ids.safetensors" --metric "validation_loss:tokens=$work/twins/ids.safetensors,block=32" \
      >"$work/$twin.json" 2>"$work/log" || { cat "$work/log"; fail "quench eval of the seventh family"; }
  done
  python3 - "$work/theirs.json" "$work/ours.json" <<'END' || fail "the seventh family computes something else"
import json, sys
theirs, ours = ([r for r in json.load(open(path))["data"]["records"] if r["metric"] == "validation_loss"] for path in sys.argv[1:])
assert [r["environment"]["family"] for r in (theirs[0], ours[0])] == ["seventh", "opensci"]
assert [r["value"] for r in theirs] == [r["value"] for r in ours] and len(theirs) == 2, (theirs, ours)
END
  echo "a seventh family of $lines lines ran"
fi

# The installed program runs the two plugins by a manifest, on a checkpoint of that family; the error of the quantizer's
# result, which it cannot measure itself, comes from one that can.
"$(dirname "$0")/tiny_checkpoint.pl" "$work/checkpoint" another_family
seq 1 2000 >"$work/numbers.txt"
cat >"$work/manifest.yaml" <<'END'
checkpoints: {model: checkpoint}
calibration: {few: {corpus: numbers, sequences: 4, length: 32}}
quantizers:
  - template_quantizer_c: {bits: [3, 4]}
    calibration: few
metrics: [validation_loss: {corpus: numbers, block: 32}]
corpora: {numbers: {text: {path: numbers.txt}}}
END
"$prefix/bin/quench" run "$work/manifest.yaml" --plugin-path "$work/theirs/build" --out "$work/run" --json \
  >"$work/records.json" 2>"$work/log" || { cat "$work/log"; fail "quench run"; }
python3 - "$work/records.json" <<'END' || { cat "$work/records.json"; fail "the records are not as they should be"; }
import json, sys
records = json.load(open(sys.argv[1]))["data"]["records"]
assert not any(record["error"] for record in records)
quantized = [r for r in records if r["quantizer"] and r["metric"] == "validation_loss"]
assert [r["quantizer"]["params"]["bits"] for r in quantized] == [3, 4]
for record in quantized:
    layers = record["details"]["layers"]
    assert layers and all(0 < layer["relative_error"] < 1 for layer in layers), layers
assert sum(r["metric"] == "quantization_error" for r in records) == 2
END
echo "a manifest with both plugins ran"

# The format writes a folder with the program's own quantizer, and the program finds by the folder who reads it: the loss
# that was measured is the folder's.
"$prefix/bin/quench" quantize "$work/checkpoint" --quantizer rtn:bits=4 --format another_format -o "$work/written" \
  --plugin-path "$work/theirs/build" --metric "validation_loss:text=$work/numbers.txt,block=32" --json \
  >"$work/quantized.json" 2>"$work/log" || { cat "$work/log"; fail "quench quantize"; }
"$prefix/bin/quench" eval "$work/written" --plugin-path "$work/theirs/build" --json \
  --metric "validation_loss:text=$work/numbers.txt,block=32" >"$work/read.json" 2>"$work/log" ||
  { cat "$work/log"; fail "quench eval of what it wrote"; }
python3 - "$work/quantized.json" "$work/read.json" <<'END' || { cat "$work/read.json"; fail "the folder is another model"; }
import json, sys
quantized, read = (json.load(open(path))["data"] for path in sys.argv[1:])
record = read["records"][0]
assert record["checkpoint"]["stored"]["format"] == "another_format", record["checkpoint"]
assert record["value"] == quantized["metrics"][0]["quantized"] != quantized["metrics"][0]["float"], (record, quantized)
END
if "$prefix/bin/quench" eval "$work/written" --metric "validation_loss:text=$work/numbers.txt,block=32" 2>"$work/log"; then
  fail "codes of a format that is not there were read"
fi
grep -q "in a way that no format reads" "$work/log" || { cat "$work/log"; fail "a format that is not there is not named"; }
echo "a format of somebody else wrote and read"
# The tokenizer, which no manifest names, is found by the file that one does name; what it computes is in the records' keys.
seq 0 99 >"$work/hundred.words"
echo '"7 99 12345"' | "$prefix/bin/quench" tokenize "$work/hundred.words" --plugin-path "$work/theirs/build" >"$work/ids" 2>"$work/log" ||
  { cat "$work/log"; fail "quench tokenize"; }
[ "$(cat "$work/ids")" = "[7,99,0]" ] || fail "quench tokenize gives $(cat "$work/ids")"
sed -e 's/{model: checkpoint}/{model: checkpoint, tokenizer: hundred.words}/' "$work/manifest.yaml" >"$work/words.yaml"
"$prefix/bin/quench" run "$work/words.yaml" --plugin-path "$work/theirs/build" --out "$work/words" --json \
  >"$work/records.json" 2>"$work/log" || { cat "$work/log"; fail "quench run with the tokenizer"; }
python3 - "$work/records.json" <<'END' || { cat "$work/records.json"; fail "the records do not know the tokenizer"; }
import json, sys
records = [r for r in json.load(open(sys.argv[1]))["data"]["records"] if r["metric"] == "validation_loss"]
assert len(records) == 3 and not any(record["error"] for record in records)
for record in records:
    assert record["parts"]["tokenizer"]["id"] == "their_words", record["parts"]["tokenizer"]
END
echo "a manifest with the tokenizer ran"
