// `quench fetch` and `quench run --fetch` as they are typed, against a hub of the test's own.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/hub_server.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/terminal.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using quench::test::cache_listing;
using quench::test::HubServer;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

const std::string kToken = "hf_SecretSecretSecret";

class Scene {
 public:
  Scene() = default;

  // The workplace's small checkpoint becomes a revision of org/tiny.
  void publish_tiny(const std::string& revision) const {
    for (const auto& entry : fs::directory_iterator(here.folder() / "tiny")) {
      server.add("models/org/tiny/" + revision + "/" + entry.path().filename().string(),
                 quench::test::read_file(entry.path()));
    }
  }

  quench::Command command(const std::vector<std::string>& arguments) const {
    quench::Command out = here.command(arguments);
    out.environment->push_back("HF_HUB_CACHE=" + cache().string());
    out.environment->insert(out.environment->end(), variables.begin(), variables.end());
    out.environment->push_back("HF_ENDPOINT=" + server.endpoint());  // of two, the first counts
    return out;
  }
  Outcome run(const std::vector<std::string>& arguments) const {
    quench::ChildProcess process = quench::ChildProcess::start(command(arguments));
    return here.wait(process);
  }
  fs::path cache() const { return here.folder() / cache_name; }

  Workplace here{Page::kNone};
  HubServer server;
  std::vector<std::string> variables;
  std::string cache_name = "cache";
};

std::string metrics_on(const std::string& checkpoints) {
  return "checkpoints: " + checkpoints +
         "\nmetrics:\n  - validation_loss: {corpus: short, block: 16}\ncorpora:\n  short: {text: "
         "{path: t.txt}}\n";
}

}  // namespace

TEST_CASE("fetch: --dry-run prints files and bytes of each revision and writes nothing", "[cli]") {
  Scene scene;
  scene.server.add_model("org/name/step1", 3 << 20);
  scene.server.add_model("org/name/step2", 1 << 20, 2);
  scene.server.add_model("org/name/other", 10'000, 3);
  scene.server.start();
  scene.here.folder().write(
      "m.yaml", metrics_on("{model: hf://org/name, revisions: \"step{step}\", tokenizer: bytes}"));
  const Outcome got = scene.run({"fetch", "m.yaml", "--dry-run"});
  CAPTURE(got.err);
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Contains("hf://org/name@step1  ") && Contains("hf://org/name@step2  ") &&
                          !Contains("@other") && Contains("3.0 MiB") &&
                          Contains("2 revisions, 4 files, 4.0 MiB; to fetch: 4 files, 4.0 MiB"));
  CHECK_FALSE(fs::exists(scene.cache()));
  const Outcome json = scene.run({"fetch", "m.yaml", "--dry-run", "--json"});
  const auto plan = quench::test::data_of(json.out);
  CHECK(plan["revisions"].size() == 2);
  CHECK(plan["missing_bytes"] == (4 << 20) + 23 + 18);
}

TEST_CASE("fetch: without libcurl all else works, and fetch says what is missing", "[cli]") {
  Scene scene;
  scene.server.add_model("org/name/main", 1 << 20);
  scene.server.start();
  // The linker finds this before the system's, and it is no library.
  fs::create_directory(scene.here.folder() / "no-curl");
  scene.here.folder().write("no-curl/libcurl.so.4", "not a library\n");
  scene.variables = {"LD_LIBRARY_PATH=" + (scene.here.folder() / "no-curl").string()};
  scene.here.folder().write("m.yaml", metrics_on("{model: tiny}"));
  for (const Workplace::Arguments& arguments : {Workplace::Arguments{"--version"},
                                                {"plan", "m.yaml"},
                                                {"run", "m.yaml"},
                                                {"results", "runs/m"},
                                                {"plugins", "list"},
                                                {"doctor"}}) {
    CAPTURE(arguments);
    const Outcome got = scene.run(arguments);
    CAPTURE(got.out, got.err);
    CHECK(got.code == 0);
  }
  const Outcome refused = scene.run({"fetch", "hf://org/name"});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Contains("libcurl, by which quench fetches, cannot be loaded") &&
                              Contains("libcurl4"));
  scene.variables.clear();
  CHECK(scene.run({"fetch", "hf://org/name", "--dry-run"}).code == 0);  // the trick was the cause
}

TEST_CASE("fetch: a repository without its scheme is told by its name", "[cli]") {
  const Scene scene;
  const Outcome got = scene.run({"fetch", "org/name", "--dry-run"});
  CHECK(got.code == 2);
  CHECK_THAT(got.err, Contains("org/name does not exist; did you mean hf://org/name?"));
  CHECK_THAT(scene.run({"fetch", "gone.yaml"}).err, !Contains("did you mean hf://"));
}

