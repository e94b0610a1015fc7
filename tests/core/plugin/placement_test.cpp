#include "core/plugin/placement.hpp"

#include <catch2/catch.hpp>

#include "core/error.hpp"

using Catch::Matchers::Contains;
using quench::Candidate;
using quench::Isolation;
using quench::Placed;
using quench::Placement;
using quench::PluginDescription;
using quench::Resolution;

namespace {

// A plugin of a library of its own that runs on these libraries: {soname, path}.
PluginDescription plugin(const std::string& kind, const std::string& id,
                         const std::vector<std::pair<std::string, std::string>>& links = {}) {
  PluginDescription out;
  out.kind = kind;
  out.id = id;
  out.library = "/plugins/" + id + ".so";
  for (const auto& [soname, path] : links) {
    out.links.push_back({soname, path, ""});
  }
  return out;
}

Placed place(const PluginDescription& item, bool shipped, const Isolation& isolation) {
  return quench::place_library({&item}, shipped, isolation);
}

Isolation manifest_says(const std::string& id, Placement placement) {
  Isolation out;
  out.manifest.push_back(
      {id, placement, "`process: " + quench::to_text(placement) + "` at m.yaml:3:14"});
  return out;
}

const std::vector<std::pair<std::string, std::string>> kOurs = {{"libt.so", "/ours/libt.so"}};
const std::vector<std::pair<std::string, std::string>> kTheirs = {{"libt.so", "/theirs/libt.so"}};

}  // namespace

TEST_CASE("placement: what came with the program shares its process, others do not",
          "[core][plugin]") {
  const PluginDescription gptq = plugin("quantizer", "gptq");
  const Placed shipped = place(gptq, true, {});
  CHECK(shipped.placement == Placement::kShared);
  CHECK(shipped.reason.empty());
  const Placed stranger = place(gptq, false, {});
  CHECK(stranger.placement == Placement::kOwn);
  CHECK_FALSE(stranger.fixed);
  CHECK(quench::own_process_line(gptq, stranger.reason) ==
        "quantizer gptq runs in a process of its own: not part of this installation");
}

TEST_CASE("placement: the manifest decides for the plugin that it names", "[core][plugin]") {
  const PluginDescription gptq = plugin("quantizer", "gptq");
  for (const char* name : {"gptq", "quantizer/gptq"}) {
    const Placed own = place(gptq, true, manifest_says(name, Placement::kOwn));
    CHECK(own.placement == Placement::kOwn);
    CHECK(own.fixed);
    CHECK(own.reason == "`process: own` at m.yaml:3:14");
    CHECK(place(gptq, false, manifest_says(name, Placement::kShared)).placement ==
          Placement::kShared);
  }
  const Placed other = place(gptq, true, manifest_says("metric/gptq", Placement::kOwn));
  CHECK(other.placement == Placement::kShared);
}

TEST_CASE("placement: the command line counts before the manifest", "[core][plugin]") {
  const PluginDescription gptq = plugin("quantizer", "gptq");
  Isolation none = quench::parse_isolation({"none"});
  none.manifest = manifest_says("gptq", Placement::kOwn).manifest;
  CHECK(place(gptq, false, none).placement == Placement::kShared);
  CHECK(place(gptq, false, none).fixed);
  Isolation all = quench::parse_isolation({"all"});
  all.manifest = manifest_says("gptq", Placement::kShared).manifest;
  CHECK(place(gptq, true, all).reason == "`--isolate all`");
  Isolation one = quench::parse_isolation({"none", "quantizer/gptq"});
  CHECK(place(gptq, true, one).placement == Placement::kOwn);
  CHECK(place(plugin("metric", "loss"), false, one).placement == Placement::kShared);
  CHECK_THROWS_WITH(quench::parse_isolation({"none", "all"}), Contains("got none and all"));
}

