#include "core/plugin/services/host_services.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "core/arithmetic/philox.hpp"

using quench::HostServices;
using quench::philox4x32;
using quench::PhiloxCounter;

namespace {

const quench_host* host() {
  return HostServices::instance().host_for("test.services");
}

template <typename Table>
const Table& service(const char* id) {
  const auto* table = static_cast<const Table*>(host()->service(host(), id));
  REQUIRE(table != nullptr);
  REQUIRE(table->struct_size == sizeof(Table));
  return *table;
}

std::vector<uint64_t> numbers(const quench_host* of, const char* stream, uint64_t counter,
                              uint64_t count) {
  std::vector<uint64_t> values(count);
  service<quench_random>(QUENCH_SERVICE_RANDOM).uniform(of, stream, counter, count, values.data());
  return values;
}

}  // namespace

TEST_CASE("philox: known answers of Random123 for philox4x32-10", "[core][plugin]") {
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) ==
        PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
        PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random service: a number depends on seed, module, stream and position alone",
          "[core][plugin]") {
  HostServices::instance().set_seed(7);
  const auto whole = numbers(host(), "layer.0", 0, 9);
  for (uint64_t at = 0; at < 9; ++at) {
    CHECK(numbers(host(), "layer.0", at, 1)[0] == whole[at]);
  }
  CHECK(numbers(host(), "layer.0", 3, 4) ==
        std::vector<uint64_t>(whole.begin() + 3, whole.begin() + 7));
  CHECK(numbers(host(), "layer.1", 0, 9) != whole);
  CHECK(numbers(HostServices::instance().host_for("test.other"), "layer.0", 0, 9) != whole);
  HostServices::instance().set_seed(8);
  CHECK(numbers(host(), "layer.0", 0, 9) != whole);
  HostServices::instance().set_seed(7);
  CHECK(numbers(host(), "layer.0", 0, 9) == whole);
}

TEST_CASE("tasks service: ranges are the same for any number of threads", "[core][plugin]") {
  const auto& tasks = service<quench_tasks>(QUENCH_SERVICE_TASKS);
  for (const uint32_t threads : {1u, 2u, 4u}) {
    HostServices::instance().set_threads(threads);
    CHECK(tasks.threads(host()) == threads);
    std::vector<std::atomic<uint64_t>> ends(103);
    const auto body = [](void* user, uint64_t begin, uint64_t end) noexcept -> quench_status {
      (*static_cast<std::vector<std::atomic<uint64_t>>*>(user))[begin] += end;
      return QUENCH_OK;
    };
    CHECK(tasks.parallel_for(host(), 103, 10, body, &ends) == QUENCH_OK);
    for (uint64_t i = 0; i < 103; ++i) {
      CHECK(ends[i] == (i % 10 != 0 ? 0 : std::min<uint64_t>(i + 10, 103)));
    }
    CHECK(tasks.parallel_for(host(), 0, 10, body, &ends) == QUENCH_OK);
    CHECK(tasks.parallel_for(host(), 1, 0, body, &ends) == QUENCH_INVALID_ARGUMENT);
  }
  HostServices::instance().set_threads(1);
}

TEST_CASE("tasks service: a failing range ends the call with its status", "[core][plugin]") {
  const auto& tasks = service<quench_tasks>(QUENCH_SERVICE_TASKS);
  for (const uint32_t threads : {1u, 2u}) {
    HostServices::instance().set_threads(threads);
    std::atomic<uint64_t> calls{0};
    const auto body = [](void* user, uint64_t begin, uint64_t) noexcept -> quench_status {
      ++*static_cast<std::atomic<uint64_t>*>(user);
      return begin == 0 ? QUENCH_NUMERICAL : QUENCH_OK;
    };
    CHECK(tasks.parallel_for(host(), 1'000'000, 1, body, &calls) == QUENCH_NUMERICAL);
    CHECK(calls < 1'000'000);
  }
  HostServices::instance().set_threads(1);
}

TEST_CASE("memory service: memory is aligned, and too much is NULL", "[core][plugin]") {
  const auto& memory = service<quench_memory>(QUENCH_SERVICE_MEMORY);
  for (const uint64_t bytes : {0u, 1u, 63u, 64u, 1000u}) {
    void* block = memory.allocate(host(), bytes);
    REQUIRE(block != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(block) % 64 == 0);
    std::memset(block, 1, bytes);
    memory.release(host(), block);
  }
  memory.release(host(), nullptr);
  CHECK(memory.allocate(host(), UINT64_MAX) == nullptr);
}