TEST_CASE("fetch: the table of --dry-run fits the terminal", "[cli]") {
  Scene scene;
  scene.server.add_model("organisation/a-model-with-a-long-name/a-long-revision-step1000", 3 << 20);
  scene.server.start();
  for (const unsigned short columns : {40, 80, 200}) {
    CAPTURE(columns);
    const std::optional<quench::test::Terminal> terminal = quench::test::Terminal::open();
    quench::test::skip_unless(terminal.has_value(),
                              "there is no pseudo-terminal (is /dev/pts mounted?)");
    terminal->set_columns(columns);
    quench::ChildProcess process = terminal->start(scene.command(
        {"fetch", "hf://organisation/a-model-with-a-long-name@a-long-revision-step1000",
         "--dry-run", "-q"}));
    const std::string shown = terminal->read_until("\004", std::chrono::seconds(60));
    CHECK(process.wait().code() == 0);
    CAPTURE(shown);
    CHECK(quench::test::widest_line(shown) < columns);
    CHECK_THAT(shown, Contains("3.0 MiB") && Contains("to fetch"));
  }
}

TEST_CASE("fetch: a manifest that is blocked says the command, and runs after it", "[cli]") {
  Scene scene;
  scene.publish_tiny("step1");
  scene.publish_tiny("step2");
  scene.server.start();
  scene.here.folder().write("m.yaml",
                            metrics_on("{model: hf://org/tiny, revisions: [step1, step2]}"));
  const std::string planned = scene.run({"plan", "m.yaml"}).out;
  CHECK_THAT(planned, Contains("\nget what is missing with: quench fetch m.yaml\n") &&
                          !Contains("get it with"));
  CHECK_THAT(scene.run({"plan", "m.yaml", "--json"}).out,
             Contains("get it with: quench fetch hf://org/tiny@step1"));
  const Outcome fetched = scene.run({"fetch", "m.yaml"});
  CAPTURE(fetched.out, fetched.err);
  CHECK(fetched.code == 0);
  CHECK_THAT(fetched.out, Contains("fetched "));
  const Outcome ran = scene.run({"run", "m.yaml"});
  CAPTURE(ran.out, ran.err);
  CHECK(ran.code == 0);
  CHECK_THAT(ran.out, Contains("2 records, 2 of them new"));
}

TEST_CASE("verify: of what was fetched it tells every file that changed, large ones and small ones",
          "[cli]") {
  Scene scene;
  scene.server.add_model("org/name/main");
  scene.server.start();
  REQUIRE(scene.run({"fetch", "hf://org/name"}).code == 0);
  const fs::path snapshots = scene.cache() / "models--org--name/snapshots";
  const fs::path snapshot = fs::directory_iterator(snapshots)->path();
  std::vector<fs::path> links;
  std::set<size_t> lengths;  // of the names: SHA-256 of a large file, git's id of a small one
  for (const auto& entry : fs::directory_iterator(snapshot)) {
    links.push_back(entry.path());
    lengths.insert(fs::canonical(entry.path()).filename().string().size());
  }
  REQUIRE(lengths == std::set<size_t>{40, 64});
  const auto said = [&](size_t faults) {
    return std::to_string(links.size()) + " checked, " + std::to_string(faults) +
           " do not verify\n";
  };
  const Outcome whole = scene.run({"verify", "hf://org/name"});
  CHECK(whole.code == 0);
  CHECK(whole.out == said(0));
  for (const fs::path& link : links) {
    const fs::path blob = fs::canonical(link);
    CAPTURE(link.filename(), blob);
    const std::string content = quench::test::read_file(blob);
    std::string other = content;
    other.back() ^= 1;
    const auto write = [&](const std::string& bytes) {
      std::ofstream(blob, std::ios::binary) << bytes;
    };
    write(other);
    const Outcome got = scene.run({"verify", "hf://org/name@main"});
    CHECK(got.code == 1);
    CHECK_THAT(got.out, Contains(blob.string() + ": damaged: content has hash ") &&
                            Contains("its name in the cache of hf://org/name says " +
                                     blob.filename().string() +
                                     ": remove this file and download "
                                     "it again\n") &&
                            Catch::Matchers::EndsWith(said(1)));
    write(content);
  }
  CHECK(scene.run({"verify", "hf://org/name"}).out == said(0));
}

