// Programs of other languages, which a file NAME.worker registers.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/plugin/sandbox/sandbox.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/template_checkpoint.hpp"
#include "tests/support/temporary.hpp"

using Catch::Matchers::Contains;

namespace quench::test {

namespace {

namespace fs = std::filesystem;

// Tries what a plugin must not do as soon as it runs, and answers with what it could.
constexpr const char* kThief = R"(#!/usr/bin/python3 -IS
import json, os, socket, sys
here = os.path.dirname(os.path.abspath(sys.argv[0]))
could = []
def attempt(name, deed):
    try:
        deed()
        could.append(name)
    except OSError:
        pass
attempt("read", lambda: open(here + "/../secret").read())
attempt("write", lambda: open(here + "/../written", "w"))
attempt("connect", lambda: socket.socket())
attempt("fork", lambda: os.fork() or os._exit(0))
control = socket.socket(fileno=3)
control.recv(1 << 20)
try:
    os.execv("/bin/sh", ["sh", "-c", "echo >&2 became a shell"])
except OSError:
    pass
control.send(json.dumps({"failed": "it could: " + " ".join(could) + "."}).encode())
)";

class Registered {
 public:
  Registered() {
    skip_unless(fs::exists("/usr/bin/python3"), "there is no /usr/bin/python3");
    fs::create_directories(plugins());
    fs::create_directory(folder_.path() / "model");
    write_template_checkpoint(folder_.path() / "model");
    folder_.write("secret", "42");
    std::string text;
    for (int i = 0; i < 400; ++i) {
      text += "some words of text ";
    }
    folder_.write("text.txt", text);
    fs::copy_file(source_dir() / "tests/sdk/strangers/signs_worker.py", program());
    folder_.write("plugins/signs.worker", R"({"program": "signs_worker.py"})");
  }

  fs::path plugins() const { return folder_.path() / "plugins"; }
  fs::path program() const { return plugins() / "signs_worker.py"; }
  void write(const std::string& name, const std::string& text) { folder_.write(name, text); }

  Ended run(std::vector<std::string> words) {
    words.insert(words.begin(), QUENCH_PROGRAM);
    words.insert(words.end(),
                 {"--plugin-path", plugins().string(), "--plugin-path", TEMPLATE_FOLDER});
    return run_program(words, {{"QUENCH_HOME", (folder_.path() / "q").string()}}, folder_.path());
  }
  // The record of the quantized model's loss.
  nlohmann::json measured() {
    write("m.yaml",
          "checkpoints: {model: model, tokenizer: bytes}\n"
          "corpora: {t: {text: {path: text.txt}}}\n"
          "quantizers: [signs]\n"
          "metrics: [validation_loss: {corpus: t, block: 64}]\n");
    const Ended ended = run({"run", "m.yaml", "--out", "out", "--json"});
    INFO(ended.out << ended.err);
    REQUIRE(ended.code == 0);
    const nlohmann::json answer = nlohmann::json::parse(ended.out);
    for (const nlohmann::json& record : answer.at("data").at("records")) {
      if (!record.at("quantizer").is_null() && record.at("metric") == "validation_loss") {
        return record;
      }
    }
    FAIL("no record of a quantized model");
    return {};
  }

 private:
  TemporaryDir folder_;
};

}  // namespace

TEST_CASE("worker files: a program of another language keeps the promises of its kind",
          "[promises]") {
  Registered user;
  const Ended checked = user.run({"plugins", "check", "plugins/signs.worker"});
  INFO(checked.out << checked.err);
  CHECK(checked.code == 0);
  CHECK_THAT(checked.out, Contains("runs in a process of its own: a program of its own"));
  CHECK_THAT(checked.out, Contains("ok      quantizer signs: rows of zeros stay zero"));
}

TEST_CASE("worker files: a program is confined before its first instruction", "[promises]") {
  const SandboxAbilities offered = sandbox_abilities();
  skip_unless(offered.is_whole, "this kernel offers " + offered.text);
  Registered user;
  user.write("plugins/signs_worker.py", kThief);
  const Ended confined = user.run({"plugins", "check", "plugins/signs.worker"});
  CHECK(confined.code == 1);
  CHECK_THAT(confined.out + confined.err, Contains("it could: ."));
  const Ended free = user.run({"plugins", "check", "plugins/signs.worker", "--sandbox", "off"});
  CHECK_THAT(free.out + free.err, Contains("became a shell"));
}

TEST_CASE("worker files: a program counts by its bytes", "[promises]") {
  Registered user;
  const nlohmann::json before = user.measured();
  std::string text = read_file(user.program());
  const std::string codes = "step = (value > 0) - (value < 0)";
  text.replace(text.find(codes), codes.size(), "step = 1 if value > 0 else -1");
  user.write("plugins/signs_worker.py", text);
  const nlohmann::json after = user.measured();
  const auto code = [](const nlohmann::json& record) {
    return record.at("parts").at("quantizer").at("code");
  };
  INFO(code(before).dump());
  CHECK(code(before).at("worker file") == code(after).at("worker file"));
  CHECK(code(before).at("files").contains("signs_worker.py"));
  CHECK(code(before).at("files") != code(after).at("files"));
  CHECK(before.at("key") != after.at("key"));
}

TEST_CASE("worker files: what is wrong with one is said", "[promises]") {
  Registered user;
  const auto said = [&](const std::string& text) {
    user.write("plugins/signs.worker", text);
    const Ended checked = user.run({"plugins", "check", "plugins/signs.worker"});
    CHECK(checked.code == 1);
    return checked.out + checked.err;
  };
  CHECK_THAT(said("{}"), Contains(R"(it says {}, wanted {"program": PATH)"));
  CHECK_THAT(said(R"({"program": 5})"), Contains(R"(it says {"program":5}, wanted)"));
  CHECK_THAT(said(R"({"program": "signs_worker.py", "argument": []})"), Contains("wanted"));
  CHECK_THAT(said(R"({"program": "no_such"})"),
             Contains("plugins/no_such, wanted a file that may be started"));
  user.write("plugins/signs_worker.py", "#!/usr/bin/env python3\n");
  CHECK_THAT(said(R"({"program": "signs_worker.py"})"),
             Contains("got #!/usr/bin/env, wanted the absolute path of an interpreter"));
}

}  // namespace quench::test
