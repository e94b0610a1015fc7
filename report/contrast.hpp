// Paired differences of ΔCE between two methods, averagings or branches.
//
// A contrast of quantizers holds the weights equal; of averagings, the checkpoint and the
// quantizer; of branches, the averaging and the quantizer. `match` adds dimensions that must be
// equal. Metric and environment always are. A pair is made only if exactly one cell of each side
// matches, so nothing is averaged silently.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/observation.hpp"
#include "report/spec.hpp"
#include "report/spread.hpp"

namespace quench {

struct ContrastRow {
  std::string what;  // "3 bits, decay, step400": what the two sides have in common
  const Record* a = nullptr;
  const Record* b = nullptr;
  // ΔCE of a minus ΔCE of b in nats per token, at draw 0 and the first seed; negative: a costs
  // less.
  double difference = 0;
  std::optional<double> bits_per_byte;  // the same difference, if the size of the corpus is known
  // Spreads of the paired difference, one per kind of replicate, never mixed.
  std::vector<Spread> spreads;
  // What the numbers do not cover and why a spread is missing; one sentence each.
  std::vector<std::string> notes;
  std::string sentence;  // the whole row in words
};

struct Contrast {
  ContrastSpec spec;
  std::vector<ContrastRow> rows;
  std::string summary;                // over all rows, without an interval: the rows share one run
  std::vector<std::string> problems;  // what could not be compared, and why
};

Contrast contrast_of(const ContrastSpec& spec, const std::vector<Observation>& observations);
nlohmann::json to_json(const Contrast& contrast);

}  // namespace quench
