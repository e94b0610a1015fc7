// An instance of an averaging plugin. Every call throws quench::Error whose message starts with
// "averaging <id>: ".
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/plugin/catalog.hpp"
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
  const void* extension(const char* id) const;

 private:
  std::string id_;
  std::string label_;
  const quench_averaging_table* table_ = nullptr;
  quench_averaging* averaging_ = nullptr;
};

}  // namespace quench
