// The state behind the services of quench/abi/host.h. One per process: the services are shared by
// all plugins, and what differs between them (the prefix of log lines, the random streams) comes
// from the module's id.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/plugin/services/instruction_set.hpp"
#include "quench/abi/host.h"

namespace quench {

// Where finished pieces of the evaluation under way are kept (quench.journal/1). [thread-safe]
class EvaluationJournal {
 public:
  virtual ~EvaluationJournal() = default;
  virtual std::optional<double> get(uint64_t index) = 0;
  virtual void put(uint64_t index, double value) = 0;
};

class HostServices {
 public:
  // `level`: QUENCH_LOG_*; `line`: one line, control characters escaped.
  using LogSink = std::function<void(int level, std::string_view module, std::string_view line)>;
  using ProgressSink = std::function<void(std::string_view module, std::string_view what,
                                          uint64_t done, uint64_t total)>;

  static HostServices& instance();
  HostServices(const HostServices&) = delete;
  HostServices& operator=(const HostServices&) = delete;

  // The run's seed, from which all random streams derive.
  void set_seed(uint64_t seed) { seed_ = seed; }
  uint64_t seed() const { return seed_; }
  // The run's thread budget, at least 1.
  void set_threads(uint32_t threads) { threads_ = threads == 0 ? 1 : threads; }
  uint32_t threads() const { return threads_; }
  // Of all kernels; the widest that the processor has unless set, which is for before the first
  // plugin is loaded.
  void set_instructions(InstructionSet instructions) { instructions_ = instructions; }
  InstructionSet instructions() const { return instructions_; }
  // Sinks are called under a lock, one line at a time, from any thread; they must not throw.
  // Without a sink, lines and progress are dropped.
  LogSink set_log_sink(LogSink sink);  // returns the one before
  void set_progress_sink(ProgressSink sink);
  // nullptr: nothing is kept. Not to be changed while a plugin works.
  void set_journal(EvaluationJournal* journal) { journal_ = journal; }
  EvaluationJournal* journal() const { return journal_; }
  // In a worker: asked for a service before this process's own. nullptr: it has none.
  void set_remote(const void* (*services)(const char* id) noexcept) { remote_ = services; }
  const void* remote(const char* id) const {
    const auto asked = remote_.load();
    return asked == nullptr ? nullptr : asked(id);
  }
  // Set by the signal handlers; plugins poll it.
  std::atomic<bool>& cancel_flag() { return cancel_; }

  // The host as the module called `module_id` sees it; valid for the life of the process.
  const quench_host* host_for(const std::string& module_id);

  void log(int level, std::string_view module, std::string_view line);
  void progress(std::string_view module, std::string_view what, uint64_t done, uint64_t total);

 private:
  HostServices() = default;

  std::atomic<uint64_t> seed_{0};
  std::atomic<uint32_t> threads_{1};
  std::atomic<InstructionSet> instructions_{choose_instruction_set(std::nullopt)};
  std::atomic<bool> cancel_{false};
  std::atomic<EvaluationJournal*> journal_{nullptr};
  std::atomic<const void* (*)(const char*) noexcept> remote_{nullptr};
  std::mutex sinks_;
  LogSink log_sink_;
  ProgressSink progress_sink_;
};

// Throws Error(CANCELLED) after the user has asked to stop.
inline void stop_if_asked() {
  stop_if_asked(&HostServices::instance().cancel_flag());
}

}  // namespace quench
