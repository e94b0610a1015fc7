// Stores the finished pieces of a long evaluation on disk (quench.journal/1).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include "core/plugin/services/host_services.hpp"

namespace quench {

// One file per content key, one sealed line per piece. A torn or changed line counts as missing.
// Nothing here fails: a piece that cannot be read or written is computed again.
class Journal final : public EvaluationJournal {
 public:
  // Creates `folder` with the first piece.
  Journal(const std::filesystem::path& folder, const std::string& key);
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  std::optional<double> get(uint64_t index) override;
  void put(uint64_t index, double value) override;
  // The evaluation is stored: drops its pieces.
  void forget();

 private:
  void load();

  std::filesystem::path path_;
  std::mutex mutex_;
  std::map<uint64_t, double> values_;
  int descriptor_ = -1;
};

}  // namespace quench
