#include "run/cell_history.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>
#include <utility>

#include "core/error.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/attempt_name.hpp"
#include "core/store/run_folder.hpp"
#include "run/grid/evaluation_parts.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

void ask_for(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) {
      ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_WILLNEED);
      ::close(descriptor);
    }
  }
}

}  // namespace

namespace {

constexpr std::chrono::seconds kLatestListing{60};

bool lists(const fs::path& folder, const std::string& name) {
  std::error_code unreadable;
  const fs::directory_iterator entries(folder, unreadable);
  return std::any_of(begin(entries), end(entries), [&](const fs::directory_entry& entry) {
    return entry.path().filename() == name;
  });
}

}  // namespace

void wait_until_listed(const fs::path& folder, const std::vector<std::string>& names) {
  const auto start = std::chrono::steady_clock::now();
  for (const std::string& name : names) {
    while (std::ifstream(folder / name).good() && !lists(folder, name) &&
           std::chrono::steady_clock::now() - start < kLatestListing) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }
}

std::vector<std::string> keys_to_do(std::span<const MeasuredCell> cells) {
  std::vector<std::string> keys;
  for (const MeasuredCell& each : cells) {
    if (each.to_do() && !each.cell.key.empty()) {
      keys.push_back(each.cell.key);
    }
  }
  return keys;
}

bool any_to_do(std::span<const MeasuredCell> cells) {
  return std::any_of(cells.begin(), cells.end(),
                     [](const MeasuredCell& each) { return each.to_do(); });
}

bool all_failed(std::span<const MeasuredCell> cells) {
  return std::all_of(cells.begin(), cells.end(), [](const MeasuredCell& each) {
    return each.cell.state == CellState::kFailed || each.fault;
  });
}

std::vector<std::span<MeasuredCell>> by_variant(std::span<MeasuredCell> cells) {
  std::vector<std::span<MeasuredCell>> out;
  for (size_t first = 0; first < cells.size();) {
    size_t end = first;
    while (end < cells.size() && cells[end].cell.variant == cells[first].cell.variant) {
      ++end;
    }
    out.push_back(cells.subspan(first, end - first));
    first = end;
  }
  return out;
}

namespace {

// Names and sizes of the record files: they change when something is written.
std::string look_of(const fs::path& folder) {
  std::string out;
  for (const AttemptName& name : find_attempts(folder, "records", ".jsonl")) {
    std::error_code gone;
    out += fmt::format("{} {}\n", name.path.filename().string(), fs::file_size(name.path, gone));
  }
  return out;
}

CellState state_in(const RunKnowledge& known, const std::string& key, const Experiment& experiment,
                   const Cell& cell, const RunnerOptions& options) {
  return state_of(known.finished, key, cell_name(experiment, cell), options.retry_failed);
}

}  // namespace

CellHistory::CellHistory(const RunnerOptions& options, RunStatus& status)
    : known_(options.knowledge), options_(options), status_(status) {
  if (known_ != nullptr) {
    deaths_ = status.deaths();
  }
}

std::optional<CellState> CellHistory::known_state(const Experiment& experiment,
                                                  const Cell& cell) const {
  if (known_ == nullptr) {
    return std::nullopt;
  }
  std::string missing;
  const auto parts =
      evaluation_parts(known_->identities, parts_of(experiment, cell), false, missing);
  return parts && !options_.fresh
             ? std::optional(state_in(*known_, content_key(*parts), experiment, cell, options_))
             : std::nullopt;
}

bool CellHistory::may_need_work(const Experiment& experiment, const Cell& cell) const {
  return known_state(experiment, cell).value_or(CellState::kToDo) == CellState::kToDo;
}

void CellHistory::renew(const std::vector<ClaimOwner>& earlier) {
  if (known_ == nullptr) {
    return;
  }
  std::vector<std::string> files;
  for (const ClaimOwner& owner : earlier) {
    files.push_back(fmt::format("records-{}-{}.jsonl", owner.job, owner.attempt));
  }
  wait_until_listed(known_->folder, files);
  // Sizes may be old where listings are, so they decide only while nothing depends on it.
  if (std::string now = look_of(known_->folder); now != seen_ || !earlier.empty()) {
    seen_ = std::move(now);
    const RunRecords records = read_run(known_->folder);
    known_->learn_reads(records);
    known_->finished.renew(records);
    deaths_ = status_.deaths();
  }
}

