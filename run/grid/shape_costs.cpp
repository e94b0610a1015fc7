#include "run/grid/shape_costs.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "core/base/io/file.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/hub/hub_spec.hpp"
#include "run/grid/estimate.hpp"
#include "run/grid/grid.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/described_model.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMaxConfigBytes = 1u << 20;

struct Shape {
  uint64_t parameters = 0;
  uint64_t bytes = 0;  // in the files
};

class Shapes {
 public:
  Shapes(Catalog& catalog, fs::path folder) : catalog_(catalog), folder_(std::move(folder)) {}

  const Shape& of(const CheckpointCell& cell) {
    const auto known = known_.find(cell.model);
    return known != known_.end() ? known->second : known_[cell.model] = read(cell);
  }

 private:
  Shape read(const CheckpointCell& cell) {
    if (!is_hub_spec(cell.model)) {
      fail(QUENCH_INVALID_ARGUMENT, "--shapes: got the model {}, wanted models of the hub alone",
           printable(cell.model, 300));
    }
    const fs::path file = folder_ / (parse_hub_spec(cell.model).repository + ".json");
    if (!fs::exists(file)) {
      fail(QUENCH_NOT_FOUND, "--shapes: {} has no config; wanted {}", printable(cell.model, 300),
           file.string());
    }
    const std::string text = read_file(file, kMaxConfigBytes);
    const nlohmann::json config = parse_json(text, file.string());
    const quench_dtype stored =
        parse_dtype(config.value("torch_dtype", config.value("dtype", std::string("float32"))));
    const uint64_t parameters =
        parameter_count(describe_config(catalog_, text, file.string(), cell.family, stored));
    return {parameters, parameters * dtype_size(stored)};
  }

  Catalog& catalog_;
  fs::path folder_;
  std::map<std::string, Shape> known_;  // by model
};

}  // namespace

ShapeCosts shape_costs(Catalog& catalog, const std::vector<Experiment>& experiments,
                       const fs::path& folder) {
  ShapeCosts out;
  Shapes shapes(catalog, folder);
  std::set<std::string> locations;
  std::set<std::tuple<size_t, size_t, size_t, uint32_t, uint32_t>> quantized;
  for (const Experiment& experiment : experiments) {
    for (const CheckpointCell& cell : experiment.checkpoints) {
      if (locations.insert(cell.location).second) {
        ++out.revisions;
        out.download_bytes += shapes.of(cell).bytes;
      }
    }
  }
  for (const Cell& cell : cells_of(experiments)) {
    const Experiment& experiment = experiments[cell.job];
    const MetricCell& metric = experiment.metrics[cell.metric];
    const uint64_t parameters =
        shapes.of(files_cell(experiment, experiment.weights[cell.weights])).parameters;
    const bool is_quantized = cell.variant.quantizer.has_value();
    out.memory_bytes = std::max(
        out.memory_bytes, model_memory(parameters, dtype_size(experiment.dtype), is_quantized));
    if (metric.corpora.empty()) {
      out.uncounted.push_back(metric.label);
    }
    out.flops += kForwardFlops * static_cast<double>(parameters) *
                 static_cast<double>(metric.corpora.size() * kTokensOfUnknownText);
    if (is_quantized && quantized
                            .insert({cell.job, cell.weights, *cell.variant.quantizer,
                                     cell.variant.draw, cell.variant.jitter})
                            .second) {
      const QuantizerCell& quantizer = experiment.quantizers[*cell.variant.quantizer];
      out.flops += (kForwardFlops + kGramFlops) * static_cast<double>(parameters) *
                   static_cast<double>(
                       quantizer.calibration ? calibration_tokens(*quantizer.calibration) : 0);
    }
  }
  std::sort(out.uncounted.begin(), out.uncounted.end());
  out.uncounted.erase(std::unique(out.uncounted.begin(), out.uncounted.end()), out.uncounted.end());
  return out;
}

}  // namespace quench
