#include "core/plugin/services/instruction_set.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/plugin/services/host_services.hpp"

using quench::available_instruction_sets;
using quench::choose_instruction_set;
using quench::HostServices;
using quench::InstructionSet;

TEST_CASE("instruction set: the widest unless QUENCH_ISA names another", "[core][plugin]") {
  CHECK(available_instruction_sets().front() == InstructionSet::kPortable);
  CHECK(choose_instruction_set(std::nullopt) ==
        std::min(available_instruction_sets().back(), InstructionSet::kAvx512));
  for (const InstructionSet instructions : available_instruction_sets()) {
    CHECK(choose_instruction_set(to_text(instructions)) == instructions);
  }
}

TEST_CASE("instruction set: an unknown name is an error", "[core][plugin]") {
  for (const char* name : {"", "AVX2", "sse2"}) {
    CHECK_THROWS_WITH(choose_instruction_set(name),
                      "QUENCH_ISA = \"" + std::string(name) +
                          "\", wanted one of avx512_bf16, avx512, avx2, portable");
  }
}

TEST_CASE("instruction set: what the processor lacks is refused by its name", "[core][plugin]") {
  const std::vector<InstructionSet> without = {InstructionSet::kPortable, InstructionSet::kAvx2,
                                               InstructionSet::kAvx512};
  CHECK_THROWS_WITH(
      choose_instruction_set("avx512_bf16", without),
      "QUENCH_ISA = \"avx512_bf16\": this processor does not have it, avx512 at most");
  CHECK_THROWS_WITH(choose_instruction_set("avx512", {InstructionSet::kPortable}),
                    "QUENCH_ISA = \"avx512\": this processor does not have it, portable at most");
}

TEST_CASE("instruction set: products of bfloat16 in pairs are never chosen unasked",
          "[core][plugin]") {
  const std::vector<InstructionSet> all = {InstructionSet::kPortable, InstructionSet::kAvx2,
                                           InstructionSet::kAvx512, InstructionSet::kAvx512Bf16};
  CHECK(choose_instruction_set(std::nullopt, all) == InstructionSet::kAvx512);
  CHECK(choose_instruction_set("avx512_bf16", all) == InstructionSet::kAvx512Bf16);
  CHECK(key_text(InstructionSet::kAvx512Bf16) == "avx512_bf16");
}

TEST_CASE("instruction set: a portable result's key names the architecture", "[core][plugin]") {
  CHECK(key_text(InstructionSet::kAvx512) == "avx512");
  CHECK(key_text(InstructionSet::kAvx2) == "avx2");
  CHECK(key_text(InstructionSet::kPortable).starts_with("portable "));
  CHECK(key_text(InstructionSet::kPortable).size() > std::string("portable ").size());
}

TEST_CASE("instruction set: libraries are bound to the same", "[core][plugin]") {
  bind_libraries_to(InstructionSet::kAvx512Bf16);  // without their own products of bfloat16
  CHECK(std::string(std::getenv("ATEN_CPU_CAPABILITY")) == "avx512");
  CHECK(std::string(std::getenv("ONEDNN_MAX_CPU_ISA")) == "AVX512_CORE");
  bind_libraries_to(InstructionSet::kAvx2);
  CHECK(std::string(std::getenv("ATEN_CPU_CAPABILITY")) == "avx2");
  CHECK(std::string(std::getenv("ONEDNN_MAX_CPU_ISA")) == "AVX2");
  bind_libraries_to(HostServices::instance().instructions());
}

TEST_CASE("processor service: it says what the host decided", "[core][plugin]") {
  const quench_host* host = HostServices::instance().host_for("test.services");
  const auto* table =
      static_cast<const quench_processor*>(host->service(host, QUENCH_SERVICE_PROCESSOR));
  REQUIRE(table != nullptr);
  REQUIRE(table->struct_size == sizeof(quench_processor));
  for (const InstructionSet instructions : available_instruction_sets()) {
    HostServices::instance().set_instructions(instructions);
    CHECK(table->instructions(host) == static_cast<int32_t>(instructions));
  }
}
