// Which cells of the two sides of a contrast stand against each other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/observation.hpp"
#include "report/selector.hpp"
#include "report/spec.hpp"
#include "report/spread.hpp"

namespace quench {

// Observations that agree in all that a contrast wants equal: the replicates of one cell, unless
// the contrast leaves something open.
using Group = std::vector<const Observation*>;

// The dimensions that either side of a contrast leaves free.
struct Freedom {
  bool quantizer = false;
  bool averaging = false;
  bool checkpoint = false;
  std::vector<std::string> sweep;  // dimensions, with those that are equal in all cells
};

struct Pair {
  Group a;  // of one cell each
  Group b;
  std::vector<std::string> open;  // dimensions in which cells of one side differ
};

struct Pairing {
  Freedom free;
  std::vector<std::string> match;
  std::vector<Pair> pairs;
  std::vector<std::string> problems;     // why cells give no pair, one sentence each
  std::vector<std::string> ambiguities;  // those among them that follow from the manifest alone
};

// Cells of one side along the training, of one averaging, method and point of the sweep.
using CellLine = std::vector<Group>;
struct LinePair {
  CellLine a;
  CellLine b;  // empty where there is no side b
};
struct LinePairing {
  Freedom free;
  std::vector<std::string> match;
  std::vector<std::string> open;  // dimensions in which lines of one side differ
  std::vector<LinePair> pairs;
  std::vector<std::string> ambiguities;
};

// What the sides leave free, and the default of `match`.
Freedom freedom_of(const SelectedCells& a, const SelectedCells& b);
std::vector<std::string> matched(const ContrastSpec& spec, const Freedom& free);

// Where several cells of one side fit one cell of the other, each of them makes a pair. Where
// several fit several, nothing is paired.
Pairing pairs_of(const ContrastSpec& spec, const SelectedCells& a, const SelectedCells& b);
// Every average of `a` with each of its members.
Pairing pairs_with_members(const ContrastSpec& spec, const SelectedCells& a,
                           const std::vector<Observation>& observations);

// Lines in place of cells, by the same rule. `by_branch`: a line stays on one branch. Without b, a
// line by itself.
LinePairing line_pairs_of(const ContrastSpec& spec, const SelectedCells& a, const SelectedCells* b,
                          bool by_branch);

// Why nothing of the two sides is paired, in one sentence that says where each side lies if `at`
// chose it.
std::string no_pair_text(const ContrastSpec& spec, const SelectedCells& a, const SelectedCells& b,
                         const std::vector<std::string>& match);

// What both sides must have in common, as one text; "" if a position on an axis is unknown, which
// never matches.
std::string common_key(const Observation& it, const Freedom& free,
                       const std::vector<std::string>& match);
std::map<std::string, Group> grouped(const Group& found, const Freedom& free,
                                     const std::vector<std::string>& match, const std::string& at);
// The replicates of each cell, along the training.
std::vector<Group> cells_of(const Group& group);
// The dimensions in which cells differ, for people.
std::vector<std::string> differing(const Group& group);
// Draw 0 at the first seed, or nullptr.
const Observation* base_of(const Group& group);
// For people: "3 bits, decay, step400", what both sides have in common.
std::string common_text(const Observation& it, const Observation& other, const Freedom& free,
                        const std::vector<std::string>& match);

// Adds a sentence unless it is empty or there already.
void add_once(const std::string& text, std::vector<std::string>& list);

}  // namespace quench
