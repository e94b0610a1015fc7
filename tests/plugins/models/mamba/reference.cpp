#include "tests/plugins/models/mamba/reference.hpp"

#include "quench/kit/scalar.hpp"
#include "quench/kit/source.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

MambaReference::MambaReference(const std::string& name) {
  notes =
      nlohmann::json::parse(read_file(source_dir() / "tests/data/mamba_reference.json")).at(name);
  config = notes.at("config").dump();
  MemorySource all;
  all.add_safetensors(source_dir() / "tests/data/mamba_reference.safetensors");
  const kit::Source names(*all.source());
  for (uint64_t i = 0; i < names.count(); ++i) {
    const std::string full = names.info(i).name;
    if (full.starts_with(name + "/")) {
      const std::string own = full.substr(name.size() + 1);
      const bool weight = own.starts_with("backbone.") || own.starts_with("lm_head.");
      (weight ? weights : results)
          .add(own, all.shape(full), all.values(full), weight ? kit::kFloat32 : kit::kFloat64);
    }
  }
  const std::vector<double> ids = results.values("ids");
  tokens = {2, 24, {ids.begin(), ids.end()}};
}

Tokens MambaReference::first(int64_t length) const {
  Tokens made{tokens.rows, length, {}};
  for (int64_t row = 0; row < tokens.rows; ++row) {
    const auto begin = tokens.ids.begin() + row * tokens.length;
    made.ids.insert(made.ids.end(), begin, begin + length);
  }
  return made;
}

}  // namespace quench::test
