// What a metric needs around it: a model that scores by a given rule, a sink that remembers.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "promises/measurement.hpp"
#include "quench/abi/kind/metric.h"
#include "quench/abi/module.h"

namespace quench::test {

using promises::MeasuredValue;
using promises::Measurement;
using promises::TokenizedDocuments;

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
