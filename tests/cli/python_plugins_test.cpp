// A run whose quantizer is a Python file, beside one that is a library.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/plugin/sandbox/sandbox.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using nlohmann::json;
using quench::test::Outcome;
using quench::test::Workplace;

namespace {

// What template_quantizer computes with a whole row as its group, in the same order of roundings.
const std::string kSameRounding =
    "import quench\n\n"
    "@quench.quantizer(bits=quench.Integer(4, low=2, high=8, meaning=\"bits per code\"))\n"
    "def rounded_in_python(weight, bits):\n"
    "    \"\"\"Absolute-maximum rounding of whole rows.\"\"\"\n"
    "    wide = weight.astype(\"f8\")\n"
    "    zero = 2 ** (bits - 1)\n"
    "    scale = (abs(wide).max(1, keepdims=True) / (zero - 1)).astype(\"f4\").astype(\"f8\")\n"
    "    steps = (wide / scale).round().clip(-zero, zero - 1)\n"
    "    return (steps * scale).astype(\"f4\")\n";

const std::string kManifest =
    "name: m\n"
    "checkpoints: {model: tiny}\n"
    "quantizers:\n"
    "  - template_quantizer: {bits: 3, group_size: 0}\n"
    "  - rounded_in_python: {bits: 3}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n";

void need_numpy() {
  quench::test::skip_unless(quench::test::run_shell("/usr/bin/python3 -c 'import numpy'").code == 0,
                            "/usr/bin/python3 has no numpy");
}

// The records of a run's folder, of lines {"sha256", "record"}.
std::vector<json> records_in(const fs::path& folder) {
  std::vector<json> records;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::ifstream in(entry.path());
    for (std::string line; quench::test::holds_records(entry.path()) && std::getline(in, line);) {
      records.push_back(json::parse(line).at("record"));
    }
  }
  return records;
}

// A run of kManifest whose Python file says this.
Outcome run_with(const Workplace& here, const std::string& file, Workplace::Arguments more = {}) {
  here.folder().write("plugins/rounded.py", file);
  here.folder().write("m.yaml", kManifest);
  Workplace::Arguments arguments = {"run",     "m.yaml", "--plugin-path", "plugins",
                                    "--fresh", "--out",  "runs/m"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return here.run(arguments);
}

}  // namespace

TEST_CASE("run: a quantizer in Python gives what a library with its arithmetic gives", "[cli]") {
  need_numpy();
  const Workplace here;
  here.folder().write("plugins/quantizers/rounded.py", kSameRounding);
  here.folder().write("m.yaml", kManifest);
  const Outcome got = here.run({"run", "m.yaml", "--plugin-path", "plugins", "--out", "runs/m"});
  CAPTURE(got.out, got.err);
  REQUIRE(got.code == 0);
  std::map<std::string, json> values;
  for (const json& record : records_in(here.folder() / "runs/m")) {
    if (record.at("quantizer").is_object()) {
      values[record["quantizer"].at("id").get<std::string>()] = record.at("value");
    }
  }
  REQUIRE(values.size() == 2);
  CHECK(values["template_quantizer"].is_number());
  CHECK(values["rounded_in_python"] == values["template_quantizer"]);

  // Another file is other code, of which nothing is measured yet.
  here.folder().write("plugins/quantizers/rounded.py", kSameRounding + "# another file\n");
  CHECK(here.run({"run", "m.yaml", "--plugin-path", "plugins", "--out", "runs/m"}).code == 0);
  std::set<std::string> keys;
  for (const json& record : records_in(here.folder() / "runs/m")) {
    keys.insert(record.at("key").get<std::string>());
  }
  CHECK(keys.size() == 4);  // float, the library, the Python file before and after
}

TEST_CASE("run: an exception in Python is the cell's error, with the line of the file", "[cli]") {
  need_numpy();
  const Workplace here;
  const Outcome got = run_with(here,
                               "import quench\n\n"
                               "@quench.quantizer(bits=4)\n"
                               "def rounded_in_python(weight, bits):\n"
                               "    raise ValueError(\"not today\")\n");
  CHECK(got.code == 1);
  CHECK_THAT(got.out + got.err, Contains("rounded.py:5") && Contains("not today"));
}

