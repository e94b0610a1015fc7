// Prepares the records of a run for figures and contrasts: pairs each value with the float model's
// value on the same weights and items.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

// One measured value. Points into the records that it was made from, which must outlive it.
struct Observation {
  const Record* record = nullptr;
  // For a quantized model: the record of the float model with the same weights, metric, corpora and
  // environment; nullptr if there is none.
  const Record* floating = nullptr;
  size_t position = 0;   // of the checkpoint in its branch, from 0
  bool is_last = false;  // whether it is the last one there
  std::string weights;   // one text per set of weights
  // One text per weights, quantizer, metric, what that measured on, and sweep point without its
  // seeds.
  std::string cell;
  // What the metric measured on, where values under its label differ in that: "text 1a2b3c4d".
  std::string text;
  uint64_t draw = 0;
  uint64_t jitter = 0;
  int64_t seed = 0;  // of the sweep, if it sets seeds; distinguishes replicates

  bool is_float() const { return record->quantizer.is_null(); }
  bool is_base() const { return draw == 0 && jitter == 0; }
  bool is_calibrated() const;
  double value() const { return record->value.get<double>(); }
  // ΔCE: the value minus the float model's; 0 for a float model.
  double delta() const;
  // ΔQL = value/float − 1.
  double error() const;
  // Bits per byte for one nat per token, from the size of the corpus; 0 if that is unknown.
  double bits_per_byte() const;
};

struct Observations {
  std::vector<Observation> all;  // in the order of the records
  std::vector<const Record*> failed;
  // What was left out or could not be paired; one sentence each.
  std::vector<std::string> notes;
};

// Whether a manifest's name means the record's value: its metric or label, and of a further value
// the name behind it: "curvature/trace".
bool is_value_of(const Record& record, const std::string& name);

// Points of a sweep that differ only in `seed` or `train.seed` are replicates of each other.
Observations observe(const std::vector<Record>& records);

}  // namespace quench
