#include "core/plugin/services/instruction_set.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "core/plugin/services/host_services.hpp"

using quench::available_instruction_sets;
using quench::choose_instruction_set;
using quench::HostServices;
using quench::InstructionSet;

TEST_CASE("instruction set: the widest unless QUENCH_ISA names another", "[core][plugin]") {
  CHECK(available_instruction_sets().front() == InstructionSet::kPortable);
  CHECK(choose_instruction_set(std::nullopt) == available_instruction_sets().back());
  for (const InstructionSet instructions : available_instruction_sets()) {
    CHECK(choose_instruction_set(to_text(instructions)) == instructions);
  }
}

TEST_CASE("instruction set: an unknown name is an error", "[core][plugin]") {
  for (const char* name : {"", "AVX2", "sse2"}) {
    CHECK_THROWS_WITH(choose_instruction_set(name), "QUENCH_ISA = \"" + std::string(name) +
                                                        "\", wanted one of avx512, avx2, portable");
  }
}

TEST_CASE("instruction set: a portable result's key names the architecture", "[core][plugin]") {
  CHECK(key_text(InstructionSet::kAvx512) == "avx512");
  CHECK(key_text(InstructionSet::kAvx2) == "avx2");
  CHECK(key_text(InstructionSet::kPortable).starts_with("portable "));
  CHECK(key_text(InstructionSet::kPortable).size() > std::string("portable ").size());
}

TEST_CASE("instruction set: libraries are bound to the same", "[core][plugin]") {
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
