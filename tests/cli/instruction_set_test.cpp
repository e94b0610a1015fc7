// QUENCH_ISA, as the program takes it.
#include <catch2/catch.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

using quench::test::Ended;
using quench::test::program_path;
using quench::test::TemporaryDir;

namespace {

Ended doctor_with(const std::string& isa) {
  const TemporaryDir folder;
  return quench::test::run_program({program_path(), "doctor"},
                                   {{"QUENCH_ISA", isa},
                                    {"QUENCH_HOME", (folder / "home").string()},
                                    {"QUENCH_PLUGIN_PATH", folder.path().string()}},
                                   folder.path());
}

}  // namespace

TEST_CASE("instruction set: an unknown QUENCH_ISA ends every command with exit code 2", "[cli]") {
  const Ended ended = doctor_with("sse9");
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  CHECK(ended.err == "QUENCH_ISA = \"sse9\", wanted one of avx512_bf16, avx512, avx2, portable\n");
}

TEST_CASE("instruction set: doctor says which kernels run", "[cli]") {
  const Ended ended = doctor_with("portable");
  CHECK(ended.err.empty());
  CHECK(ended.out.find("\nkernels     portable (the processor has portable") != std::string::npos);
}
