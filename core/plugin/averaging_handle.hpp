// An instance of an averaging plugin. Every call throws quench::Error whose message starts with
// "averaging <id>: ".
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/plugin/catalog.hpp"
#include "quench/abi/extension/averaging_sums.h"
#include "quench/abi/kind/averaging.h"

namespace quench {

class AveragingHandle {
 public:
  // `parameters`: complete, as complete_parameters() returns them.
  AveragingHandle(Catalog& catalog, const PluginDescription& description,
                  const nlohmann::json& parameters);
  ~AveragingHandle();
  AveragingHandle(AveragingHandle&& other) noexcept;
  AveragingHandle& operator=(AveragingHandle&&) = delete;
  AveragingHandle(const AveragingHandle&) = delete;

  const std::string& id() const { return id_; }
  uint32_t needs() const;
  // Indices of the members of the average that ends at `last`, ascending.
  std::vector<uint64_t> select(std::span<const quench_averaging_member> members, uint64_t last);
  // `members` is borrowed until the next begin.
  void begin(std::span<const quench_averaging_member> members);
  void accumulate(uint64_t member, std::span<const double> values);
  void finish(std::span<double> values);
  // Whether the sums of a chunk are handed out between two members and taken back.
  bool resumes() const { return sums_ != nullptr; }
  // Those of the chunk that is being summed, after at least one member, and how many they are.
  std::vector<double> sums() const;
  uint64_t sums_size() const;
  // After begin: a chunk of `chunk` values as it was with these sums, after `members`.
  void resume(uint64_t members, uint64_t chunk, std::span<const double> sums);
  // As begin, with one weight per member, none of them 0; for schemes that search.
  void begin(std::span<const quench_averaging_member> members, std::span<const double> weights);
  // Whether the scheme chooses its members by their score.
  bool searches() const { return search_ != nullptr; }
  // One weight per member, 0 for those left out. `score` gets such weights and returns what their
  // average scores, lower is better; what it throws passes through.
  std::vector<double> search(std::span<const quench_averaging_member> members,
                             const std::function<double(std::span<const double>)>& score);

 private:
  std::string id_;
  std::string label_;
  const quench_averaging_table* table_ = nullptr;
  quench_averaging* averaging_ = nullptr;
  const quench_averaging_search* search_ = nullptr;
  const quench_averaging_sums* sums_ = nullptr;
};

}  // namespace quench
