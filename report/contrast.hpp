// Paired differences of ΔCE between two methods, averagings or branches.
//
// What a contrast does not tell apart is held equal: with quantizers on both sides, the weights;
// with averagings, the checkpoint and the quantizer; with branches, the averaging and the
// quantizer. `match` adds what else must be equal. The metric and the environment always are. A
// pair is made only where exactly one cell of each side agrees: nothing is averaged in silence.
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
  std::string what;  // "3 bits, decay, step400": where the two sides agree
  const Record* a = nullptr;
  const Record* b = nullptr;
  // ΔCE of a minus ΔCE of b in nats per token, of draw 0 and the first seed; negative: a costs
  // less.
  double difference = 0;
  std::optional<double> bits_per_byte;  // the same, where the size of the corpus is known
  // Of the paired difference, one per kind of replicate that is there, never mixed.
  std::vector<Spread> spreads;
  // What the numbers do not cover and why a spread is missing, a sentence each.
  std::vector<std::string> notes;
  std::string sentence;  // all of it in words
};

struct Contrast {
  ContrastSpec spec;
  std::vector<ContrastRow> rows;
  std::string summary;                // over all rows, without an interval: they share one run
  std::vector<std::string> problems;  // what could not be compared, and why
};

Contrast contrast_of(const ContrastSpec& spec, const std::vector<Observation>& observations);
nlohmann::json to_json(const Contrast& contrast);

}  // namespace quench
