// What a run downloaded, and what of it may go.
#include "core/hub/fetch/download_ledger.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>

#include "core/base/io/process_identity.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/hub/blob.hpp"
#include "core/hub/claim.hpp"
#include "core/hub/fetch/hub_revisions.hpp"
#include "core/hub/resolve.hpp"
#include "core/hub/snapshot.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/core/hub/fetch/scene.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::DownloadLedger;
using quench::evict_weights;
using quench::HubSpec;
using quench::parse_hub_spec;
using quench::test::cache_listing;
using quench::test::FetchScene;

namespace {

const HubSpec kRepository = parse_hub_spec("hf://org/name");

// Three revisions of a model; step3 has the weights of step1.
class Evictions {
 public:
  Evictions() {
    scene.server.add_model("org/name/step1", 300'000, 1);
    scene.server.add_model("org/name/step2", 300'000, 2);
    scene.server.add_model("org/name/step3", 300'000, 1);
    scene.server.add_model("org/name/step4", 300'000, 4);
    scene.server.add("models/org/name/step3/generation_config.json", "{}");
    scene.server.start();
    scene.access.endpoint = scene.server.endpoint();
  }

  // Fetches as a run does.
  std::string bring(const std::string& revision) {
    DownloadLedger ledger(ledger_file());
    quench::HubApi api(scene.access, scene.policy);
    auto plan =
        quench::plan_fetch({{parse_hub_spec("hf://org/name@" + revision), quench::Purpose::kModel}},
                           api, scene.cache());
    const std::string commit = plan.revisions.front().commit;
    quench::HubRevisions store(scene.cache(), plan.revisions, api, ledger);
    store.fetch(0);
    return commit;
  }
  uint64_t evict(const std::set<std::string>& commits) const {
    return evict_weights(scene.cache(), kRepository, commits, DownloadLedger(ledger_file()));
  }
  fs::path snapshot(const std::string& commit) const {
    return scene.cache() / "models--org--name/snapshots" / commit;
  }
  fs::path ledger_file() const { return folder / "downloads.jsonl"; }

  FetchScene scene;
  quench::test::TemporaryDir folder;
};

void write(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace

TEST_CASE("evict: weights go with their links, small files and the revision's name stay",
          "[fetch]") {
  Evictions here;
  const std::string commit = here.bring("step1");
  REQUIRE(quench::has_weights(here.snapshot(commit)));
  CHECK(here.evict({commit}) == 300'000);
  CHECK_FALSE(quench::has_weights(here.snapshot(commit)));
  CHECK(fs::exists(here.snapshot(commit) / "config.json"));
  const quench::ResolvedModel found =
      quench::resolve("hf://org/name@step1", here.scene.environment());
  CHECK(found.commit == commit);
  CHECK(here.evict({commit}) == 0);
  here.bring("step1");
  CHECK(here.scene.has_weights("hf://org/name@step1"));
}

TEST_CASE("evict: a ledger whose lines lead out of the cache is refused, and nothing is removed",
          "[fetch]") {
  Evictions here;
  const std::string commit = here.bring("step1");
  const fs::path mine = here.folder / "precious/thesis.safetensors";
  write(mine, "mine");
  const auto identity = DownloadLedger::identity_of(mine);
  const fs::path blobs = here.scene.cache() / "models--org--name/blobs";
  nlohmann::json entry = {{"repository", "hf://org/name"}, {"commit", commit},
                          {"path", "model.safetensors"},   {"hash", std::string(64, 'a')},
                          {"device", identity->device},    {"inode", identity->inode},
                          {"bytes", identity->size},       {"modified_ns", identity->modified_ns}};
  using Change = std::pair<const char*, nlohmann::json>;
  const auto [name, value] = GENERATE_REF(
      Change{"hash", fs::relative(mine, blobs).string()}, Change{"hash", mine.string()},
      Change{"hash", "aaaa"}, Change{"hash", 7}, Change{"repository", "hf://org/../../name"},
      Change{"repository", "hf://org/name/file"}, Change{"repository", "/tmp"},
      Change{"commit", "../x"}, Change{"path", "../model.safetensors"},
      Change{"bytes", uint64_t{1} << 60}, Change{"inode", "many"});
  CAPTURE(name, value);
  entry[name] = value;
  std::ofstream(here.ledger_file(), std::ios::app)
      << quench::seal("download", quench::canonical_json(entry)) << "\n";
  const std::string message =
      quench::test::message_of([&] { here.evict({commit}); }, here.folder.path());
  CHECK_THAT(message, Catch::StartsWith("downloads.jsonl:") &&
                          Catch::Contains(": quench did not write this line: ") &&
                          Catch::EndsWith("; move the file away, and what it lists stays in the "
                                          "cache"));
  CHECK(fs::exists(mine));
  CHECK(here.scene.has_weights("hf://org/name@step1"));
}

TEST_CASE("DownloadLedger: a line that no run would read is not written", "[fetch]") {
  Evictions here;
  const std::string commit = here.bring("step1");
  const std::string before = quench::test::read_file(here.ledger_file());
  DownloadLedger ledger(here.ledger_file());
  const quench::HubFile file = {"model.safetensors", 1, std::string(64, 'a')};
  CHECK_THROWS_WITH(ledger.arrived(kRepository, "../x", file, {}),
                    Catch::Contains("its commit is '../x'"));
  CHECK_THROWS(ledger.arrived(kRepository, commit, {"../x", 1, std::string(64, 'a')}, {}));
  CHECK(quench::test::read_file(here.ledger_file()) == before);
}

TEST_CASE("evict: what a fetch of the user's brought stays", "[fetch]") {
  Evictions here;
  const std::string commit = here.scene.fetch("hf://org/name@step1").revisions[0].commit;
  here.bring("step1");
  const std::string before = cache_listing(here.scene.cache());
  CHECK(here.evict({commit}) == 0);
  CHECK(cache_listing(here.scene.cache()) == before);
}

TEST_CASE("evict: a blob that somebody put there anew under the same name stays", "[fetch]") {
  Evictions here;
  const std::string commit = here.bring("step1");
  const fs::path blob = fs::canonical(here.snapshot(commit) / "model.safetensors");
  const std::string content = quench::test::read_file(blob);
  write(blob.parent_path() / "new", content);
  fs::rename(blob.parent_path() / "new", blob);
  CHECK(here.evict({commit}) == 0);
  CHECK(here.scene.has_weights("hf://org/name@step1"));
}

TEST_CASE("evict: a blob goes when the last of the run's own revisions that share it goes",
          "[fetch]") {
  Evictions here;
  const std::string first = here.bring("step1");
  const std::string third = here.bring("step3");
  CHECK(here.evict({first}) == 0);
  CHECK(here.scene.has_weights("hf://org/name@step3"));
  CHECK(here.evict({first, third}) == 300'000);
  CHECK_FALSE(quench::has_weights(here.snapshot(first)));
  CHECK_FALSE(quench::has_weights(here.snapshot(third)));
}

TEST_CASE("evict: a blob to which a snapshot of somebody else links stays", "[fetch]") {
  Evictions here;
  const std::string first = here.bring("step1");
  here.scene.fetch("hf://org/name@step3");  // links to what is there
  CHECK(here.evict({first}) == 0);
  CHECK(here.scene.has_weights("hf://org/name@step1"));
  CHECK(here.scene.has_weights("hf://org/name@step3"));
}

TEST_CASE("evict: a kill between link and blob leaves what the next call removes", "[fetch]") {
  Evictions here;
  const std::string commit = here.bring("step1");
  fs::remove(here.snapshot(commit) / "model.safetensors");
  CHECK(here.evict({commit}) == 300'000);
}

TEST_CASE("evict: a killed process's beginning of weights that were evicted since goes",
          "[fetch]") {
  Evictions here;
  const std::string commit = here.bring("step1");
  const fs::path blobs = here.scene.cache() / "models--org--name/blobs";
  const std::string hash = fs::read_symlink(here.snapshot(commit) / "model.safetensors").filename();
  CHECK(here.evict({commit}) == 300'000);
  write(blobs / (hash + ".0123abcd.incomplete"), "half");
  const std::string wanted = std::string(64, 'a') + ".0123abcd.incomplete";  // of no revision here
  write(blobs / wanted, "half");
  CHECK(here.evict({}) == 0);
  CHECK(fs::exists(blobs / (hash + ".0123abcd.incomplete")));  // a revision is wanted again
  CHECK(here.evict({commit}) == 0);
  CHECK_FALSE(fs::exists(blobs / (hash + ".0123abcd.incomplete")));
  CHECK(fs::exists(blobs / wanted));
}

TEST_CASE("evict: the beginning of weights that a living process claims stays", "[fetch]") {
  Evictions here;
  const std::string commit = here.bring("step1");
  const fs::path repository = here.scene.cache() / "models--org--name";
  const std::string hash = fs::read_symlink(here.snapshot(commit) / "model.safetensors").filename();
  CHECK(here.evict({commit}) == 300'000);
  const fs::path beginning = repository / "blobs" / (hash + ".0123abcd.incomplete");
  write(beginning, "half");
  const int64_t parent = getppid();
  const fs::path claim = repository / ".quench" /
                         fmt::format("claim-{}-{}-{}-0", quench::this_process().place, parent,
                                     quench::process_start(parent));
  write(claim, commit + "\nend\n");
  CHECK(here.evict({commit}) == 0);
  CHECK(fs::exists(beginning));  // it may go on with it
  fs::remove(claim);
  CHECK(here.evict({commit}) == 0);
  CHECK_FALSE(fs::exists(beginning));
}

TEST_CASE("evict: what a living process claims stays, until it is gone", "[fetch]") {
  Evictions here;
  const std::string commit = here.bring("step1");
  const fs::path claims = here.scene.cache() / "models--org--name/.quench";
  const int64_t parent = getppid();
  const std::string place = quench::this_process().place;
  const auto claim = [&](int64_t pid, uint64_t start) {
    return claims / fmt::format("claim-{}-{}-{}-0", place, pid, start);
  };
  write(claim(parent, quench::process_start(parent)), commit + "\nend\n");
  CHECK(here.evict({commit}) == 0);
  write(claim(parent, quench::process_start(parent)), std::string(40, '0') + "\nend\n");
  CHECK(here.evict({commit}) == 300'000);
  here.bring("step1");
  fs::remove_all(claims);
  write(claim(parent, quench::process_start(parent)), "01");  // it is being written
  CHECK(here.evict({commit}) == 0);
  fs::remove_all(claims);
  write(claim(parent, quench::process_start(parent) + 1), commit + "\nend\n");  // it has died
  CHECK(here.evict({commit}) == 300'000);
  CHECK_FALSE(fs::exists(claims));
}

TEST_CASE("evict: the claim of a process that died goes even when no weights are left", "[fetch]") {
  Evictions here;
  const std::string commit = here.bring("step1");
  CHECK(here.evict({commit}) == 300'000);
  const fs::path claims = here.scene.cache() / "models--org--name/.quench";
  const std::string place = quench::this_process().place;
  const int64_t parent = getppid();
  const fs::path living =
      claims / fmt::format("claim-{}-{}-{}-0", place, parent, quench::process_start(parent));
  write(claims / fmt::format("claim-{}-{}-1-0", place, parent), commit + "\nend\n");
  write(living, commit + "\nend\n");
  CHECK(here.evict({commit}) == 0);
  CHECK(std::distance(fs::directory_iterator(claims), fs::directory_iterator()) == 1);
  fs::remove(living);
  write(claims / fmt::format("claim-{}-{}-1-0", place, parent), commit + "\nend\n");
  CHECK(here.evict({commit}) == 0);
  CHECK_FALSE(fs::exists(claims));
}

TEST_CASE("evict: a claim of another machine counts for two days", "[fetch]") {
  Evictions here;
  const std::string commit = here.bring("step1");
  const fs::path claim = here.scene.cache() / "models--org--name/.quench/claim-ffffffff-1-1-0";
  write(claim, commit + "\nend\n");
  CHECK(here.evict({commit}) == 0);
  fs::last_write_time(claim, fs::file_time_type::clock::now() - std::chrono::hours(49));
  CHECK(here.evict({commit}) == 300'000);
}

TEST_CASE("evict: bytes that are held are the run's own, and each blob counts once", "[fetch]") {
  Evictions here;
  here.scene.fetch("hf://org/name@step2");
  const std::string first = here.bring("step1");
  const std::string third = here.bring("step3");
  const DownloadLedger ledger(here.ledger_file());
  const auto held = [&](const std::set<std::string>& released) {
    return quench::bytes_held(here.scene.cache(), kRepository, released, ledger);
  };
  // The small files of step1 came with step2; step3 has one more.
  CHECK(held({}) == 300'002);
  CHECK(held({first}) == 300'002);
  CHECK(held({first, third}) == 2);
}

TEST_CASE("HubRevisions: what is fetched again counts again, so that the limit holds in a sweep",
          "[fetch]") {
  Evictions here;
  DownloadLedger ledger(here.ledger_file());
  quench::HubApi api(here.scene.access, here.scene.policy);
  const auto plan =
      here.scene.plan({"hf://org/name@step1", "hf://org/name@step2", "hf://org/name@step4"});
  quench::HubRevisions store(here.scene.cache(), plan.revisions, api, ledger);
  constexpr uint64_t kLimit = 2 * 300'000 + 100;
  const std::vector<std::set<size_t>> steps = {{0}, {1}, {2}, {0}, {1}, {2}, {0, 1}};
  quench::RevisionWindow window(steps, kLimit, true, store);
  const auto on_disk = [&] {
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(here.scene.blobs())) {
      bytes += entry.file_size();
    }
    return bytes;
  };
  for (size_t step = 0; step < steps.size(); ++step) {
    CAPTURE(step);
    window.begin(step);
    for (const size_t revision : steps[step]) {
      CHECK(store.has(revision));
    }
    CHECK(on_disk() == store.used());
    CHECK(on_disk() <= kLimit);
    if (const auto next = window.next(step)) {
      store.fetch(*next);
    }
    CHECK(on_disk() == store.used());
    CHECK(on_disk() <= kLimit);
  }
  window.end();
  CHECK(on_disk() < 100);
}

TEST_CASE("HubRevisions: a snapshot without the revision's name is not there yet", "[fetch]") {
  Evictions here;
  here.scene.fetch("hf://org/name@step1");
  fs::remove(here.scene.cache() / "models--org--name/refs/step1");
  const auto plan = here.scene.plan({"hf://org/name@step1"});
  DownloadLedger ledger(here.ledger_file());
  quench::HubApi api(here.scene.access, here.scene.policy);
  quench::HubRevisions store(here.scene.cache(), plan.revisions, api, ledger);
  CHECK_FALSE(store.has(0));
  CHECK(store.missing(0) == 0);
  store.fetch(0);
  CHECK(store.has(0));
  CHECK(here.scene.has_weights("hf://org/name@step1"));
}

TEST_CASE("DownloadLedger: a line that a kill cut short counts as none", "[fetch]") {
  Evictions here;
  const std::string commit = here.bring("step1");
  const std::string whole = quench::test::read_file(here.ledger_file());
  write(here.ledger_file(), whole + "\n{\"download\":{\"by");
  here.bring("step2");
  const DownloadLedger ledger(here.ledger_file());
  CHECK(ledger.all().at("hf://org/name").size() == 4);  // two weights, config and tokenizer once
  CHECK(here.evict({commit}) == 300'000);
}

TEST_CASE("HubClaim: it is there as long as the object, for what was set last", "[fetch]") {
  Evictions here;
  const fs::path repository = here.scene.cache() / "models--org--name";
  const std::string commit = here.bring("step1");
  const auto claims = [&] {
    std::string out;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(repository / ".quench", error)) {
      out += quench::test::read_file(entry.path());
    }
    return out;
  };
  CHECK(claims().empty());
  {
    quench::HubClaim claim;
    claim.set({{repository, {commit}}, {here.scene.cache() / "models--no--such", {"x"}}});
    CHECK(claims() == commit + "\nend\n");
    CHECK_FALSE(quench::OtherClaims(repository).contain(commit));  // its own
    const std::string other(40, 'b');
    claim.set({{repository, {other}}});
    CHECK(claims() == other + "\nend\n");
  }
  CHECK_FALSE(fs::exists(repository / ".quench"));
}

TEST_CASE("HubClaim: one of what is no commit is not made, and where it is read claims everything",
          "[fetch]") {
  Evictions here;
  const fs::path repository = here.scene.cache() / "models--org--name";
  const std::string commit = here.bring("step1");
  const std::string other(40, 'b');
  quench::HubClaim mine;
  CHECK_THROWS_WITH(
      mine.set({{repository, {"../" + commit}}}),
      Catch::Contains("would claim ../" + commit) && Catch::Contains("wanted commits"));
  const fs::path theirs = repository / ".quench/claim-00000000-1-1-0";  // of another machine
  const auto claimed = [&](const std::string& text) {
    write(theirs, text);
    return quench::OtherClaims(repository).contain(other);
  };
  CHECK_FALSE(claimed(commit + "\nend\n"));
  CHECK(quench::OtherClaims(repository).contain(commit));
  CHECK(claimed(other + "\n" + commit + "\nend\n"));
  CHECK(claimed(""));
  CHECK(claimed(commit + "\n"));  // being written
  CHECK(claimed(commit + "\nend"));
  CHECK(claimed("../" + commit + "\nend\n"));
  CHECK(claimed(commit + "\nend\n" + commit + "\n"));
}
