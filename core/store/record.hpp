// One measured value with everything needed to know what it is.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace quench {

inline constexpr uint64_t kRecordSchema = 2;

struct Record {
  // What the value depends on: `key` is SHA-256 of `parts` as canonical JSON. A metric may return
  // several values at once: they share a key, and this is value `index` of `count`.
  std::string key;
  nlohmann::json parts;
  uint32_t index = 0;
  uint32_t count = 1;

  // {model, revision, commit, branch, parent, mark, step, tokens, lr, phase}
  nlohmann::json checkpoint;
  // null for a single checkpoint, else {id, params, label, version, sha256, members: [revision]}
  nlohmann::json averaging;
  // null for the float model, else {id, params, label, version, sha256, bits_per_weight,
  // calibration: name or null}
  nlohmann::json quantizer;
  // The index of the calibration sample and the seed of its order (0: unshuffled). Both null for
  // the float model and for methods without calibration.
  nlohmann::json draw;
  nlohmann::json jitter;
  std::string metric;    // metric id, or "<id>/<name>" for its further values
  std::string label;     // from the manifest: tells two corpora under one id apart
  nlohmann::json value;  // number (any double), or null for a failed cell
  std::string unit;
  int direction = 0;              // -1 lower is better, 1 higher, 0 neither
  nlohmann::json standard_error;  // number or null
  nlohmann::json details = nlohmann::json::object();
  std::vector<double> items;  // one value per item (block, question) for paired comparison
  std::string error;          // message of a failed cell, else empty
  double seconds = 0;
  uint64_t job = 0;  // point of the sweep
  // {quench, family, dtype, device, seed, threads, libraries, isa, ...}; in a sweep also sweep:
  // {"dotted.path": value}, the values of its point.
  nlohmann::json environment;
  std::string cached;  // the run folder that computed it, if it came from the store
};

// In `details`: a plugin from elsewhere opened files that its parameters name by itself, so nothing
// held them to what the key says.
inline constexpr const char* kInputsDetail = "inputs";
inline constexpr const char* kUncheckedInputs = "unchecked";
bool has_unchecked_inputs(const Record& record);

// JSON for canonical_json: numbers that JSON cannot express become "NaN", "Infinity" and
// "-Infinity", at any depth.
nlohmann::json to_json(const Record& record);

// Inverts to_json, exact to the last bit (numbers in `details` and `parts` that JSON cannot express
// stay text). `where` begins every message. Throws Error: DATA_LOSS naming the field for a
// malformed record; FAILED_PRECONDITION for one from a newer version.
Record record_from_json(nlohmann::json json, const std::string& where);

}  // namespace quench
