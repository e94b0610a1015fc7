#include "tests/support/test_host.hpp"

#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>

#include "quench/abi/json_values.h"
#include "quench/kit/error.hpp"

namespace quench::test {

namespace {

using json = nlohmann::ordered_json;

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

// ---- json

const json& root(const quench_json_document* document) {
  return *reinterpret_cast<const json*>(document);
}

// The value at a pointer, or nullptr.
const json* at(const quench_json_document* document, const char* pointer) {
  try {
    return &root(document).at(json::json_pointer(pointer));
  } catch (const json::exception&) {
    return nullptr;
  }
}

template <typename Json>
int32_t type_of(const Json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return QUENCH_JSON_NULL;
    case json::value_t::boolean:
      return QUENCH_JSON_BOOLEAN;
    case json::value_t::number_integer:
      return QUENCH_JSON_INTEGER;
    case json::value_t::number_unsigned:
      return value.template get<uint64_t>() <= INT64_MAX ? QUENCH_JSON_INTEGER : QUENCH_JSON_NUMBER;
    case json::value_t::number_float:
      return QUENCH_JSON_NUMBER;
    case json::value_t::string:
      return QUENCH_JSON_STRING;
    case json::value_t::array:
      return QUENCH_JSON_ARRAY;
    default:
      return QUENCH_JSON_OBJECT;
  }
}

const json& wanted(const quench_json_document* document, const char* pointer, bool (*fits)(int32_t),
                   const char* type) {
  const json* value = at(document, pointer);
  if (value == nullptr) {
    kit::fail(QUENCH_NOT_FOUND, "json: %s is absent", pointer);
  }
  if (!fits(type_of(*value))) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "json: %s: wanted %s, got %s", pointer, type,
              value->dump().substr(0, 80).c_str());
  }
  return *value;
}

// Refuses nesting beyond 64 and keys given twice.
template <typename Json>
Json parse_strictly(const std::string& text) {
  using Event = typename Json::parse_event_t;
  std::vector<std::set<std::string>> open;
  const auto watch = [&open](int depth, Event event, Json& parsed) {
    if (depth > 64) {
      throw std::runtime_error("json: nested deeper than 64");
    }
    if (event == Event::object_start) {
      open.emplace_back();
    } else if (event == Event::object_end) {
      open.pop_back();
    } else if (event == Event::key &&
               !open.back().insert(parsed.template get<std::string>()).second) {
      throw std::runtime_error("json: key given twice: " + parsed.template get<std::string>());
    }
    return true;
  };
  return Json::parse(text, watch);
}

quench_status parse(const quench_host*, const char* text, uint64_t bytes,
                    quench_json_document** document, quench_error* error) noexcept {
  try {
    *document = reinterpret_cast<quench_json_document*>(
        new json(parse_strictly<json>(std::string(text, bytes))));
    return QUENCH_OK;
  } catch (const std::exception& failure) {
    return kit::report(error, QUENCH_INVALID_ARGUMENT, failure.what());
  }
}

void release_document(quench_json_document* document) noexcept {
  delete reinterpret_cast<json*>(document);
}

int32_t type(const quench_json_document* document, const char* pointer) noexcept {
  const json* value = at(document, pointer);
  return value == nullptr ? QUENCH_JSON_ABSENT : type_of(*value);
}

quench_status boolean(const quench_json_document* document, const char* pointer, int32_t* value,
                      quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const auto fits = [](int32_t t) { return t == QUENCH_JSON_BOOLEAN; };
    *value = wanted(document, pointer, fits, "true or false").get<bool>() ? 1 : 0;
  });
}

quench_status integer(const quench_json_document* document, const char* pointer, int64_t* value,
                      quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const auto fits = [](int32_t t) { return t == QUENCH_JSON_INTEGER; };
    *value = wanted(document, pointer, fits, "an integer").get<int64_t>();
  });
}

quench_status number(const quench_json_document* document, const char* pointer, double* value,
                     quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const auto fits = [](int32_t t) { return t == QUENCH_JSON_INTEGER || t == QUENCH_JSON_NUMBER; };
    *value = wanted(document, pointer, fits, "a number").get<double>();
  });
}

quench_status string(const quench_json_document* document, const char* pointer, const char** text,
                     uint64_t* bytes, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const auto fits = [](int32_t t) { return t == QUENCH_JSON_STRING; };
    const auto& found = wanted(document, pointer, fits, "a string").get_ref<const std::string&>();
    *text = found.c_str();
    *bytes = found.size();
  });
}

uint64_t size(const quench_json_document* document, const char* pointer) noexcept {
  const json* value = at(document, pointer);
  return value != nullptr && value->is_structured() ? value->size() : 0;
}

const char* key(const quench_json_document* document, const char* pointer,
                uint64_t index) noexcept {
  const json* value = at(document, pointer);
  if (value == nullptr || !value->is_object() || index >= value->size()) {
    return nullptr;
  }
  return std::next(value->begin(), static_cast<std::ptrdiff_t>(index)).key().c_str();
}

// ---- json values: nodes of a document whose keys are sorted, since vocabularies are large

