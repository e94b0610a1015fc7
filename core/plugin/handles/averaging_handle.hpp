// An instance of an averaging plugin. Every call throws quench::Error whose message starts with
// "averaging <id>: ".
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/plugin_object.hpp"
#include "quench/abi/kind/averaging.h"

namespace quench {

class AveragingHandle {
 public:
  // `parameters`: complete, as complete_parameters() returns them.
  AveragingHandle(Catalog& catalog, const PluginDescription& description,
                  const nlohmann::json& parameters);

  const std::string& id() const { return id_; }
  uint32_t needs() const;
  // Indices of the members of the average that ends at `last`, ascending.
  std::vector<uint64_t> select(std::span<const quench_averaging_member> members, uint64_t last);
  // The caller keeps `members` alive until the next begin.
  void begin(std::span<const quench_averaging_member> members);
  void accumulate(uint64_t member, std::span<const double> values);
  void finish(std::span<double> values);
  // Whether the plugin can export the sums of a chunk between two members and import them.
  bool resumes() const { return averaging_.has<&quench_averaging_table::sums_size>(); }
  // The sums of the chunk that is being summed, after at least one member.
  std::vector<double> sums() const;
  uint64_t sums_size() const;
  // After begin: restores a chunk of `chunk` values with these sums, after `members`.
  void resume(uint64_t members, uint64_t chunk, std::span<const double> sums);
  // Like begin, with one non-zero weight per member; for schemes that search.
  void begin(std::span<const quench_averaging_member> members, std::span<const double> weights);
  // Whether the scheme selects its members by a score.
  bool searches() const { return averaging_.has<&quench_averaging_table::search>(); }
  // Returns one weight per member, 0 for those left out. `score` gets such weights and returns the
  // score of their average, lower is better; its exceptions pass through.
  std::vector<double> search(std::span<const quench_averaging_member> members,
                             const std::function<double(std::span<const double>)>& score);

 private:
  std::string id_;
  PluginObject<&quench_averaging_table::destroy> averaging_;
};

}  // namespace quench
