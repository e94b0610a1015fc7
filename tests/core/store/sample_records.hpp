// Records as a run would write them, small and complete.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/store/record.hpp"
#include "core/store/record_file.hpp"

namespace quench::test {

// One value of `step`, under the float model or (label not empty) a quantizer. Its key depends on
// step, label and `content`, which stands for all the hashes that parts holds.
inline Record sample_record(int64_t step, const std::string& quantizer = "", double value = 2.5,
                            const std::string& content = "c0") {
  Record out;
  out.checkpoint = {{"model", "m"},
                    {"revision", "step" + std::to_string(step)},
                    {"branch", "main"},
                    {"step", step}};
  if (!quantizer.empty()) {
    out.quantizer = {{"id", "q"}, {"label", quantizer}, {"params", {{"bits", 4}}}};
    out.draw = 0u;
    out.jitter = 0u;
  }
  out.parts = {{"step", step}, {"quantizer", quantizer}, {"content", content}};
  out.key = sha256_hex(canonical_json(out.parts));
  out.metric = "validation_loss";
  out.label = "validation_loss on x";
  out.value = value;
  out.unit = "nats/token";
  out.direction = -1;
  out.standard_error = 0.25;
  out.items = {value - 1, value + 1};
  out.seconds = 1.5;
  out.environment = {{"dtype", "float32"}, {"threads", 2}};
  return out;
}

// `count` values of one evaluation.
inline std::vector<Record> sample_group(int64_t step, uint32_t count) {
  std::vector<Record> out;
  for (uint32_t i = 0; i < count; ++i) {
    out.push_back(sample_record(step, "", 1.0 + i));
    out.back().index = i;
    out.back().count = count;
    out.back().metric += i == 0 ? "" : "/value" + std::to_string(i);
  }
  return out;
}

// The file that an attempt with these records leaves in the folder.
inline std::filesystem::path write_attempt(const std::filesystem::path& folder,
                                           const std::vector<Record>& records) {
  RecordFile file(folder, "0");
  for (const Record& record : records) {
    file.append(record);
  }
  file.close();
  return file.path();
}

inline Record failed_record(int64_t step, const std::string& error) {
  Record out = sample_record(step);
  out.key.clear();
  out.parts = nullptr;
  out.value = nullptr;
  out.standard_error = nullptr;
  out.items.clear();
  out.error = error;
  return out;
}

}  // namespace quench::test
