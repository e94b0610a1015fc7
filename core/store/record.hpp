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
  nlohmann::json value;  // number (any double), or null for a failed cell
  std::string unit;
  int direction = 0;              // -1 lower is better, 1 higher, 0 neither
  nlohmann::json standard_error;  // number or null
  nlohmann::json details = nlohmann::json::object();
  std::vector<double> items;  // one value per item (block, question) for paired comparison
  std::string error;          // of a failed cell, else empty
  double seconds = 0;
  uint64_t job = 0;  // point of the sweep
  // {quench, family, dtype, device, seed, threads, libtorch, isa, ...}; of a sweep also
  // sweep: {"dotted.path": value}, what its point sets.
  nlohmann::json environment;
  std::string cached;  // the run folder that computed it, where it came from the store
};

// Canonical JSON can write it: numbers that JSON has no form for become "NaN", "Infinity" and
// "-Infinity", wherever they stand.
nlohmann::json to_json(const Record& record);

// The record that to_json made, equal to the last bit (numbers inside of `details` and `parts` that
// had no form in JSON stay text). A record of an older schema is read as far as that had fields,
// with an empty key where there was none. `where` begins every message. Throws Error: DATA_LOSS for
// what is no record, with the field; FAILED_PRECONDITION for one of a newer version.
Record record_from_json(nlohmann::json json, const std::string& where);

}  // namespace quench
