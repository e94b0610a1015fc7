#include "tests/report/loss_records.hpp"

#include <numeric>

namespace quench::test {

namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

Record float_loss(const std::string& branch, const std::string& revision, int64_t step,
                  const std::vector<double>& items) {
  Record out;
  out.checkpoint = {{"model", "m"},   {"revision", revision}, {"branch", branch},
                    {"step", step},   {"tokens", 100 * step}, {"lr", 0.001},
                    {"mark", nullptr}};
  out.metric = "validation_loss";
  out.unit = "nats/token";
  out.direction = -1;
  out.items = items;
  out.value = mean(items);
  out.environment = {{"dtype", "float32"}, {"device", "cpu"}, {"seed", 0}};
  return out;
}

Record quantized_loss(const Record& floating, const std::string& id, int bits,
                      const std::vector<double>& deltas) {
  Record out = floating;
  out.quantizer = {{"id", id},
                   {"params", {{"bits", bits}}},
                   {"label", id + " bits=" + std::to_string(bits)},
                   {"calibration", nullptr}};
  for (size_t i = 0; i < deltas.size(); ++i) {
    out.items[i] += deltas[i];
  }
  out.value = mean(out.items);
  return out;
}

Record replicate(Record record, uint32_t draw, uint32_t jitter) {
  record.draw = draw;
  record.jitter = jitter;
  record.quantizer["calibration"] = "c4";
  return record;
}

}  // namespace quench::test