TEST_CASE("run: a plugin in Python writes no file of its user and opens no connection", "[cli]") {
  need_numpy();
  quench::test::skip_unless(!quench::sandbox_abilities().text.starts_with("no landlock"),
                            "this kernel has no Landlock");
  const Workplace here;
  const fs::path outside = here.folder() / "outside.txt";
  const std::string file =
      "import os\nimport socket\nimport tempfile\nimport quench\n\n"
      "def refused(deed):\n"
      "    try:\n"
      "        deed()\n"
      "    except OSError as failure:\n"
      "        return str(failure.errno)\n"
      "    return \"done\"\n\n"
      "@quench.quantizer(bits=4)\n"
      "def rounded_in_python(weight, bits):\n"
      "    with tempfile.TemporaryFile() as own:\n"
      "        own.write(b\"scratch\")\n"
      "    file = refused(lambda: open(\"" +
      outside.string() +
      "\", \"w\"))\n"
      "    net = refused(lambda: socket.create_connection((\"127.0.0.1\", 9)))\n"
      "    program = refused(lambda: os.execv(\"/bin/true\", [\"true\"]))\n"
      "    raise ValueError(\"file %s, net %s, program %s\" % (file, net, program))\n";
  const Outcome got = run_with(here, file);
  CHECK(got.code == 1);
  CHECK_THAT(got.out + got.err, Contains("file 13, net 13, program 13"));
  CHECK(!fs::exists(outside));
  // Without the sandbox it may do all that, but for the connection, which nobody listens to.
  run_with(here, file, {"--sandbox", "off"});
  CHECK(fs::exists(outside));
}

TEST_CASE("run: a plugin in Python reads what it brings, not what else its user may", "[cli]") {
  need_numpy();
  quench::test::skip_unless(!quench::sandbox_abilities().text.starts_with("no landlock"),
                            "this kernel has no Landlock");
  const Workplace here;
  here.folder().write("secret", "42");
  here.folder().write("plugins/table.txt", "1");
  const std::string file =
      "import os\nimport quench\n\n"
      "def outcome(path):\n"
      "    try:\n"
      "        open(path).close()\n"
      "    except OSError as failure:\n"
      "        return str(failure.errno)\n"
      "    return \"done\"\n\n"
      "@quench.quantizer(bits=4)\n"
      "def rounded_in_python(weight, bits):\n"
      "    host = \"/proc/%d/\" % os.getppid()\n"
      "    beside = os.path.join(os.path.dirname(__file__), \"table.txt\")\n"
      "    places = [\"" +
      (here.folder() / "secret").string() +
      "\", host + \"environ\", host + \"maps\", \"/etc/shadow\", beside, os.__file__]\n"
      "    raise ValueError(\" \".join(map(outcome, places)) + \" of them\")\n";
  const Outcome got = run_with(here, file);
  CHECK(got.code == 1);
  CHECK_THAT(got.out + got.err, Contains("13 13 13 13 done done of them"));
}

TEST_CASE("run: a plugin in Python sees no secret among its user's variables", "[cli]") {
  need_numpy();
  const Workplace here;
  here.folder().write("plugins/rounded.py",
                      "import os\nimport quench\n\n"
                      "@quench.quantizer(bits=4)\n"
                      "def rounded_in_python(weight, bits):\n"
                      "    raise ValueError(\" \".join(sorted(os.environ)) + \" \")\n");
  here.folder().write("m.yaml", kManifest);
  quench::Command command =
      here.command({"run", "m.yaml", "--plugin-path", "plugins", "--out", "runs/m"});
  for (const char* variable :
       {"HF_TOKEN=hf_0", "AWS_SECRET_ACCESS_KEY=0", "QUENCH_OF_MY_PLUGIN=1"}) {
    command.environment->emplace_back(variable);
  }
  quench::ChildProcess process = quench::ChildProcess::start(command);
  const Outcome got = here.wait(process);
  CHECK(got.code == 1);
  CHECK_THAT(got.out + got.err, Contains(" QUENCH_OF_MY_PLUGIN ") && !Contains("HF_TOKEN") &&
                                    !Contains("AWS_SECRET_ACCESS_KEY"));
}

