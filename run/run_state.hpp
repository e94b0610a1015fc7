// What all parts of a run share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/inputs/corpora/corpora.hpp"
#include "core/pass/metric_instances.hpp"
#include "core/pass/quantize_cell.hpp"
#include "core/pass/quantizer_instances.hpp"
#include "core/store/claims.hpp"
#include "run/cell_history.hpp"
#include "run/manifest/module_rules.hpp"
#include "run/runner.hpp"

namespace quench {

// One for the whole run. Everything that it refers to must outlive it.
struct RunState {
  Catalog& catalog;
  const RunnerOptions& options;
  RunStatus& status;
  Corpora& corpora;
  MetricInstances& metrics;
  CellHistory& history;
  const uint64_t total;          // cells of all jobs
  uint64_t done = 0;             // likewise, of those that are finished
  Claims* claims = nullptr;      // or nullptr: this process does it all
  const Claim* claim = nullptr;  // must be held for records to be stored; or nullptr
  bool lost = false;             // records were refused because it was not held any more
  bool losing_records = false;   // storing them threw
  bool has_value = false;        // one was stored

  // From here on this claim must be held; nullptr: none is needed.
  void hold(const Claim* held) {
    claim = held;
    lost = false;
  }
  // A piece of work begins.
  void say(const std::string& what) const;
  // Stores the values of one evaluation in the run, durably, before anything else happens. Returns
  // them.
  std::vector<Record> keep(std::vector<Record> records);
  // Throws the failure of a cell if it ends the run: a stop was requested (a plugin may have
  // reported another error), a record could not be stored, the claim was lost, or the caller wants
  // to stop at failures, at all or while there is no value.
  void throw_if_final(const Error& error) const;
};

// One experiment in progress: a point of the sweep, or the only one.
struct Job {
  Job(Catalog& catalog, Corpora& corpora, const Experiment& of)
      : experiment(of),
        quantizers(catalog),
        quantization(catalog, corpora, quantizers),
        cells(of.weights.size()),
        records(of.weights.size()),
        done(of.weights.size()) {}
  // Sets of weights that this process has no records of yet.
  size_t open() const { return static_cast<size_t>(std::count(done.begin(), done.end(), false)); }

  const Experiment& experiment;
  QuantizerInstances quantizers;
  QuantizeCell quantization;
  std::vector<std::vector<Cell>> cells;      // by weights (index)
  std::vector<std::vector<Record>> records;  // likewise
  std::vector<bool> done;                    // likewise
  // By branch: why it is incomplete. Empty until the training is done.
  std::optional<std::map<std::string, Error>> untrained;
  // The modules that rules may name, as far as described or opened; empty until asked for.
  std::optional<KnownModules> modules;
};

}  // namespace quench
