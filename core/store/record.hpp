// One measured value with everything needed to know what it is.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

inline constexpr int kRecordSchema = 1;

struct Record {
  nlohmann::json checkpoint;  // {model, revision, commit, step, tokens}
  nlohmann::json quantizer;   // null for the float model, else {id, params, label, version, ...}
  std::string metric;         // metric id, or "<id>/<name>" for its further values
  nlohmann::json value;       // number, or null for a failed cell
  std::string unit;
  int direction = 0;              // -1 lower is better, 1 higher, 0 neither
  nlohmann::json standard_error;  // number or null
  nlohmann::json details = nlohmann::json::object();
  std::string error;  // of a failed cell, else empty
  double seconds = 0;
  nlohmann::json environment;  // {quench, dtype, device, seed, threads, ...}

  // One value per item (block, question) for paired comparison; not part of the JSON form.
  std::vector<double> items;
};

nlohmann::json to_json(const Record& record);

// ΔQL of a quantized loss against the float loss of the same checkpoint: value = q/f − 1. Details
// hold both losses, their difference and its standard error over paired items, where both have the
// same items.
Record quantization_error(const Record& floating, const Record& quantized);

}  // namespace quench
