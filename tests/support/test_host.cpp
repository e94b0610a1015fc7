#include "tests/support/test_host.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "core/base/json/json_service.hpp"
#include "quench/kit/error.hpp"

namespace quench::test {

namespace {

// ---- log, cancel, memory

std::mutex log_lock;
std::vector<std::string> log_lines;
std::atomic<bool> cancel{false};
std::atomic<int64_t> live{0};
std::atomic<int64_t> live_bytes{0};
std::atomic<int64_t> most_bytes{0};  // that were live since it was last set
std::atomic<uint64_t> largest{UINT64_MAX};

void write_log(const quench_host*, int32_t level, const char* message) noexcept {
  const std::lock_guard guard(log_lock);
  std::fprintf(stderr, "[plugin, level %d] %s\n", level, message);
  log_lines.emplace_back(message);
}

int32_t cancel_requested(const quench_host*) noexcept {
  return cancel ? 1 : 0;
}

void* allocate(const quench_host*, uint64_t bytes) noexcept {
  if (bytes > largest || bytes > UINT64_MAX - 63) {
    return nullptr;
  }
  void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (memory != nullptr) {
    std::memset(memory, 0xA5, bytes);  // "not cleared": whoever counts on zeros shall see
    ++live;
    const int64_t now = live_bytes += static_cast<int64_t>(malloc_usable_size(memory));
    int64_t before = most_bytes;
    while (before < now && !most_bytes.compare_exchange_weak(before, now)) {
    }
  }
  return memory;
}

void release(const quench_host*, void* memory) noexcept {
  if (memory != nullptr) {
    --live;
    live_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
    std::free(memory);
  }
}

// ---- random: SplitMix64 of (stream, position), counter-based like the real one; other numbers

uint64_t mix(uint64_t value) {
  value += 0x9E3779B97F4A7C15u;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
  return value ^ (value >> 31);
}

void uniform(const quench_host*, const char* stream, uint64_t counter, uint64_t count,
             uint64_t* values) noexcept {
  uint64_t key = 0;
  for (const char* c = stream; *c != '\0'; ++c) {
    key = mix(key ^ static_cast<unsigned char>(*c));
  }
  for (uint64_t i = 0; i < count; ++i) {
    values[i] = mix(key ^ mix(counter + i));
  }
}

// ---- tasks

uint32_t threads(const quench_host*) noexcept {
  return 1;
}

quench_status parallel_for(const quench_host*, uint64_t count, uint64_t grain,
                           quench_status (*body)(void*, uint64_t, uint64_t) noexcept,
                           void* user) noexcept {
  for (uint64_t begin = 0; begin < count; begin += grain) {
    const quench_status status = body(user, begin, count - begin < grain ? count : begin + grain);
    if (status != QUENCH_OK) {
      return status;
    }
  }
  return QUENCH_OK;
}

// ---- processor

int32_t first_instructions() {
  const char* wanted = std::getenv("QUENCH_ISA");
  const std::vector<int32_t> available = available_instructions();
  if (wanted == nullptr) {
    return available.back();
  }
  const std::string_view name(wanted);
  if (name == "avx512_bf16" && has_avx512_bf16()) {
    return QUENCH_INSTRUCTIONS_AVX512_BF16;
  }
  const int32_t found = name == "portable" ? QUENCH_INSTRUCTIONS_PORTABLE
                        : name == "avx2"   ? QUENCH_INSTRUCTIONS_AVX2
                        : name == "avx512" ? QUENCH_INSTRUCTIONS_AVX512
                                           : -1;
  if (std::find(available.begin(), available.end(), found) == available.end()) {
    std::fprintf(stderr, "QUENCH_ISA = %s: not here\n", wanted);
    std::abort();
  }
  return found;
}

std::atomic<int32_t>& chosen_instructions() {
  static std::atomic<int32_t> chosen{first_instructions()};
  return chosen;
}

int32_t instructions(const quench_host*) noexcept {
  return chosen_instructions();
}

constexpr quench_log kLog = {sizeof kLog, write_log};
constexpr quench_cancel kCancel = {sizeof kCancel, cancel_requested};
constexpr quench_memory kMemory = {sizeof kMemory, allocate, release};
constexpr quench_random kRandom = {sizeof kRandom, uniform};
constexpr quench_tasks kTasks = {sizeof kTasks, threads, parallel_for};
constexpr quench_processor kProcessor = {sizeof kProcessor, instructions};

const void* find_service(const quench_host*, const char* id) noexcept {
  const std::string_view wanted_id(id);
  return wanted_id == QUENCH_SERVICE_LOG         ? static_cast<const void*>(&kLog)
         : wanted_id == QUENCH_SERVICE_CANCEL    ? static_cast<const void*>(&kCancel)
         : wanted_id == QUENCH_SERVICE_MEMORY    ? static_cast<const void*>(&kMemory)
         : wanted_id == QUENCH_SERVICE_RANDOM    ? static_cast<const void*>(&kRandom)
         : wanted_id == QUENCH_SERVICE_TASKS     ? static_cast<const void*>(&kTasks)
         : wanted_id == QUENCH_SERVICE_PROCESSOR ? static_cast<const void*>(&kProcessor)
         : wanted_id == QUENCH_SERVICE_JSON      ? static_cast<const void*>(json_service())
                                                 : nullptr;
}

constexpr quench_host kHost = {sizeof kHost, QUENCH_ABI_MINOR, nullptr, "test", find_service};

}  // namespace

const quench_host* test_host() {
  return &kHost;
}
std::vector<int32_t> available_instructions() {
  std::vector<int32_t> found = {QUENCH_INSTRUCTIONS_PORTABLE};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    found.push_back(QUENCH_INSTRUCTIONS_AVX2);
    if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
        __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0) {
      found.push_back(QUENCH_INSTRUCTIONS_AVX512);
    }
  }
#endif
  return found;
}
bool has_avx512_bf16() {
#if defined(__x86_64__)
  return available_instructions().back() == QUENCH_INSTRUCTIONS_AVX512 &&
         __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}
UseInstructions::UseInstructions(int32_t instructions)
    : before_(chosen_instructions().exchange(instructions)) {}
UseInstructions::~UseInstructions() {
  chosen_instructions() = before_;
}
int64_t live_allocations() {
  return live;
}
int64_t allocated_bytes() {
  return live_bytes;
}
int64_t peak_allocated_bytes() {
  return most_bytes;
}
void forget_peak_allocated_bytes() {
  most_bytes = live_bytes.load();
}
void limit_allocation(uint64_t bytes) {
  largest = bytes;
}
void request_cancel(bool requested) {
  cancel = requested;
}
std::vector<std::string> logged() {
  const std::lock_guard guard(log_lock);
  return log_lines;
}

}  // namespace quench::test
