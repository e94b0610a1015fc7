#include "tests/plugins/quantizers/layer_cases.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

using json = nlohmann::json;

template <typename T>
Matrix read_matrix(const SafetensorsFile& file, const std::string& name) {
  const auto values = file.elements<T>(name);
  const auto shape = file.shape(name);
  return {shape.at(0), shape.at(1), {values.begin(), values.end()}};
}

template <typename T>
std::vector<T> read_if_there(const SafetensorsFile& file, const std::string& name) {
  return file.has(name) ? file.elements<T>(name) : std::vector<T>{};
}

std::string parameters_of(const json& entry) {
  json parameters{
      {"bits", entry.at("bits")}, {"group_size", entry.at("group")}, {"sym", entry.at("sym")}};
  if (entry.at("method") == "gptq") {
    parameters["desc_act"] = entry.at("desc_act");
    parameters["static_groups"] = entry.at("static_groups");
    parameters["damp"] = entry.at("percdamp");
    parameters["block"] = entry.at("block");
    parameters["scale_from"] = entry.at("group_params");
  }
  return parameters.dump();
}

}  // namespace

void for_each_layer_case(const std::string& method,
                         const std::function<void(const Layer&, const LayerCase&)>& visit) {
  for (const char* name : {"grid", "tail", "quirks", "rankdef", "fewrows"}) {
    const auto folder = fixture(std::string("layers/") + name);
    const SafetensorsFile inputs(folder / "inputs.safetensors");
    const SafetensorsFile results(folder / "cases.safetensors");
    const Layer layer{name, read_matrix<float>(inputs, "W"), read_matrix<float>(inputs, "X"),
                      read_matrix<double>(results, "H")};
    const json document = json::parse(read_file(folder / "cases.json"));
    for (const json& entry : document.at("cases")) {
      if (entry.at("method") == method) {
        const std::string id = entry.at("id");
        visit(layer,
              {id, parameters_of(entry), results.elements<uint8_t>(id + ".codes"),
               results.elements<double>(id + ".scales"), results.elements<int32_t>(id + ".zeros"),
               results.elements<int32_t>(id + ".g_idx"),
               read_if_there<int32_t>(results, id + ".perm"),
               results.elements<double>(id + ".row_margin"), entry.at("rel_err")});
      }
    }
  }
}

void compare(const Layer& layer, const LayerCase& expected, const Quantized& got, double margin,
             double scale_error, Comparison& comparison) {
  INFO(layer.name << " " << expected.id << " " << got.error);
  REQUIRE(got.status == QUENCH_OK);
  REQUIRE(got.codes.size() == expected.codes.size());
  REQUIRE(got.scales.size() == expected.scales.size());
  CHECK(differences(got.perm, expected.perm) == "");
  CHECK(differences(got.g_idx, expected.g_idx) == "");
  ++comparison.cases;
  bool ties = false;
  for (int64_t r = 0; r < layer.weight.rows; ++r) {
    const auto from = static_cast<size_t>(r * layer.weight.columns);
    const auto to = from + static_cast<size_t>(layer.weight.columns);
    const bool same_codes = std::equal(got.codes.begin() + static_cast<std::ptrdiff_t>(from),
                                       got.codes.begin() + static_cast<std::ptrdiff_t>(to),
                                       expected.codes.begin() + static_cast<std::ptrdiff_t>(from));
    ++comparison.rows;
    if (!(expected.row_margin[static_cast<size_t>(r)] > margin)) {
      ++comparison.tie_rows;
      comparison.tie_differs += same_codes ? 0 : 1;
      ties = true;
      continue;
    }
    ++comparison.compared;
    INFO("row " << r);
    CHECK(same_codes);
    for (int64_t g = 0; g < got.groups(); ++g) {
      const auto at = static_cast<size_t>(r * got.groups() + g);
      comparison.scale_error =
          std::max(comparison.scale_error, std::fabs(got.scales[at] / expected.scales[at] - 1));
      CHECK(got.scales[at] == Approx(expected.scales[at]).epsilon(scale_error));
      CHECK(got.zeros[at] == expected.zeros[at]);
    }
  }
  Matrix difference = layer.weight;
  for (size_t i = 0; i < difference.values.size(); ++i) {
    difference.values[i] -= got.dequantized.values[i];
  }
  const double ratio = weighted_square(difference, layer.hessian) /
                       weighted_square(layer.weight, layer.hessian) / expected.error;
  CHECK(ratio < 1.1);
  comparison.worst_ratio = std::max(comparison.worst_ratio, ratio);
  if (ties) {
    ++comparison.tie_cases;
    comparison.ratio_sum += ratio;
  }
}

void print(const char* what, const Comparison& c) {
  std::fprintf(stderr,
               "%s: %d cases, %lld of %lld rows compared (%lld of %lld rows at a tie differ), "
               "largest scale error %.1e, worst objective ratio %.6f, mean over %d cases with ties "
               "%.6f\n",
               what, c.cases, static_cast<long long>(c.compared), static_cast<long long>(c.rows),
               static_cast<long long>(c.tie_differs), static_cast<long long>(c.tie_rows),
               c.scale_error, c.worst_ratio, c.tie_cases,
               c.tie_cases > 0 ? c.ratio_sum / c.tie_cases : 1.0);
}

}  // namespace quench::test