TEST_CASE("placement: all items of a library go with the one that is named", "[core][plugin]") {
  const PluginDescription first = plugin("quantizer", "first");
  PluginDescription second = plugin("quantizer", "second");
  second.library = first.library;
  const Isolation isolation = quench::parse_isolation({"second"});
  CHECK(quench::place_library({&first, &second}, true, isolation).placement == Placement::kOwn);
  CHECK(quench::worker_group(first) == quench::worker_group(second));
}

TEST_CASE("placement: of two that clash, the one that is not shipped goes apart",
          "[core][plugin]") {
  const PluginDescription stranger = plugin("quantizer", "gptq2", kTheirs);
  const PluginDescription shipped = plugin("model", "llama", kOurs);
  const Resolution found =
      quench::resolve_clashes({{&stranger, false, true}, {&shipped, true, true}}, {});
  CHECK(found.refused.empty());
  REQUIRE(found.apart.size() == 1);
  CHECK(found.apart[0].plugin == &stranger);
  CHECK(found.apart[0].reason ==
        "it needs libt.so from /theirs/libt.so, and model llama needs /ours/libt.so under that "
        "name");
  CHECK(found.together == std::vector<const PluginDescription*>{&shipped});
}

TEST_CASE("placement: of two shipped ones that clash, the later goes apart", "[core][plugin]") {
  const PluginDescription first = plugin("quantizer", "first", kOurs);
  const PluginDescription later = plugin("quantizer", "later", kTheirs);
  const Resolution found =
      quench::resolve_clashes({{&first, true, true}, {&later, true, true}}, {});
  REQUIRE(found.apart.size() == 1);
  CHECK(found.apart[0].plugin == &later);
}

TEST_CASE("placement: what this process runs already clashes, too", "[core][plugin]") {
  const PluginDescription stranger = plugin("quantizer", "gptq2", kTheirs);
  const std::vector<quench::LinkedLibrary> loaded = {{"libt.so", "/ours/libt.so", ""}};
  const Resolution found = quench::resolve_clashes({{&stranger, false, true}}, loaded);
  REQUIRE(found.apart.size() == 1);
  CHECK(found.apart[0].reason ==
        "it needs libt.so from /theirs/libt.so, and this process runs /ours/libt.so under that "
        "name");
  const PluginDescription ours = plugin("quantizer", "gptq", kOurs);
  CHECK(quench::resolve_clashes({{&ours, true, true}}, loaded).apart.empty());
}

TEST_CASE("placement: a clash of plugins that the user keeps together is refused with both files",
          "[core][plugin]") {
  const PluginDescription stranger = plugin("quantizer", "gptq2", kTheirs);
  const PluginDescription shipped = plugin("model", "llama", kOurs);
  const Resolution found = quench::resolve_clashes(
      {{&stranger, false, false, false, "`--isolate none`"}, {&shipped, true, true}}, {});
  CHECK(found.apart.empty());
  REQUIRE(found.refused.size() == 1);
  CHECK(found.refused[0] ==
        "quantizer gptq2 needs libt.so from /theirs/libt.so, and model llama needs /ours/libt.so "
        "under that name; they cannot run in one process; without `--isolate none` one would run "
        "in a process of its own");
}

TEST_CASE("placement: a plugin makes room for one of its rank that the user holds here",
          "[core][plugin]") {
  const PluginDescription first = plugin("quantizer", "first", kOurs);
  const PluginDescription held = plugin("quantizer", "held", kTheirs);
  const Resolution found =
      quench::resolve_clashes({{&first, true, true}, {&held, true, false}}, {});
  CHECK(found.refused.empty());
  REQUIRE(found.apart.size() == 1);
  CHECK(found.apart[0].plugin == &first);
}

TEST_CASE("placement: a library goes apart once, with all its items", "[core][plugin]") {
  const PluginDescription shipped = plugin("model", "llama", kOurs);
  const PluginDescription first = plugin("quantizer", "first", kTheirs);
  PluginDescription second = plugin("metric", "second", kTheirs);
  second.library = first.library;
  const Resolution found = quench::resolve_clashes(
      {{&shipped, true, true}, {&first, false, true}, {&second, false, true}}, {});
  CHECK(found.apart.size() == 1);
  CHECK(found.together.size() == 1);
}