namespace values {

using Node = nlohmann::json;

const Node& node(const quench_json_value* value) {
  return *reinterpret_cast<const Node*>(value);
}

const quench_json_value* handed_out(const Node& value) {
  return reinterpret_cast<const quench_json_value*>(&value);
}

quench_status parse(const quench_host*, const char* name, const char* text, uint64_t bytes,
                    quench_json_document** document, quench_error* error) noexcept {
  try {
    *document = reinterpret_cast<quench_json_document*>(
        new Node(parse_strictly<Node>(std::string(text, bytes))));
    return QUENCH_OK;
  } catch (const std::exception& failure) {
    const std::string message = std::string(name) + ": " + failure.what();
    return kit::report(error, QUENCH_INVALID_ARGUMENT, message.c_str());
  }
}

void release(quench_json_document* document) noexcept {
  delete reinterpret_cast<Node*>(document);
}

const quench_json_value* root(const quench_json_document* document) noexcept {
  return handed_out(*reinterpret_cast<const Node*>(document));
}

int32_t type(const quench_json_value* value) noexcept {
  return type_of(node(value));
}

uint64_t size(const quench_json_value* value) noexcept {
  return node(value).is_structured() ? node(value).size() : 0;
}

const quench_json_value* member(const quench_json_value* value, const char* key,
                                uint64_t key_bytes) noexcept {
  const auto found =
      node(value).is_object() ? node(value).find(std::string(key, key_bytes)) : node(value).end();
  return found != node(value).end() ? handed_out(*found) : nullptr;
}

const quench_json_value* element(const quench_json_value* value, uint64_t index) noexcept {
  return node(value).is_array() && index < node(value).size() ? handed_out(node(value)[index])
                                                              : nullptr;
}

quench_status each_member(const quench_json_value* value,
                          quench_status (*take)(void*, const char*, uint64_t,
                                                const quench_json_value*) noexcept,
                          void* user) noexcept {
  if (!node(value).is_object()) {
    return QUENCH_OK;
  }
  for (auto at = node(value).begin(); at != node(value).end(); ++at) {
    const quench_status status = take(user, at.key().data(), at.key().size(), handed_out(*at));
    if (status != QUENCH_OK) {
      return status;
    }
  }
  return QUENCH_OK;
}

template <typename T>
quench_status read(bool fits, const quench_json_value* value, T* out) noexcept {
  if (!fits) {
    return QUENCH_INVALID_ARGUMENT;
  }
  *out = node(value).get<T>();
  return QUENCH_OK;
}

quench_status boolean(const quench_json_value* value, int32_t* out) noexcept {
  bool found = false;
  const quench_status status = read(node(value).is_boolean(), value, &found);
  *out = found ? 1 : 0;
  return status;
}

quench_status integer(const quench_json_value* value, int64_t* out) noexcept {
  return read(type(value) == QUENCH_JSON_INTEGER, value, out);
}

quench_status number(const quench_json_value* value, double* out) noexcept {
  return read(node(value).is_number(), value, out);
}

quench_status string(const quench_json_value* value, const char** text, uint64_t* bytes) noexcept {
  if (!node(value).is_string()) {
    return QUENCH_INVALID_ARGUMENT;
  }
  const auto& found = node(value).get_ref<const std::string&>();
  *text = found.c_str();
  *bytes = found.size();
  return QUENCH_OK;
}

constexpr quench_json_values kTable = {sizeof kTable, parse,  release, root,        type,
                                       size,          member, element, each_member, boolean,
                                       integer,       number, string};

}  // namespace values

constexpr quench_log kLog = {sizeof kLog, write_log};
constexpr quench_cancel kCancel = {sizeof kCancel, cancel_requested};
constexpr quench_memory kMemory = {sizeof kMemory, allocate, release};
constexpr quench_random kRandom = {sizeof kRandom, uniform};
constexpr quench_tasks kTasks = {sizeof kTasks, threads, parallel_for};
constexpr quench_processor kProcessor = {sizeof kProcessor, instructions};
constexpr quench_json kJson = {sizeof kJson, parse,  release_document, type, boolean,
                               integer,      number, string,           size, key};

const void* find_service(const quench_host*, const char* id) noexcept {
  const std::string_view wanted_id(id);
  return wanted_id == QUENCH_SERVICE_LOG           ? static_cast<const void*>(&kLog)
         : wanted_id == QUENCH_SERVICE_CANCEL      ? static_cast<const void*>(&kCancel)
         : wanted_id == QUENCH_SERVICE_MEMORY      ? static_cast<const void*>(&kMemory)
         : wanted_id == QUENCH_SERVICE_RANDOM      ? static_cast<const void*>(&kRandom)
         : wanted_id == QUENCH_SERVICE_TASKS       ? static_cast<const void*>(&kTasks)
         : wanted_id == QUENCH_SERVICE_PROCESSOR   ? static_cast<const void*>(&kProcessor)
         : wanted_id == QUENCH_SERVICE_JSON        ? static_cast<const void*>(&kJson)
         : wanted_id == QUENCH_SERVICE_JSON_VALUES ? static_cast<const void*>(&values::kTable)
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
