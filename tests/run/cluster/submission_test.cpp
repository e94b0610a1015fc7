#include "run/cluster/submission.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "run/cluster/cluster_job.hpp"
#include "run/cluster/cluster_resources.hpp"
#include "run/manifest/cluster_keys.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::Scheduler;
using quench::Submission;
using quench::test::TemporaryDir;

TEST_CASE("submission: what is recorded is read again, in order", "[run][cluster]") {
  const TemporaryDir run;
  CHECK(quench::read_submissions(run.path()).empty());
  CHECK(quench::next_submission(run.path()) == run / "cluster/0001");
  Submission sent;
  sent.scheduler = Scheduler::kHtcondor;
  sent.job = "812";
  sent.shares = {2, 3, 9};
  sent.of = 9;
  sent.time = "2026-11-23T17:20:05Z";
  sent.host = "login1";
  for (const char* number : {"cluster/0010", "cluster/0002"}) {
    sent.folder = run / number;
    fs::create_directories(sent.folder);
    quench::record_submission(sent);
  }
  const auto found = quench::read_submissions(run.path());
  REQUIRE(found.size() == 2);
  CHECK(found[0].number == 2);
  CHECK(found[1].number == 10);
  CHECK(found[1].scheduler == Scheduler::kHtcondor);
  CHECK(found[1].job == "812");
  CHECK(found[1].shares == std::vector<uint64_t>{2, 3, 9});
  CHECK(found[1].of == 9);
  CHECK(found[1].time == sent.time);
  CHECK(found[1].host == "login1");
  CHECK(quench::next_submission(run.path()) == run / "cluster/0011");
  CHECK(quench::unfinished_submissions(run.path()).empty());
  fs::create_directory(run / "cluster/0012");
  CHECK(quench::unfinished_submissions(run.path()) == std::vector<fs::path>{run / "cluster/0012"});
}

TEST_CASE("submission: a changed byte is data loss that names the file", "[run][cluster]") {
  const TemporaryDir run;
  Submission sent;
  sent.folder = run / "cluster/0001";
  sent.job = "12";
  sent.shares = {1};
  fs::create_directories(sent.folder);
  quench::record_submission(sent);
  std::string text = quench::test::read_file(sent.folder / "submission.json");
  text[text.find("12")] = '9';
  run.write("cluster/0001/submission.json", text);
  CHECK_THAT(quench::test::message_of([&] { quench::read_submissions(run.path()); }),
             Catch::Contains("cluster/0001/submission.json"));
}

TEST_CASE("submission: a job that is no number is refused: users type it in commands",
          "[run][cluster]") {
  const TemporaryDir run;
  Submission sent;
  sent.folder = run / "cluster/0001";
  sent.job = "12; rm -r x";
  sent.shares = {1};
  fs::create_directories(sent.folder);
  quench::record_submission(sent);
  CHECK(quench::test::message_of([&] { quench::read_submissions(run.path()); }, run.path()) ==
        "cluster/0001/submission.json: job = '12; rm -r x', wanted a number");
}

TEST_CASE("submission: runs of numbers are written as ranges", "[run][cluster]") {
  CHECK(quench::ranges_text({}) == "");
  CHECK(quench::ranges_text({4}) == "4");
  CHECK(quench::ranges_text({1, 2, 3, 5, 8, 9}) == "1-3,5,8-9");
}

TEST_CASE("submission: estimates get room, in round numbers", "[run][cluster]") {
  constexpr uint64_t kGibi = uint64_t{1} << 30;
  CHECK(quench::requested_memory(0) == kGibi);
  CHECK(quench::requested_memory(3 * kGibi) == 4 * kGibi);
  CHECK(quench::requested_memory(4 * kGibi) == 5 * kGibi);
  CHECK(quench::requested_memory(4 * kGibi + 4) == 6 * kGibi);
  CHECK(quench::requested_seconds(0) == 1800);
  CHECK(quench::requested_seconds(900) == 1800);
  CHECK(quench::requested_seconds(901) == 2400);
  CHECK(quench::requested_seconds(1e300) == uint64_t{366} * 86400);
}

TEST_CASE("submission: times and sizes of the manifest are read exactly", "[run][cluster]") {
  CHECK(quench::parse_duration("90m") == 5400);
  CHECK(quench::parse_duration("45s") == 45);
  CHECK(quench::parse_duration("2d") == 172800);
  CHECK(quench::parse_duration("04:05:06") == 14706);
  CHECK(quench::parse_duration("1-12:00:00") == 129600);
  for (const char* wrong : {"", "0h", "30", "4 h", "h", "1:2:3", "04:05", "04:60:00", "-1h", "1-",
                            "99999999999999999999h", "400d", "1-2-03:00:00"}) {
    CAPTURE(wrong);
    CHECK_FALSE(quench::parse_duration(wrong));
  }
  CHECK(quench::parse_size("500MB") == 500'000'000);
  CHECK(quench::parse_size("32 GB") == 32'000'000'000);
  CHECK(quench::parse_size("1.5TiB") == 1'649'267'441'664);
  CHECK(quench::parse_size("4kiB") == 4096);
  for (const char* wrong :
       {"", "GB", "32", "32G", "32 gigabytes", "-1GB", "0GB", "1e3GB", "1  GB", "99999999999TB"}) {
    CAPTURE(wrong);
    CHECK_FALSE(quench::parse_size(wrong));
  }
}
