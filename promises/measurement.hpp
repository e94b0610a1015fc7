// One evaluation of a metric, and all that it gave.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quench/abi/kind/metric.h"

namespace quench::promises {

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

// An instance with these parameters, evaluated once. Each of `corpora`, names of parameters, gets
// `documents`. Records that it asks for are read from their files (record_host.hpp); its tokenizer
// makes an id below 64 of every byte.
void measure_into(Measurement& result, const quench_metric_table& table,
                  const std::string& parameters, const std::vector<std::string>& corpora,
                  const TokenizedDocuments& documents, const quench_subject& subject,
                  const std::vector<quench_weights>& weights);

}  // namespace quench::promises