void CellHistory::identify(const Experiment& experiment, MeasuredCell& measured) const {
  if (known_ == nullptr) {
    return;
  }
  Cell& cell = measured.cell;
  std::string missing;
  measured.parts = *evaluation_parts(known_->identities, parts_of(experiment, cell), true, missing);
  cell.key = content_key(measured.parts);
  if (options_.fresh) {
    return;
  }
  cell.state = state_in(*known_, cell.key, experiment, cell, options_);
  const auto death = deaths_.find(cell.key);
  if (cell.state == CellState::kToDo && death != deaths_.end() && !options_.retry_failed) {
    fail(QUENCH_INTERNAL, "{}", death->second);
  }
}

MeasuredCell CellHistory::with_reads(const Experiment& experiment, const MeasuredCell& cell) {
  MeasuredCell out = cell;
  if (known_ == nullptr) {
    return out;
  }
  const std::vector<ForeignUse> uses =
      foreign_uses(known_->identities, parts_of(experiment, cell.cell));
  if (uses.empty()) {
    return out;
  }
  out.parts = quench::with_reads(out.parts, uses);
  out.cell.key = content_key(out.parts);
  known_->identities.reads().learn(out.parts);
  if (const PluginDescription* plugin = unchecked_use(uses)) {
    out.unchecked = true;
    if (told_.insert(plugin).second) {
      HostServices::instance().log(
          QUENCH_LOG_WARNING, "",
          fmt::format("{}: opens the file that a parameter names by itself, so its cells say "
                      "`inputs: unchecked` and are not shared between runs",
                      plugin_label(*plugin)));
    }
  }
  return out;
}

std::vector<Record> CellHistory::records_of(const Experiment& experiment, Cell& cell) const {
  if (known_ == nullptr) {
    return {};
  }
  const std::string name = cell_name(experiment, cell);
  if (cell.state == CellState::kToDo && !cell.key.empty() && !options_.fresh &&
      known_->finished.failed(cell.key, name) == nullptr &&
      !known_->finished.find(cell.key).empty()) {
    cell.state = CellState::kReused;
  }
  switch (cell.state) {
    case CellState::kToDo:
    case CellState::kBlocked:
      return {};
    case CellState::kDone:
      return *known_->finished.in_run(cell.key, name);
    case CellState::kFailed:
      return {*known_->finished.failed(cell.key, name)};
    case CellState::kReused:
      break;
  }
  return known_->finished.find(cell.key);
}

void CellHistory::publish(const std::vector<Record>& records) const {
  const Record& first = records.front();
  if (known_ == nullptr || !first.error.empty() || first.key.empty() || !first.cached.empty() ||
      has_unchecked_inputs(first)) {
    return;
  }
  std::vector<Record> shared = records;
  for (Record& record : shared) {
    record.cached = printable(known_->folder, kMaxRecordText);
  }
  known_->store.publish(shared);
}

std::string CellHistory::absence(const MemberCells& files) const {
  for (const CheckpointCell* cell : known_ != nullptr ? files : MemberCells()) {
    if (std::string reason = known_->identities.absence_of_known(*cell); !reason.empty()) {
      return reason;
    }
  }
  return "";
}

void CellHistory::forget_if_changed(const CheckpointCell& cell) const {
  if (known_ != nullptr && known_->identities.absence(cell).empty()) {
    known_->identities.forget_if_changed(cell);
  }
}

CheckpointFolder CellHistory::open(Catalog& catalog, const CheckpointCell& cell) const {
  CheckpointFolder folder = open_files(catalog, cell, options_.hub);
  return known_ != nullptr ? known_->identities.hold(cell, std::move(folder)) : folder;
}

void CellHistory::read_ahead(const MemberCells& files) {
  if (known_ == nullptr) {
    return;
  }
  wait();
  ahead_ = std::thread([this, files] {
    Identities& identities = known_->identities;
    for (const CheckpointCell* cell : files) {
      try {
        if (identities.remembered(*cell)) {
          const fs::path path = locate_checkpoint(*cell, options_.hub).path;
          ask_for(open_checkpoint_folder(identities.catalog(), path).files);
        } else {
          identities.read(*cell);
        }
      } catch (const std::exception&) {
        return;
      }
    }
  });
}

void CellHistory::wait() {
  if (ahead_.joinable()) {
    ahead_.join();
  }
}

std::optional<TokenizerIdentity> CellHistory::tokenizer(const Experiment& experiment,
                                                        const CheckpointCell& cell) const {
  return known_ != nullptr ? known_->identities.known_tokenizer(experiment, cell) : std::nullopt;
}

void CellHistory::check_read(const MetricCell& metric, const WantedRecords& read) const {
  if (known_ != nullptr) {
    known_->identities.check_read(metric, read);
  }
}

std::optional<PendingExport> CellHistory::pending(const Experiment& experiment,
                                                  const RowFolder& row) const {
  return known_ != nullptr ? pending_export(experiment, row, known_->identities) : std::nullopt;
}

}  // namespace quench
