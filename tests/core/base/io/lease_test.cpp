#include "core/base/io/lease.hpp"

#include <fmt/format.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>

#include "core/base/process/child_process.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;

namespace quench::test {

namespace {

using std::chrono::seconds;

const ProcessIdentity kElsewhere = {"00000000", 1, 1};

int64_t now_seconds() {
  return std::chrono::duration_cast<seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// A file with the name that this process would give it.
fs::path left_by(const TemporaryDir& folder, const ProcessIdentity& owner, int days) {
  const fs::path path = folder / fmt::format(".a.json.{}-0badcafe.tmp", identity_text(owner));
  std::ofstream(path) << "half";
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(24 * days + 1));
  return path;
}

}  // namespace

TEST_CASE("lease: an identity is one text, and other text is none", "[io]") {
  const ProcessIdentity self = this_process();
  const auto back = identity_from(identity_text(self));
  REQUIRE(back);
  CHECK(is_running(*back) == true);
  CHECK(identity_from("0123abcd-12-34")->start == 34);
  for (const char* text : {"", "-", "--", "0123abcd", "0123abcd-12", "0123abcd-12-", "0123abcd--34",
                           "0123abcd-0-34", "0123abcd--12-34", "0123abcd-12-34-", "0123ABCD-12-34",
                           "0123abc-12-34", "0123abcd-12-x", "0123abcd-12-99999999999999999999"}) {
    CHECK_FALSE(identity_from(text));
  }
}

TEST_CASE("lease: a temporary is abandoned when its process has ended or was silent for a day",
          "[io]") {
  const TemporaryDir folder;
  const ProcessIdentity self = this_process();
  const int64_t now = now_seconds();
  CHECK_FALSE(is_abandoned(left_by(folder, self, 9), now));
  CHECK(is_abandoned(left_by(folder, {self.place, self.pid, self.start + 1}, 0), now));
  CHECK_FALSE(is_abandoned(left_by(folder, kElsewhere, 0), now));
  CHECK(is_abandoned(left_by(folder, kElsewhere, 1), now));
  CHECK_FALSE(is_abandoned(left_by(folder, kElsewhere, 1), 0));
}

TEST_CASE("lease: what a killed process was writing is abandoned", "[io]") {
  const TemporaryDir folder;
  ChildProcess::start_copy([&] {
    std::ofstream(temporary_beside(folder / "a", ".tmp")) << "half";
    return ::raise(SIGKILL);
  }).wait();
  const fs::path left = fs::directory_iterator(folder.path())->path();
  CHECK(is_abandoned(left, 0));
  remove_ended(folder.path());
  CHECK_FALSE(fs::exists(left));
}

TEST_CASE("lease: other names and links belong to nobody", "[io]") {
  const TemporaryDir folder;
  const std::string owner = identity_text(kElsewhere);
  for (const std::string& name : {owner, "." + owner + ".tmp", "a." + owner + "-0badcafe.tmp",
                                  ".a." + owner + "-0BADCAFE.tmp", std::string(".a.1-2.tmp"),
                                  std::string(".tmp"), ".a." + owner + "-0badcafe"}) {
    std::ofstream(folder / name) << "x";
    CHECK_FALSE(is_abandoned(folder / name, INT64_MAX));
  }
  const fs::path link = folder / (".link." + owner + "-0badcafe.tmp");
  fs::create_symlink("a", link);
  CHECK_FALSE(is_abandoned(link, INT64_MAX));
}

TEST_CASE("lease: a number is silent while it stands still, by the watcher's own clock", "[io]") {
  LifeWatch watch;
  const LifeWatch::Clock::time_point start{};
  const Life first = watch.look("a", kElsewhere, 7, start);
  CHECK_FALSE(first.runs);
  CHECK_FALSE(first.moved);
  CHECK(first.silence == seconds(0));
  CHECK(watch.look("a", kElsewhere, 7, start + seconds(5)).silence == seconds(5));
  CHECK(watch.look("b", this_process(), 7, start + seconds(5)).runs == true);
  const Life moved = watch.look("a", kElsewhere, 8, start + seconds(9));
  CHECK(moved.moved);
  CHECK(moved.silence == seconds(0));
  CHECK(watch.look("a", std::nullopt, 8, start + seconds(12)).silence == seconds(3));
}

TEST_CASE("lease: signs of life end with their object", "[io]") {
  std::atomic<int> signs = 0;
  {
    const Beat beat(std::chrono::milliseconds(1), [&] { ++signs; });
    for (int i = 0; i < 5000 && signs < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  const int given = signs;
  CHECK(given >= 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(signs == given);
}

}  // namespace quench::test