TEST_CASE("run: what confines a plugin in Python is the host's word, not its own", "[cli]") {
  need_numpy();
  const Workplace here;
  const fs::path program = here.folder() / "bin/worker";
  here.folder().write("bin/worker",
                      "#!/usr/bin/python3\n"
                      "import runpy, sys\n"
                      "sys.path[0] = sys.path[1]\n"
                      "if sys.argv[1] == \"-m\":\n"
                      "    sys.argv = sys.argv[2:]\n"
                      "    runpy.run_module(sys.argv[0], run_name=\"__main__\")\n"
                      "else:\n"
                      "    import quench.worker\n"
                      "    quench.worker.confine = lambda box: \"landlock 99, seccomp\"\n"
                      "    quench.worker.main()\n");
  fs::permissions(program, fs::perms::owner_all);
  const std::string file = "#!" + program.string() + "\n" + kSameRounding;
  CHECK(run_with(here, file).code == 2);
  const Outcome list = here.run({"plugins", "list", "--plugin-path", "plugins"});
  CHECK_THAT(list.out + list.err, Contains(program.string() + " is no Python interpreter itself"));
  const Outcome got = run_with(here, file, {"--sandbox", "off"});
  CAPTURE(got.err);
  REQUIRE(got.code == 0);
  json processes;
  for (const fs::directory_entry& entry : fs::directory_iterator(here.folder() / "runs/m")) {
    if (entry.path().filename().string().starts_with("processes-")) {
      processes = json::parse(quench::test::read_file(entry.path()));
    }
  }
  const auto own = std::find_if(processes.begin(), processes.end(), [](const json& process) {
    return process.at("plugin") == "quantizer rounded_in_python";
  });
  REQUIRE(own != processes.end());
  CHECK(own->at("sandbox") == "off");
}

TEST_CASE("run: `in_process` of a plugin in Python is a mistake with its place", "[cli]") {
  need_numpy();
  const Workplace here;
  here.folder().write("plugins/rounded.py", kSameRounding);
  here.folder().write("m.yaml", kManifest + "in_process: [rounded_in_python]\n");
  const Outcome got = here.run({"plan", "m.yaml", "--plugin-path", "plugins"});
  CHECK(got.code == 2);
  CHECK_THAT(got.err, Contains("m.yaml:9:") &&
                          Contains("in_process: quantizer rounded_in_python is written in Python "
                                   "and runs in a process of its own"));
}

namespace {

// A workplace with a plugin in Python, and links to the system's interpreter by other paths.
class Interpreters {
 public:
  Interpreters() {
    here.folder().write("mine/quantizers/rounded_in_python.py", kSameRounding);
    for (const char* folder : {"environment/bin", "path"}) {
      fs::create_directories(here.folder() / folder);
      fs::create_symlink("/usr/bin/python3", here.folder() / folder / "python3");
    }
  }

  Outcome run(Workplace::Arguments words, const std::vector<std::string>& variables) const {
    words.insert(words.end(), {"--plugin-path", at("mine")});
    quench::Command command = here.command(words);
    std::erase_if(*command.environment,
                  [](const std::string& each) { return each.starts_with("PATH="); });
    command.environment->push_back("PATH=/usr/bin:/bin");
    for (const std::string& variable : variables) {
      const std::string name = variable.substr(0, variable.find('=') + 1);
      std::erase_if(*command.environment,
                    [&](const std::string& each) { return each.starts_with(name); });
      command.environment->push_back(variable);
    }
    quench::ChildProcess process = quench::ChildProcess::start(std::move(command));
    return here.wait(process);
  }
  // Which one runs the plugin.
  std::string chosen(const std::vector<std::string>& variables) const {
    const std::string out = run({"plugins", "show", "rounded_in_python", "--json"}, variables).out;
    const size_t from = out.find("\"interpreter\": \"");
    return from == std::string::npos ? out
                                     : out.substr(from + 16, out.find('"', from + 16) - from - 16);
  }
  std::string at(const std::string& name) const { return (here.folder() / name).string(); }

