// What a metric needs around it: a model that scores by a given rule, a sink that remembers.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quench/abi/kind/metric.h"
#include "quench/abi/module.h"

namespace quench::test {

struct MeasuredValue {
  std::string name;
  double value;
  std::string unit;
  int32_t direction;
  double standard_error;
};

struct Measurement {
  quench_status status = QUENCH_OK;
  std::string message;
  std::vector<MeasuredValue> values;
  std::map<std::string, double> details;
  std::map<std::string, std::vector<double>> items;
  std::map<std::string, nlohmann::json> json;
  int score_calls = 0;
  std::vector<std::vector<int32_t>> rows;  // that were scored, in order
};

// Documents as ids; `bytes` empty where text sizes are unknown.
struct TokenizedDocuments {
  std::vector<std::vector<int32_t>> documents;
  std::vector<uint64_t> bytes;
};

// -log p of the id at `position` (from 0) of `row`.
using ScoreRule = std::function<double(const std::vector<int32_t>& row, size_t position)>;

// Creates the metric and evaluates it once. Every corpus parameter gets `documents`; the scored
// model follows `rule`, and its most likely id is always 0.
Measurement measure(const quench_item& item, const nlohmann::json& parameters,
                    const TokenizedDocuments& documents, const ScoreRule& rule);

// The same of a model as the host would show it, with further weights where the metric needs them.
// Records that it asks for are read from their files (record_host.hpp); its tokenizer makes an id
// below 64 of every byte.
Measurement measure(const quench_item& item, const nlohmann::json& parameters,
                    const TokenizedDocuments& documents, const quench_subject& subject,
                    const std::vector<quench_weights>& weights = {});

}  // namespace quench::test
