// Paired differences of ΔCE (or of quantized losses) between two methods, averagings, branches or
// points of a sweep, and numbers made of them.
//
// A contrast of quantizers holds the weights equal; of averagings, the checkpoint and the
// quantizer; of branches, the averaging and the quantizer. `match` adds dimensions that must be
// equal. Metric and environment always are. A pair is one cell and one cell (report/pairing.hpp):
// nothing is averaged silently.
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
  // The cells of a pair; of a statistic over many cells, the first of each side, or nullptr.
  const Record* a = nullptr;
  const Record* b = nullptr;
  size_t cells = 2;  // that entered
  // At draw 0 and the first seed. A difference: a minus b in nats per token; negative: a costs
  // less. Else the statistic.
  double value = 0;
  std::optional<double> bits_per_byte;  // the same difference, if the size of the corpus is known
  // Spreads of the value, one per kind of replicate, never mixed.
  std::vector<Spread> spreads;
  // What the numbers do not cover and why a spread is missing; one sentence each.
  std::vector<std::string> notes;
  std::string sentence;  // the whole row in words
};

struct Contrast {
  ContrastSpec spec;
  std::vector<ContrastRow> rows;
  std::string summary;                // counts what the rows decide
  std::vector<std::string> problems;  // what could not be compared, and why
};

Contrast contrast_of(const ContrastSpec& spec, const std::vector<Observation>& observations);
nlohmann::json to_json(const Contrast& contrast);

// Why the contrast cannot be made of these cells, one sentence each: several fit several, so that
// nobody could say which are meant, or none fits another. Values do not matter, so that a plan can
// ask before any is known. Nothing if a side selects no cell.
std::vector<std::string> faults_of(const ContrastSpec& spec,
                                   const std::vector<Observation>& observations);

}  // namespace quench
