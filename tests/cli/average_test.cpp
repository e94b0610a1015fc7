#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

std::vector<std::string> hidden_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(".tiny")) {
      names.push_back(entry.path().filename().string());
    }
  }
  return names;
}

}  // namespace

TEST_CASE("average: equal checkpoints average to themselves", "[cli]") {
  const Workplace here(Page::kNone);
  fs::copy(here.folder() / "tiny", here.folder() / "step2", fs::copy_options::recursive);
  const Outcome made =
      here.run({"average", "tiny", "step2", "--scheme", "soup", "-o", "tiny-soup"});
  CHECK(made.err.find("error") == std::string::npos);
  REQUIRE(made.code == 0);
  CHECK(made.out.starts_with("tiny-soup: soup of 2 checkpoints"));
  const auto loss = [&](const std::string& model) {
    const Outcome got = here.run({"eval", model, "--tokenizer", "bytes", "--metric",
                                  "validation_loss:text=t.txt,block=16", "--json"});
    REQUIRE(got.code == 0);
    return quench::test::data_of(got.out).at("records").at(0).at("value").get<double>();
  };
  CHECK(loss("tiny-soup") == loss("tiny"));
  CHECK(hidden_in(here.folder().path()).empty());
}

TEST_CASE("average: one that rotted before it was first read is refused, not measured", "[cli]") {
  const Workplace here(Page::kNone);
  REQUIRE(here.run({"average", "tiny", "tiny", "--scheme", "soup", "-o", "soup"}).code == 0);
  std::ofstream(here.folder() / "soup.yaml")
      << "name: s\ncheckpoints: {model: soup}\n"
         "metrics: [validation_loss: {corpus: v, block: 16}]\n"
         "corpora: {v: {text: {path: t.txt}}}\n";
  const fs::path weights = here.folder() / "soup/model.safetensors";
  std::string bytes = quench::test::read_file(weights);
  bytes[bytes.size() - 1] ^= 0x01;
  std::ofstream(weights, std::ios::binary) << bytes;
  const Outcome refused = here.run({"run", "soup.yaml"});
  CHECK(refused.code == 1);
  CHECK_THAT(refused.out + refused.err,
             Contains("soup/model.safetensors: its SHA-256 is ") &&
                 Contains("as quench.json says, which was written with it; make it again"));
  fs::remove(here.folder() / "soup/quench.json");
  CHECK(here.run({"run", "soup.yaml", "--retry", "failed"}).code == 0);  // the change is the user's
}

TEST_CASE("average: a greedy soup asks the metric", "[cli]") {
  const Workplace here(Page::kNone);
  fs::copy(here.folder() / "tiny", here.folder() / "again", fs::copy_options::recursive);
  const Outcome made =
      here.run({"average", "tiny", "again", "--scheme", "greedy_soup", "--tokenizer", "bytes",
                "--metric", "validation_loss:text=t.txt,block=16", "-o", "souped", "--json"});
  INFO(made.err);
  REQUIRE(made.code == 0);
  const auto members = quench::test::data_of(made.out).at("members");
  CHECK(members.at(0).at("weight") == 0.5);
  CHECK(members.at(1).at("weight") == 0.5);
}

TEST_CASE("average: what cannot be averaged is said in one line, and nothing is left", "[cli]") {
  const Workplace here(Page::kNone);
  const auto refused = [&](Workplace::Arguments more) {
    Workplace::Arguments arguments = {"average", "tiny", "tiny"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome got = here.run(arguments);
    CHECK(got.code == 2);
    CHECK(got.out.empty());
    CHECK_FALSE(fs::exists(here.folder() / "tiny-out"));
    return got.err;
  };
  CHECK(refused({"--scheme", "lawa:window=3", "-o", "tiny-out"}) ==
        "averaging lawa: tiny: got 2 checkpoints up to here, wanted 3\n");
  CHECK(refused({"--scheme", "greedy_soup", "-o", "tiny-out"}) ==
        "averaging greedy_soup: chooses its members by a score; name a --metric\n");
  CHECK(refused({"--scheme", "soup", "--metric", "validation_loss:text=t.txt,block=16", "-o",
                 "tiny-out"}) == "averaging soup: needs no score; leave --metric out\n");
  CHECK(refused({"--scheme", "lava", "-o", "tiny-out"}).find("did you mean lawa?") !=
        std::string::npos);
  const Outcome existing = here.run({"average", "tiny", "--scheme", "soup", "-o", "tiny"});
  CHECK(existing.code == 2);
  CHECK(existing.err.find("tiny: already exists; nothing is overwritten") != std::string::npos);
  CHECK(hidden_in(here.folder().path()).empty());
}

TEST_CASE("average: a disk that fills up is an error that names the file, and nothing is left",
          "[cli]") {
  const Workplace here(Page::kNone);
  // A limit on the size of files, smaller than the weights, stands for the full disk.
  quench::Command command =
      here.command({"average", "tiny", "tiny", "--scheme", "soup", "-o", "tiny-out"});
  command.words.insert(command.words.begin(),
                       {"/bin/sh", "-c", "trap '' XFSZ; ulimit -f 97; exec \"$0\" \"$@\""});
  quench::ChildProcess process = quench::ChildProcess::start(command);
  const Outcome got = here.wait(process);
  CHECK(got.code == 1);
  CHECK(got.err.find("model.safetensors: writing at offset") != std::string::npos);
  CHECK(got.err.find("File too large") != std::string::npos);
  CHECK_FALSE(fs::exists(here.folder() / "tiny-out"));
  CHECK(hidden_in(here.folder().path()).empty());
}