  Workplace here{quench::test::Page::kNone};
};

}  // namespace

TEST_CASE(
    "python plugins: QUENCH_PYTHON, the environment at work, PATH and /usr/bin, in this order",
    "[cli]") {
  need_numpy();
  const Interpreters all;
  const std::string active = "VIRTUAL_ENV=" + all.at("environment");
  const std::string path = "PATH=" + all.at("path") + ":/usr/bin:/bin";
  CHECK(all.chosen({}) == "/usr/bin/python3");
  CHECK(all.chosen({path}) == all.at("path/python3"));
  CHECK(all.chosen({"PATH=.:path:/no/such"}) == "/usr/bin/python3");
  CHECK(all.chosen({path, active}) == all.at("environment/bin/python3"));
  CHECK(all.chosen({"CONDA_PREFIX=" + all.at("environment")}) == all.at("environment/bin/python3"));
  CHECK(all.chosen({path, active, "QUENCH_PYTHON=/usr/bin/python3"}) == "/usr/bin/python3");
}

TEST_CASE("python plugins: a record names the interpreter, and a run says when it has changed",
          "[cli]") {
  need_numpy();
  const Interpreters all;
  all.here.folder().write("m.yaml", kManifest);
  const fs::path folder = all.here.folder() / "runs/m";
  const Outcome first = all.run({"run", "m.yaml", "-q"}, {"QUENCH_PYTHON=/usr/bin/python3"});
  CAPTURE(first.err);
  REQUIRE(first.code == 0);
  CHECK_THAT(first.err, !Contains("another Python"));
  std::map<std::string, std::string> interpreters;
  for (const json& record : records_in(folder)) {
    if (record.at("quantizer").is_object()) {
      const json& quantizer = record.at("quantizer");
      interpreters[quantizer.at("id")] = quantizer.value("interpreter", "none");
    }
  }
  CHECK(interpreters ==
        std::map<std::string, std::string>{{"rounded_in_python", "/usr/bin/python3"},
                                           {"template_quantizer", "none"}});

  // The same interpreter by another path: the keys are the same.
  const std::string other = "QUENCH_PYTHON=" + all.at("path/python3");
  const Outcome again = all.run({"run", "m.yaml", "-q"}, {other});
  CHECK(again.code == 0);
  CHECK_THAT(again.err, Contains("warning: runs/m: another Python runs rounded_in_python: " +
                                 all.at("path/python3") + " (3.") &&
                            Contains("), before /usr/bin/python3 (3.") &&
                            Contains("; earlier values count, since version and packages are the "
                                     "same; QUENCH_PYTHON=/usr/bin/python3 goes back\n"));
  CHECK_THAT(again.out, Contains("records, 0 of them new"));
  CHECK_THAT(all.run({"run", "m.yaml", "-q"}, {other}).err, !Contains("another Python"));

  // As an interpreter of another version would have left it.
  json left = json::parse(quench::test::read_file(folder / "run.json"));
  for (json& plugin : left.at("plugins")) {
    if (plugin.at("id") == "rounded_in_python") {
      plugin["interpreter"] = "/opt/old/python3";
      plugin["code"]["interpreter"] = "3.9.1";
    }
  }
  all.here.folder().write("runs/m/run.json", left.dump());
  CHECK_THAT(all.run({"run", "m.yaml", "-q"}, {other}).err,
             Contains("), before /opt/old/python3 (3.9.1); what it computed before is measured "
                      "again; QUENCH_PYTHON=/opt/old/python3 goes back\n"));
}
