// Selects observations by the conditions in a manifest.
#pragma once

#include <string>
#include <vector>

#include "report/observation.hpp"
#include "report/spec.hpp"

namespace quench {

// Whether `label` is `name` with the values of a sweep behind it: "mine" and "mine bits=3".
bool is_swept_label(const std::string& label, const std::string& name);

// Whether every condition holds for the record.
bool holds(const std::vector<Condition>& conditions, const Record& record);

// A selector whose meaning was looked up in the observations.
struct SelectedCells {
  std::vector<const Observation*> found;
  // What the selector fixes; the two sides of a contrast need not agree in it.
  bool by_quantizer = false;
  bool by_averaging = false;
  bool by_checkpoint = false;
  std::vector<std::string> by_sweep;  // dimensions `sweep.PATH`
  std::string problem;                // nothing found, or a name with two meanings
};

// Selects among the quantized losses that have a float loss or, with the name of a metric, among
// its values (values_of()).
SelectedCells select(const Selector& selector, const std::vector<Observation>& observations,
                     const std::string& metric = "");

// The values of a metric, of float models and of quantized ones, each as the difference from 0.
std::vector<Observation> values_of(const std::string& metric,
                                   const std::vector<Observation>& observations);

}  // namespace quench
