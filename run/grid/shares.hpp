// Splits the grid of a run into shares for machines that do not know of each other.
//
// Every machine must find the same split, so it follows from the manifest alone: neither measured
// rates nor files count, and what cannot be known then has constants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/hub/environment.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"

namespace quench {

inline constexpr uint64_t kMostShares = 100000;

struct Share {
  uint64_t number = 1;  // 1..of
  uint64_t of = 1;
};
// From "2/3". Throws Error(INVALID_ARGUMENT).
Share parse_share(const std::string& text);

// What one machine must compute: one set of weights with all its cells, so that no weights are
// opened twice; or all of the points of a sweep that train the same checkpoints, so that nothing is
// trained twice.
struct ShareUnit {
  std::vector<std::pair<size_t, size_t>> weights;  // experiment, row of its grid (indices)
  uint64_t cells = 0;
  // Thousands of tokens through a model of a million parameters, forwards.
  uint64_t cost = 0;
  bool trained = false;
};
// In the order of the grid. Loads the families of models that are trained, to learn their sizes.
std::vector<ShareUnit> share_units(Catalog& catalog, const std::vector<Experiment>& experiments,
                                   const HubEnvironment& hub);

// The share (from 0) of each unit: the most expensive first, each to the share with the least so
// far; among equals the first. So two shares differ by at most the cost of one unit.
std::vector<uint64_t> split(std::span<const uint64_t> costs, uint64_t shares);

struct Shares {
  uint64_t count = 1;
  std::vector<ShareUnit> units;
  std::vector<uint64_t> share_of;  // by unit, from 0
  // 8 hexadecimal digits over what each share has: equal on two machines that split alike.
  std::string id;
};
Shares make_shares(Catalog& catalog, const std::vector<Experiment>& experiments,
                   const HubEnvironment& hub, uint64_t count);

// The share (from 0) of each set of weights, by experiment and row.
std::map<std::pair<size_t, size_t>, uint64_t> share_of_weights(const Shares& shares);

// What the share is to run: the experiments that have something in it, with these rows only.
std::vector<Experiment> experiments_of(const Shares& shares, uint64_t number,
                                       const std::vector<Experiment>& experiments);

}  // namespace quench