TEST_CASE("log, progress, cancel: what a plugin says reaches the sinks with its name",
          "[core][plugin]") {
  std::vector<std::string> lines;
  auto& services = HostServices::instance();
  services.set_log_sink([&](int level, std::string_view module, std::string_view line) {
    lines.push_back(std::to_string(level) + " " + std::string(module) + " " + std::string(line));
  });
  services.set_progress_sink(
      [&](std::string_view module, std::string_view what, uint64_t done, uint64_t total) {
        lines.push_back(std::string(module) + " " + std::string(what) + " " + std::to_string(done) +
                        "/" + std::to_string(total));
      });
  service<quench_log>(QUENCH_SERVICE_LOG).write(host(), QUENCH_LOG_WARNING, "two\nlines");
  service<quench_progress>(QUENCH_SERVICE_PROGRESS).report(host(), "blocks", 3, 4);
  CHECK(lines ==
        std::vector<std::string>{"2 test.services two\\x0alines", "test.services blocks 3/4"});
  services.set_log_sink(nullptr);
  services.set_progress_sink(nullptr);
  const auto& cancel = service<quench_cancel>(QUENCH_SERVICE_CANCEL);
  CHECK(cancel.requested(host()) == 0);
  services.cancel_flag() = true;
  CHECK(cancel.requested(host()) != 0);
  services.cancel_flag() = false;
  CHECK(host()->service(host(), "quench.nothing/1") == nullptr);
}

TEST_CASE("json service: a document is walked value by value", "[core][plugin]") {
  const auto& parser = service<quench_json>(QUENCH_SERVICE_JSON);
  const std::string text =
      R"({"b": [1, -2.5, true, null, "x\u0000y"], "a": {"k": 9223372036854775808}})";
  quench_json_document* document = nullptr;
  quench_error error{sizeof error, 0, {}};
  REQUIRE(parser.parse(host(), "a.json", text.data(), text.size(), &document, &error) == QUENCH_OK);
  const quench_json_value* root = parser.root(document);
  CHECK(parser.type(root) == QUENCH_JSON_OBJECT);
  CHECK(parser.size(root) == 2);
  const quench_json_value* list = parser.member(root, "b", 1);
  REQUIRE(list != nullptr);
  CHECK(parser.type(list) == QUENCH_JSON_ARRAY);
  CHECK(parser.size(list) == 5);
  CHECK(parser.member(root, "bb", 2) == nullptr);
  CHECK(parser.member(list, "b", 1) == nullptr);
  CHECK(parser.element(list, 5) == nullptr);
  CHECK(parser.element(root, 0) == nullptr);
  int64_t integer = 0;
  CHECK(parser.integer(parser.element(list, 0), &integer) == QUENCH_OK);
  CHECK(integer == 1);
  CHECK(parser.integer(parser.element(list, 1), &integer) == QUENCH_INVALID_ARGUMENT);
  double number = 0;
  CHECK(parser.number(parser.element(list, 1), &number) == QUENCH_OK);
  CHECK(number == -2.5);
  int32_t boolean = 0;
  CHECK(parser.boolean(parser.element(list, 2), &boolean) == QUENCH_OK);
  CHECK(boolean == 1);
  CHECK(parser.boolean(parser.element(list, 0), &boolean) == QUENCH_INVALID_ARGUMENT);
  CHECK(parser.type(parser.element(list, 3)) == QUENCH_JSON_NULL);
  const char* string = nullptr;
  uint64_t bytes = 0;
  CHECK(parser.string(parser.element(list, 4), &string, &bytes) == QUENCH_OK);
  CHECK(std::string(string, bytes) == std::string("x\0y", 3));
  CHECK(parser.string(list, &string, &bytes) == QUENCH_INVALID_ARGUMENT);
  CHECK(parser.type(parser.member(parser.member(root, "a", 1), "k", 1)) == QUENCH_JSON_NUMBER);

  std::string keys;
  const auto take = [](void* user, const char* key, uint64_t key_bytes,
                       const quench_json_value*) noexcept -> quench_status {
    static_cast<std::string*>(user)->append(key, key_bytes);
    return QUENCH_OK;
  };
  CHECK(parser.each_member(root, take, &keys) == QUENCH_OK);
  CHECK(keys == "ab");
  const auto stop = [](void*, const char*, uint64_t, const quench_json_value*) noexcept {
    return quench_status{QUENCH_CANCELLED};
  };
  CHECK(parser.each_member(root, stop, nullptr) == QUENCH_CANCELLED);
  parser.release(document);

  for (const std::string& bad :
       {std::string("{\"a\": 1, \"a\": 2}"), std::string("[1,]"), std::string(100'000, '['),
        std::string("NaN"), std::string("{\n]")}) {
    CHECK(parser.parse(host(), "a.json", bad.data(), bad.size(), &document, &error) ==
          QUENCH_INVALID_ARGUMENT);
    CHECK(document == nullptr);
  }
  CHECK(std::string(error.message).find("a.json:2:1: invalid JSON") == 0);
}
