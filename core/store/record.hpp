// One measured value with everything needed to know what it is.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

inline constexpr int kRecordSchema = 2;

struct Record {
  // What the value depends on: `key` is SHA-256 of `parts` as canonical JSON. A metric may give
  // several values at once: they share a key, and this is value `index` of `count`.
  std::string key;
  nlohmann::json parts;
  uint32_t index = 0;
  uint32_t count = 1;

  // {model, revision, commit, branch, parent, mark, step, tokens, lr, phase}
  nlohmann::json checkpoint;
  // null for a checkpoint as it is, else {id, params, label, version, sha256, members: [revision]}
  nlohmann::json averaging;
  // null for the float model, else {id, params, label, version, sha256, bits_per_weight,
  // calibration: name or null}
  nlohmann::json quantizer;
  // Which slice of the calibration corpus, and which order of its rows (0: as they come). Both null
  // for the float model and for methods without calibration.
  nlohmann::json draw;
  nlohmann::json jitter;
  std::string metric;    // metric id, or "<id>/<name>" for its further values
  std::string label;     // of the metric in the manifest: tells two corpora under one id apart
  nlohmann::json value;  // number, or null for a failed cell
  std::string unit;
  int direction = 0;              // -1 lower is better, 1 higher, 0 neither
  nlohmann::json standard_error;  // number or null
  nlohmann::json details = nlohmann::json::object();
  std::vector<double> items;  // one value per item (block, question) for paired comparison
  std::string error;          // of a failed cell, else empty
  double seconds = 0;
  uint64_t job = 0;            // point of the sweep
  nlohmann::json environment;  // {quench, family, dtype, device, seed, threads, libtorch, isa, ...}
  std::string cached;          // the run folder that computed it, where it came from the store
};

nlohmann::json to_json(const Record& record);

// ΔQL of a quantized loss against the float loss of the same checkpoint: value = q/f − 1. Details
// hold both losses, their difference and its standard error over paired items, where both have the
// same items.
Record quantization_error(const Record& floating, const Record& quantized);

}  // namespace quench