TEST_CASE("verify: a snapshot of plain files, whose names are no hashes, is not taken as checked",
          "[cli]") {
  Scene scene;
  scene.server.add_model("org/name/main");
  scene.server.start();
  REQUIRE(scene.run({"fetch", "hf://org/name"}).code == 0);
  const fs::path repository = scene.cache() / "models--org--name";
  const fs::path snapshot = fs::directory_iterator(repository / "snapshots")->path();
  std::vector<fs::path> links;
  for (const auto& entry : fs::directory_iterator(snapshot)) {
    links.push_back(entry.path());
  }
  const auto make_plain = [](const fs::path& link) {
    const std::string content = quench::test::read_file(link);
    fs::remove(link);
    std::ofstream(link, std::ios::binary) << content;
  };
  make_plain(links.front());  // as clients leave it where the file system has no links
  const Outcome rest = scene.run({"verify", "hf://org/name"});
  CHECK(rest.code == 0);
  CHECK(rest.out == std::to_string(links.size() - 1) + " checked, 0 do not verify\n");
  std::for_each(links.begin() + 1, links.end(), make_plain);
  const Outcome none = scene.run({"verify", "hf://org/name"});
  CHECK(none.code == 1);
  CHECK_THAT(none.err, Contains("hf://org/name: nothing here could be checked"));
}

TEST_CASE("fetch: `run --fetch` expands a pattern by the hub's list, fetches and runs", "[cli]") {
  Scene scene;
  scene.publish_tiny("step1");
  scene.publish_tiny("step2");
  scene.publish_tiny("step30");
  scene.server.start();
  scene.here.folder().write(
      "m.yaml",
      metrics_on("{model: hf://org/tiny, revisions: \"step{step}\", match: {step: [1, 9]}}"));
  const Outcome without = scene.run({"run", "m.yaml"});
  CHECK(without.code == 2);
  CHECK_THAT(without.err, Contains("get them with: quench fetch m.yaml"));
  const Outcome ran = scene.run({"run", "m.yaml", "--fetch"});
  CAPTURE(ran.out, ran.err);
  CHECK(ran.code == 0);
  CHECK_THAT(ran.out, Contains("2 records, 2 of them new"));
  CHECK_FALSE(fs::exists(scene.cache() / "models--org--tiny/refs/step30"));
}

TEST_CASE("fetch: exit codes tell a wrong name from a hub that fails", "[cli]") {
  Scene scene;
  scene.server.add_model("org/name/main");
  scene.server.start({"--fault", "status:/refs:403"});
  const Outcome refused = scene.run({"fetch", "hf://org/name"});
  CHECK(refused.code == 1);
  CHECK(refused.err == "hf://org/name: " + scene.server.endpoint() + " refuses access: told to\n");
  scene.server.start();
  const Outcome wrong = scene.run({"fetch", "hf://org/name@mian"});
  CHECK(wrong.code == 2);
  CHECK(wrong.err ==
        "hf://org/name: " + scene.server.endpoint() + " has no revision 'mian'; nearest is main\n");
  CHECK(scene.run({"fetch", "hf://org/.."}).code == 2);
  CHECK(scene.run({"fetch", "no.yaml"}).code == 2);
}

TEST_CASE("fetch: offline, no connection is opened", "[cli]") {
  Scene scene;
  scene.server.add_model("org/name/main");
  scene.server.start();
  scene.variables = {"HF_HUB_OFFLINE=1"};
  const Outcome got = scene.run({"fetch", "hf://org/name"});
  CHECK(got.code == 1);
  CHECK(got.err == "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set, so nothing can be fetched\n");
  CHECK(scene.server.requests().empty());
}

TEST_CASE("fetch: a proxy of the environment is used, and none for hosts that it excepts",
          "[cli]") {
  Scene scene;
  scene.server.add_model("org/name/main");
  scene.server.start();
  const std::string hub = scene.server.endpoint();
  scene.variables = {"HF_ENDPOINT=http://hub.invalid", "http_proxy=" + hub};
  const Outcome through = scene.run({"fetch", "hf://org/name", "--dry-run"});
  CHECK(through.code == 0);
  REQUIRE_FALSE(scene.server.requests().empty());
  CHECK(scene.server.requests()[0]["path"] == "http://hub.invalid/api/models/org/name/refs");
  scene.variables = {"http_proxy=http://127.0.0.1:1", "no_proxy=127.0.0.1"};
  CHECK(scene.run({"fetch", "hf://org/name", "--dry-run"}).code == 0);
}

