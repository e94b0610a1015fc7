#include "core/plugin/library/running_code.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::File;
namespace fs = std::filesystem;

TEST_CASE("running code: bytes written into a mapped file are seen, and nothing else is a fault",
          "[core][plugin]") {
  const quench::test::TemporaryDir folder;
  const fs::path file = folder.write("q.so", "the code");
  quench::note_running_code("quantizer q", File(file), quench::sha256_hex("the code"));
  CHECK_NOTHROW(quench::check_running_code());
  fs::permissions(file, fs::perms::owner_all);
  fs::last_write_time(file, fs::last_write_time(file) - std::chrono::hours(1));
  CHECK_NOTHROW(quench::check_running_code());
  const auto time = fs::last_write_time(file);

  std::fstream(file, std::ios::in | std::ios::out) << "THE";
  fs::last_write_time(file, time);  // as rsync and some builds set it
  CHECK(quench::test::message_of([] { quench::check_running_code(); }, folder.path()) ==
        "quantizer q: q.so was written in place while its code ran (sha256 " +
            quench::sha256_hex("the code").substr(0, 12) + " when it was loaded, " +
            quench::sha256_hex("THE code").substr(0, 12) +
            " now), so what it computed may be of either; run the command again");
  std::fstream(file, std::ios::in | std::ios::out) << "the";
  CHECK_NOTHROW(quench::check_running_code());

  fs::rename(folder.write("other.so", "other code"), file);
  CHECK_NOTHROW(quench::check_running_code());
  fs::remove(file);
  CHECK_NOTHROW(quench::check_running_code());
}
