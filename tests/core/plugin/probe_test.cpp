#include "core/plugin/probe.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/fixtures.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

// As the program finds them.
std::vector<fs::path> shipped(const std::string& kind) {
  std::vector<fs::path> out;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(test::binary_dir() / "lib" / "quench" / kind)) {
    if (entry.path().extension() == ".so") {
      out.push_back(fs::canonical(entry.path()));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

nlohmann::json described(const ProbeResult& result) {
  nlohmann::json out = {{"rejected", result.rejected}, {"findings", result.findings}};
  for (const PluginDescription& item : result.items) {
    out["items"].push_back(description_to_json(item));
    for (const LinkedLibrary& link : item.links) {
      out["links"].push_back({link.soname, link.path.string(), link.build_id});
    }
  }
  if (out.contains("links")) {
    std::sort(out["links"].begin(), out["links"].end());
  }
  return out;
}

}  // namespace

TEST_CASE("probing: plugins that load libtorch together are described as each is alone",
          "[core][plugin]") {
  ProbeOptions options;
  options.self = test::binary_dir() / "bin" / "quench";
  options.seconds = 60;
  const std::vector<fs::path> libraries = shipped("quantizers");
  REQUIRE(libraries.size() > 2);  // fewer are always probed alone
  const std::vector<ProbeResult> together = probe_libraries(libraries, options);
  for (size_t i = 0; i < libraries.size(); ++i) {
    INFO(libraries[i].string());
    const std::vector<ProbeResult> alone = probe_libraries({libraries[i]}, options);
    CHECK(together[i].rejected.empty());
    CHECK(described(together[i]) == described(alone.at(0)));
  }
}

}  // namespace quench