TEST_CASE("fetch: a proxy's password is in no message, whatever its address looks like", "[cli]") {
  Scene scene;
  scene.server.start();
  for (const char* proxy :
       {"http://me:hushhush#y@127.0.0.1:9", "http://me:hushhush/y@127.0.0.1:9",
        "http://me:hush hushhush@127.0.0.1:9", "gopher://me:hushhush@127.0.0.1:9",
        "http://me:hushhush@127.0.0.1:port"}) {
    scene.variables = {"HF_ENDPOINT=http://hub.invalid", "http_proxy=" + std::string(proxy)};
    for (const char* form : {"--json", "--dry-run"}) {
      const Outcome got = scene.run({"fetch", "hf://org/name", form});
      CAPTURE(proxy, got.out, got.err);
      CHECK(got.code == 1);
      CHECK_THAT(got.out + got.err, !Contains("hush"));
      CHECK_THAT(got.out + got.err, Contains("its address cannot be read"));
    }
  }
}

TEST_CASE("fetch: a token is used, and is in no output and no file", "[cli]") {
  Scene scene;
  scene.publish_tiny("main");
  scene.server.start({"--token", kToken, "--gated", "--fault", "cut:safetensors:100:1"});
  scene.here.folder().write("hf/token", kToken + "\n");
  scene.here.folder().write("m.yaml", metrics_on("{model: hf://org/tiny}"));
  scene.variables = {"HF_HOME=" + (scene.here.folder() / "hf").string()};
  const Outcome got = scene.run({"run", "m.yaml", "--fetch", "-v"});
  CAPTURE(got.out, got.err);
  CHECK(got.code == 0);
  CHECK_THAT(got.err, Contains("trying again in "));
  const Outcome doctor = scene.run({"doctor"});
  CHECK_THAT(doctor.out, Contains(", a token from " + (scene.here.folder() / "hf/token").string()));
  CHECK_THAT(got.out + got.err + doctor.out + doctor.err, !Contains(kToken));
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(scene.here.folder().path())) {
    if (entry.is_regular_file() && entry.path().filename() != "token") {
      ++files;
      CAPTURE(entry.path());
      CHECK(quench::test::read_file(entry.path()).find(kToken) == std::string::npos);
    }
  }
  CHECK(files > 10);
}

TEST_CASE("fetch: Ctrl-C and SIGTERM leave what came, and say how to go on", "[cli]") {
  for (const auto& [number, code] : {std::pair(SIGINT, 130), std::pair(SIGTERM, 75)}) {
    CAPTURE(number);
    Scene scene;
    scene.server.add_model("org/name/main", 1 << 20);
    scene.server.start({"--fault", "slow:safetensors:4000:1"});
    quench::ChildProcess process =
        quench::ChildProcess::start(scene.command({"fetch", "hf://org/name"}));
    CHECK(scene.here.wait_for_work());
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    const auto sent = std::chrono::steady_clock::now();
    process.signal(number);
    const Outcome got = scene.here.wait(process);
    CHECK(std::chrono::steady_clock::now() - sent < std::chrono::seconds(5));
    CHECK(got.code == code);
    CHECK_THAT(got.err, Contains("stopped on request; what has arrived is kept; continue with: ") &&
                            Catch::EndsWith("fetch hf://org/name\n"));
    const Outcome again = scene.run({"fetch", "hf://org/name"});
    CHECK(again.code == 0);
    CHECK_THAT(scene.server.last("safetensors")["range"].dump(), Catch::StartsWith("\"bytes="));
  }
}

TEST_CASE("fetch: killed again and again it ends with the same cache as undisturbed", "[cli]") {
  Scene scene;
  scene.server.add_model("org/name/step1", 2 << 20);
  scene.server.add_model("org/name/step2", 1 << 20, 2);
  scene.here.folder().write(
      "m.yaml", metrics_on("{model: hf://org/name, revisions: \"step{step}\", tokenizer: bytes}"));
  scene.server.start({"--fault", "slow:safetensors:30000"});
  REQUIRE(scene.run({"fetch", "m.yaml"}).code == 0);
  const std::string undisturbed = cache_listing(scene.cache());
  std::mt19937 random(7);
  constexpr int kKills = 6;
  scene.cache_name = "killed";
  for (int i = 0; i < kKills; ++i) {
    quench::ChildProcess process = quench::ChildProcess::start(scene.command({"fetch", "m.yaml"}));
    process.ends_within(std::chrono::milliseconds(150 + random() % 400));
    process.end();
  }
  const Outcome last = scene.run({"fetch", "m.yaml"});
  CAPTURE(last.err);
  CHECK(last.code == 0);
  CHECK(cache_listing(scene.cache()) == undisturbed);
  for (const auto& entry : fs::recursive_directory_iterator(scene.cache())) {
    CHECK(entry.path().extension() != ".incomplete");
  }
}
