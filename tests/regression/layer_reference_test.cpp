// `quench layer`: the reference layers.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/regression/layer_file.hpp"
#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;

namespace quench::test {

namespace {

using json = nlohmann::json;

// One entry of cases.json in the form of --quantizer.
std::string inline_form(const json& entry) {
  const auto flag = [&](const char* key) { return entry.at(key) ? "true" : "false"; };
  std::string out = entry.at("method").get<std::string>() + ":bits=" + entry.at("bits").dump() +
                    ",group_size=" + entry.at("group").dump() + ",sym=" + flag("sym");
  if (entry.at("method") == "gptq") {
    out += std::string(",desc_act=") + flag("desc_act") +
           ",static_groups=" + flag("static_groups") +
           ",scale_from=" + entry.at("group_params").get<std::string>() +
           ",damp=" + entry.at("percdamp").dump() + ",block=" + entry.at("block").dump();
  }
  return out;
}

// About `count` entries of one method, evenly spread over the list.
std::vector<json> sample(const json& cases, const std::string& method, size_t count) {
  std::vector<json> all;
  for (const json& entry : cases) {
    if (entry.at("method") == method) {
      all.push_back(entry);
    }
  }
  std::vector<json> out;
  for (size_t i = 0; i < std::min(count, all.size()); ++i) {
    out.push_back(all[i * all.size() / std::min(count, all.size())]);
  }
  return out;
}

struct Counts {
  int cases = 0;
  int rows = 0;
  int compared = 0;
};

// Codes must be the reference's in rows whose values all stay `margin` steps away from a point
// where a code changes.
void compare_case(const fs::path& layer, const SafetensorsFile& expected, const json& entry,
                  const std::string& more, double margin, Counts& counts) {
  const std::string id = entry.at("id");
  INFO(layer.parent_path() << " " << id << more);
  const TemporaryDir folder;
  const std::string out = (folder / "out.safetensors").string();
  const json document =
      quench_json({"layer", layer.string(), "--quantizer", inline_form(entry) + more, "-o", out});
  const json& result = document.at("results").at(0);
  const SafetensorsFile got(out);
  const auto codes = got.elements<uint8_t>("codes");
  const auto wanted = expected.elements<uint8_t>(id + ".codes");
  const auto row_margin = expected.elements<double>(id + ".row_margin");
  REQUIRE(codes.size() == wanted.size());
  CHECK(differences(got.elements<int32_t>("g_idx"), expected.elements<int32_t>(id + ".g_idx")) ==
        "");
  const bool is_gptq = entry.at("method") == "gptq";
  REQUIRE(got.has("perm") == is_gptq);
  if (is_gptq) {
    CHECK(differences(got.elements<int32_t>("perm"), expected.elements<int32_t>(id + ".perm")) ==
          "");
  }
  const size_t columns = codes.size() / row_margin.size();
  ++counts.cases;
  bool all_compared = true;
  for (size_t r = 0; r < row_margin.size(); ++r) {
    ++counts.rows;
    if (!(row_margin[r] > margin)) {
      all_compared = false;
      continue;
    }
    ++counts.compared;
    INFO("row " << r);
    const auto from = static_cast<std::ptrdiff_t>(r * columns);
    const auto to = static_cast<std::ptrdiff_t>((r + 1) * columns);
    CHECK(std::equal(codes.begin() + from, codes.begin() + to, wanted.begin() + from));
  }
  if (all_compared) {  // then the codes are the same, and the error with them
    CHECK(relative(result.at("relative_error"), entry.at("rel_err")) < 1e-5);
  }
  // The weight of the file is that of its codes.
  const auto weight = got.elements<float>("weight");
  const auto values = values_of(got);
  REQUIRE(weight.size() == values.size());
  for (size_t i = 0; i < weight.size(); ++i) {
    if (weight[i] != static_cast<float>(values[i])) {
      CHECK(weight[i] == static_cast<float>(values[i]));
    }
  }
}

}  // namespace

TEST_CASE("layer: the reference layers have the reference's codes", "[regression]") {
  const std::string name = GENERATE("grid", "tail", "quirks", "rankdef", "fewrows");
  const auto folder = fixture("layers/" + name);
  const SafetensorsFile inputs(folder / "inputs.safetensors");
  const SafetensorsFile expected(folder / "cases.safetensors");
  const json cases = read_json(folder / "cases.json").at("cases");
  const TemporaryDir temporary;
  const fs::path layer = temporary / "layer.safetensors";
  write_layer(layer, inputs.elements<float>("W"), inputs.elements<float>("X"),
              inputs.shape("W").at(1));
  Counts gptq64;
  Counts gptq32;
  Counts rtn;
  for (const json& entry : sample(cases, "gptq", 12)) {
    compare_case(layer, expected, entry, ",precision=float64", 1e-9, gptq64);
    compare_case(layer, expected, entry, ",precision=float32", 1e-3, gptq32);
  }
  for (const json& entry : sample(cases, "rtn", 10)) {
    compare_case(layer, expected, entry, "", 1e-9, rtn);
  }
  for (const auto& [what, counts] : {std::pair("gptq float64", gptq64),
                                     std::pair("gptq float32", gptq32), std::pair("rtn", rtn)}) {
    std::fprintf(stderr, "%s, %s: %d cases, %d of %d rows compared\n", name.c_str(), what,
                 counts.cases, counts.compared, counts.rows);
    CHECK(counts.cases >= 10);
    CHECK(counts.compared > 0);
  }
}

}  // namespace quench::test
