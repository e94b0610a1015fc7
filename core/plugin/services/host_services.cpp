#include "core/plugin/services/host_services.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "core/arithmetic/random_stream.hpp"
#include "core/base/io/tensor_memory.hpp"
#include "core/base/json/json_service.hpp"
#include "core/error.hpp"
#include "core/plugin/services/block_service.hpp"
#include "core/plugin/services/heard_warnings.hpp"
#include "core/plugin/services/service_tables.hpp"
#include "core/version.hpp"

namespace quench {

namespace {

constexpr size_t kMaxLine = 4000;

const std::string& module_of(const quench_host* host) {
  return *static_cast<const std::string*>(host->context);
}

void log_write(const quench_host* host, int32_t level, const char* message) noexcept {
  try {
    HostServices::instance().log(std::clamp(level, QUENCH_LOG_DEBUG, QUENCH_LOG_ERROR),
                                 module_of(host), message == nullptr ? "" : message);
  } catch (...) {
    return;  // a line that cannot be written must not end the run
  }
}

void progress_report(const quench_host* host, const char* what, uint64_t done,
                     uint64_t total) noexcept {
  try {
    HostServices::instance().progress(module_of(host), what == nullptr ? "" : what, done, total);
  } catch (...) {
    return;
  }
}

int32_t cancel_requested(const quench_host*) noexcept {
  return HostServices::instance().cancel_flag() ? 1 : 0;
}

void* memory_allocate(const quench_host*, uint64_t bytes) noexcept {
  return allocate_tensor_memory(bytes);
}

void memory_release(const quench_host*, void* memory) noexcept {
  release_tensor_memory(memory);
}

void random_fill(const quench_host* host, const char* stream, uint64_t counter, uint64_t count,
                 uint64_t* values) noexcept {
  random_uniform(HostServices::instance().seed(), module_of(host), stream, counter, count, values);
}

uint32_t tasks_threads(const quench_host*) noexcept {
  return HostServices::instance().threads();
}

quench_status tasks_parallel_for(const quench_host*, uint64_t count, uint64_t grain,
                                 quench_status (*body)(void*, uint64_t, uint64_t) noexcept,
                                 void* user) noexcept {
  return parallel_for(HostServices::instance().threads(), count, grain, body, user);
}

int32_t processor_instructions(const quench_host*) noexcept {
  return static_cast<int32_t>(HostServices::instance().instructions());
}

quench_status journal_get(const quench_host*, uint64_t index, double* value) noexcept {
  EvaluationJournal* journal = HostServices::instance().journal();
  const std::optional<double> found = journal != nullptr ? journal->get(index) : std::nullopt;
  if (!found) {
    return QUENCH_NOT_FOUND;
  }
  *value = *found;
  return QUENCH_OK;
}

void journal_put(const quench_host*, uint64_t index, double value) noexcept {
  if (EvaluationJournal* journal = HostServices::instance().journal()) {
    journal->put(index, value);
  }
}

const void* service(const quench_host*, const char* id) noexcept {
  static constexpr quench_log kLog = {sizeof(quench_log), log_write};
  static constexpr quench_progress kProgress = {sizeof(quench_progress), progress_report};
  static constexpr quench_cancel kCancel = {sizeof(quench_cancel), cancel_requested};
  static constexpr quench_memory kMemory = {sizeof(quench_memory), memory_allocate, memory_release};
  static constexpr quench_random kRandom = {sizeof(quench_random), random_fill};
  static constexpr quench_tasks kTasks = {sizeof(quench_tasks), tasks_threads, tasks_parallel_for};
  static constexpr quench_processor kProcessor = {sizeof(quench_processor), processor_instructions};
  static constexpr quench_journal kJournal = {sizeof(quench_journal), journal_get, journal_put};
  const std::pair<const char*, const void*> services[] = {{QUENCH_SERVICE_LOG, &kLog},
                                                          {QUENCH_SERVICE_PROGRESS, &kProgress},
                                                          {QUENCH_SERVICE_CANCEL, &kCancel},
                                                          {QUENCH_SERVICE_MEMORY, &kMemory},
                                                          {QUENCH_SERVICE_RANDOM, &kRandom},
                                                          {QUENCH_SERVICE_TASKS, &kTasks},
                                                          {QUENCH_SERVICE_PROCESSOR, &kProcessor},
                                                          {QUENCH_SERVICE_JSON, json_service()},
                                                          {QUENCH_SERVICE_JOURNAL, &kJournal},
                                                          {QUENCH_SERVICE_BLOCK, block_service()},
                                                          {QUENCH_SERVICE_INPUT, input_service()}};
  if (const void* there = id == nullptr ? nullptr : HostServices::instance().remote(id)) {
    return there;
  }
  for (const auto& [name, table] : services) {
    if (id != nullptr && std::strcmp(id, name) == 0) {
      return table;
    }
  }
  return nullptr;
}

}  // namespace

HostServices& HostServices::instance() {
  static auto* services = new HostServices;  // outlives static destructors, plugins' included
  return *services;
}

HostServices::LogSink HostServices::set_log_sink(LogSink sink) {
  const std::lock_guard lock(sinks_);
  return std::exchange(log_sink_, std::move(sink));
}

void HostServices::set_progress_sink(ProgressSink sink) {
  const std::lock_guard lock(sinks_);
  progress_sink_ = std::move(sink);
}

void HostServices::log(int level, std::string_view module, std::string_view line) {
  const std::string shown = printable(line, kMaxLine);
  if (level == QUENCH_LOG_WARNING && !module.empty() && HeardWarnings::take(module, shown)) {
    return;
  }
  const std::lock_guard lock(sinks_);
  if (log_sink_) {
    log_sink_(level, module, shown);
  }
}

void HostServices::progress(std::string_view module, std::string_view what, uint64_t done,
                            uint64_t total) {
  const std::lock_guard lock(sinks_);
  if (progress_sink_) {
    progress_sink_(module, what, done, total);
  }
}

const quench_host* HostServices::host_for(const std::string& module_id) {
  static std::mutex mutex;
  static auto* hosts = new std::map<std::string, quench_host>;  // nodes never move, never go
  const std::lock_guard lock(mutex);
  const auto [entry, added] = hosts->try_emplace(module_id);
  if (added) {
    entry->second = {sizeof(quench_host), QUENCH_ABI_MINOR, const_cast<std::string*>(&entry->first),
                     kVersion, service};
  }
  return &entry->second;
}

}  // namespace quench
