#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "run/grid/identity.hpp"

using quench::libraries_of;
using quench::PluginDescription;

namespace {

PluginDescription plugin(const std::string& kind, const std::string& id, const std::string& build) {
  PluginDescription out;
  out.kind = kind;
  out.id = id;
  out.links = {{"libtorch_cpu.so", "/somewhere/" + build + "/libtorch_cpu.so", build}};
  return out;
}

const std::string kOne(40, '1');
const std::string kTwo(40, '2');

}  // namespace

TEST_CASE("libraries: what plugins share is named once", "[grid]") {
  const PluginDescription family = plugin("model", "llama", kOne);
  const PluginDescription quantizer = plugin("quantizer", "gptq", kOne);
  CHECK(libraries_of({&family, &quantizer}) == nlohmann::json{{"libtorch_cpu.so", kOne}});
}

TEST_CASE("libraries: two builds of one name are told by plugin, and which plugin has which counts",
          "[grid]") {
  const PluginDescription family = plugin("model", "llama", kOne);
  const PluginDescription quantizer = plugin("quantizer", "gptq", kTwo);
  const nlohmann::json got = libraries_of({&family, &quantizer});
  CHECK(got ==
        nlohmann::json{{"libtorch_cpu.so", {{"model llama", kOne}, {"quantizer gptq", kTwo}}}});
  const PluginDescription other_family = plugin("model", "llama", kTwo);
  const PluginDescription other_quantizer = plugin("quantizer", "gptq", kOne);
  CHECK(libraries_of({&other_family, &other_quantizer}) != got);
}

TEST_CASE("libraries: on a processor nothing of a GPU is named", "[grid]") {
  const PluginDescription family = plugin("model", "llama", kOne);
  CHECK(libraries_of({&family}, {QUENCH_DEVICE_CPU, 0}) == libraries_of({&family}));
  // What is not there computes nothing.
  CHECK(libraries_of({&family}, {QUENCH_DEVICE_CUDA, 0}) == libraries_of({&family}));
}
