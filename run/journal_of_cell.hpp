// Offers the journal of one evaluation to plugins while the object lives.
#pragma once

#include <optional>
#include <string>

#include "core/pass/journal.hpp"
#include "core/plugin/host_services.hpp"
#include "run/runner_options.hpp"

namespace quench {

class JournalOfCell {
 public:
  // `key`: the cell's; without a key or a folder, keeps no journal.
  JournalOfCell(const RunnerOptions& options, const std::string& key) {
    if (options.home.empty() || key.empty()) {
      return;
    }
    journal_.emplace(options.home / "partial", key);
    if (options.fresh) {
      journal_->forget();
    }
    HostServices::instance().set_journal(&*journal_);
  }
  ~JournalOfCell() { HostServices::instance().set_journal(nullptr); }
  JournalOfCell(const JournalOfCell&) = delete;
  JournalOfCell& operator=(const JournalOfCell&) = delete;

  // The evaluation is finished: drops its journal.
  void forget() {
    if (journal_) {
      journal_->forget();
    }
  }

 private:
  std::optional<Journal> journal_;
};

}  // namespace quench
