// The kit's Gram matrix, held to the same promises as that of our own quantizers.
#include <catch2/catch.hpp>
#include <string>

#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

using Catch::Matchers::Contains;

namespace quench::test {

TEST_CASE("plugins check: a quantizer with the kit's Gram matrix keeps every promise",
          "[promises]") {
  const TemporaryDir home;
  const Ended checked =
      run_program({QUENCH_PROGRAM, "plugins", "check", std::string(KIT_FOLDER) + "/kit_gram.so"},
                  {{"QUENCH_HOME", (home.path() / "q").string()}}, home.path());
  INFO(checked.out + checked.err);
  CHECK(checked.code == 0);
  CHECK_THAT(checked.out, !Contains("failed  quantizer"));
  CHECK_THAT(checked.out,
             Contains("ok      quantizer kit_gram: the Gram matrix is that of the rows"));
}

}  // namespace quench::test
