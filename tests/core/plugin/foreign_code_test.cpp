// What a stranger's code can do at first contact, and which interpreters are believed.
#include "core/plugin/catalog/foreign_code.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "core/checkpoint/checkpoint_place.hpp"
#include "core/plugin/catalog/check.hpp"
#include "core/plugin/catalog/worker_start.hpp"
#include "core/plugin/sandbox/sandbox.hpp"
#include "core/plugin/worker/served_plugins.hpp"
#include "quench/abi/kind/format.h"
#include "quench/abi/kind/model.h"
#include "tests/core/plugin/fault_plugins.hpp"
#include "tests/core/plugin/python_plugins.hpp"
#include "tests/support/skip.hpp"

using Catch::Matchers::Contains;
using quench::Catalog;
using quench::CatalogOptions;
using quench::PythonSetup;
using quench::require_confinable;
using quench::Sandbox;
using quench::test::need_numpy;
using quench::test::PluginFolder;
using quench::test::python_of_tests;
using quench::test::PythonFolder;
using quench::test::TemporaryDir;
namespace fs = std::filesystem;

namespace {

// Of EACCES, as the errors of this system are numbered.
constexpr const char* kConfined = "read 13, write 13, socket 13, token not seen";
constexpr const char* kFree = "read 0, write 0, socket 0, token not seen";

void need_sandbox() {
  const quench::SandboxAbilities offered = quench::sandbox_abilities();
  quench::test::skip_unless(offered.landlock_abi > 0 && offered.seccomp,
                            "this kernel has no Landlock or no seccomp");
}

// A variable of this process for as long as the object lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

// What the nosy plugin looks into, and what it must not see.
struct Prey {
  TemporaryDir folder;
  Variable place{"QUENCH_NOSY", folder.path().string()};
  Variable token{"HF_TOKEN", "hf_0"};

  Prey() { folder.write("secret", "42"); }
  bool was_written() const { return fs::exists(folder / "left"); }
};

CatalogOptions options_for(const PluginFolder& folder, Sandbox sandbox) {
  CatalogOptions options = {{folder.path()}, folder.cache(), quench::test::quench_executable(), 20};
  options.sandbox = sandbox;
  return options;
}

// The plugins of a catalog, served by processes of their own.
class Served {
 public:
  explicit Served(const CatalogOptions& options)
      : workers_(options_of(options)), catalog_([&] {
          CatalogOptions with = options;
          with.load_in_worker =
              [this](const quench::PluginDescription& item) -> const quench_item& {
            return workers_.load(item);
          };
          return with;
        }()) {}

  // Score and message of the item `nosy` of a kind.
  template <typename Table, typename... Arguments>
  std::pair<int32_t, std::string> ask(const char* kind, Arguments... arguments) {
    const quench_item& item = catalog_.load(catalog_.require(kind, "nosy"));
    quench_error error{sizeof(quench_error), 0, {}};
    const int32_t score = static_cast<const Table*>(item.table)->probe(arguments..., &error);
    return {score, error.message};
  }

 private:
  static quench::WorkerOptions options_of(const CatalogOptions& options) {
    quench::WorkerOptions out;
    out.self = options.self;
    out.python = options.python;
    return out;
  }

  quench::ServedPlugins workers_;
  Catalog catalog_;
};

// A quantizer's file that a program runs which writes a file beside itself.
struct OwnProgram {
  PythonFolder folder;
  fs::path program = folder.path().parent_path() / "bin/program";
  fs::path file;

  OwnProgram() {
    fs::create_directories(program.parent_path());
    quench::test::TemporaryDir made;
    fs::copy_file(
        made.write("program", "#!/bin/sh\n: > \"$0.ran\"\nexec /usr/bin/python3 \"$@\"\n"),
        program);
    chmod(program.c_str(), 0700);
    file = folder.add("mine.py",
                      "#!" + program.string() + "\n" + quench::test::quantizer_in_python("mine"));
  }
  bool ran() const { return fs::exists(program.string() + ".ran"); }
  void change() const { std::ofstream(program, std::ios::app) << "# another\n"; }
};

}  // namespace

TEST_CASE("foreign code: a library that is probed reads, writes and reaches nothing of its user's",
          "[core][plugin]") {
  need_sandbox();
  const Prey prey;
  PluginFolder folder;
  const fs::path library = folder.add("nosy");
  const Catalog catalog(options_for(folder, Sandbox::kStrict));
  CHECK(catalog.require("corpus", "nosy").summary == kConfined);
  CHECK_FALSE(prey.was_written());
  CHECK(quench::plugin_check(catalog, library).passed);
  CHECK_FALSE(prey.was_written());
}

TEST_CASE("foreign code: a library that is asked reads the files that it is asked about alone",
          "[core][plugin]") {
  need_sandbox();
  const Prey prey;
  PluginFolder folder;
  folder.add("nosy");
  Served served(options_for(folder, Sandbox::kStrict));
  const std::pair<int32_t, std::string> fits = {50, kConfined};
  CHECK(served.ask<quench_model_table>("model", "nosy", uint64_t{4}) == fits);
  const TemporaryDir cache;  // a hub's, whose files are links
  const TemporaryDir place;
  fs::create_symlink(cache.write("blob", "n"), place / "weights");
  const quench::CheckpointPlace files(place.path());
  CHECK(served.ask<quench_format_table>("format", files.get()) == fits);
  CHECK_FALSE(prey.was_written());
}

TEST_CASE("foreign code: without the sandbox a library may do what its user may",
          "[core][plugin]") {
  const Prey prey;
  PluginFolder folder;
  folder.add("nosy");
  const Catalog catalog(options_for(folder, Sandbox::kOff));
  CHECK(catalog.require("corpus", "nosy").summary == kFree);
  CHECK(prey.was_written());
}

TEST_CASE("foreign code: what a library said in the sandbox is asked again without it",
          "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  CHECK(Catalog(options_for(folder, Sandbox::kStrict)).probe_count() == 1);
  CHECK(Catalog(options_for(folder, Sandbox::kStrict)).probe_count() == 0);
  CHECK(Catalog(options_for(folder, Sandbox::kOff)).probe_count() == 1);
  CHECK(Catalog(options_for(folder, Sandbox::kOff)).probe_count() == 0);
  CHECK(Catalog(options_for(folder, Sandbox::kStrict)).probe_count() == 1);
}

TEST_CASE("foreign code: a constructor in the sandbox starts no process", "[core][plugin]") {
  need_sandbox();
  PluginFolder folder;
  folder.add("constructor_forks");
  const Catalog catalog(options_for(folder, Sandbox::kStrict));
  CHECK(catalog.rejected().empty());
  CHECK(catalog.find("corpus", "constructor_forks") != nullptr);
}

TEST_CASE("foreign code: a family in Python that is asked is confined before it is imported",
          "[core][plugin]") {
  need_numpy();
  need_sandbox();
  const Prey prey;
  PythonFolder folder;
  std::string methods;
  for (const char* name : {"open", "parameters", "blocks", "embed", "stage", "logits"}) {
    methods += std::string("    def ") + name + "(self, *given):\n        pass\n";
  }
  folder.add(
      "nosy.py",
      "import os\nimport socket\nimport quench\n\n"
      "def outcome(deed):\n"
      "    try:\n"
      "        deed().close()\n"
      "    except OSError as failure:\n"
      "        return failure.errno\n"
      "    return 0\n\n"
      "told = \"write %d, socket %d, token %s\" % (\n"
      "    outcome(lambda: open(os.environ[\"QUENCH_NOSY\"] + \"/left\", \"w\")),\n"
      "    outcome(socket.socket), \"seen\" if \"HF_TOKEN\" in os.environ else \"not seen\")\n\n"
      "@quench.model(model_types=[\"nosy\"])\n"
      "class Nosy:\n"
      "    def probe(config):\n"
      "        raise quench.Error(quench.UNSUPPORTED, told)\n" +
          methods);
  Served served(folder.catalog().options());
  const std::string config = "{\"model_type\": \"nosy\"}";
  const auto answer =
      served.ask<quench_model_table>("model", config.c_str(), uint64_t{config.size()});
  CHECK_THAT(answer.second, Contains("write 13, socket 13, token not seen"));
  CHECK_FALSE(prey.was_written());
}

TEST_CASE("foreign code: a program that is no interpreter of Python is not run in its place",
          "[core][plugin]") {
  const OwnProgram own;
  const Catalog catalog = own.folder.catalog();
  CHECK(catalog.items().empty());
  REQUIRE(catalog.rejected().size() == 1);
  CHECK(catalog.rejected()[0].reason ==
        "its first line: " + own.program.string() +
            " is no Python interpreter itself, which nothing confines; name one that is installed "
            "elsewhere, choose it yourself as QUENCH_PYTHON, or use --sandbox off");
  const quench::PluginCheck check = quench::plugin_check(catalog, own.file);
  CHECK_FALSE(check.passed);
  CHECK_THAT(check.text, Contains("is no Python interpreter itself"));
  CHECK_FALSE(own.ran());
}

TEST_CASE("foreign code: without the sandbox a program of its own runs a Python file",
          "[core][plugin]") {
  need_numpy();
  const OwnProgram own;
  CatalogOptions options = own.folder.catalog().options();
  options.sandbox = Sandbox::kOff;
  const auto code = [&] { return Catalog(options).require("quantizer", "mine").code; };
  const nlohmann::json before = code();
  CHECK(own.ran());
  CHECK(before.at("program").get<std::string>().size() == 64);
  own.change();
  CHECK(code() != before);             // whatever version it says it is
  options.sandbox = Sandbox::kStrict;  // what is known of the file then says nothing
  CHECK(Catalog(options).items().empty());
}

TEST_CASE("foreign code: interpreters that are installed elsewhere, or chosen, are believed",
          "[core][plugin]") {
  PythonFolder folder;
  PythonSetup setup = python_of_tests();
  setup.path = "/usr/bin:/bin";
  const fs::path file = folder.add("mine.py", "");
  const auto link = [&](const fs::path& made, const fs::path& to = "/usr/bin/python3") {
    fs::create_directories(made.parent_path());
    fs::create_symlink(to, made);
    return made;
  };
  CHECK_NOTHROW(require_confinable("/usr/bin/python3", file, setup));
  const fs::path beside = folder.path().parent_path();
  const fs::path environment = link(beside / "env/bin/python");
  CHECK_NOTHROW(require_confinable(environment, file, setup));
  CHECK_THROWS_WITH(require_confinable(link(beside / "env/bin/python3", "/bin/true"), file, setup),
                    Contains("is no Python interpreter itself"));
  const fs::path carried = link(folder.path() / "env/bin/python");
  CHECK_THROWS_WITH(require_confinable(carried, file, setup),
                    Contains("is an interpreter that lies beside the plugin"));
  setup.path = carried.parent_path().string();
  CHECK_NOTHROW(require_confinable(carried, file, setup));
  setup.path = "/usr/bin";
  setup.interpreter = carried.string();
  CHECK_NOTHROW(require_confinable(carried, file, setup));
}

TEST_CASE("foreign code: who may read all files reads nothing of /proc but its own",
          "[core][plugin]") {
  const auto box = quench::worker_sandbox("/plugins/mine.so", "", "/prefix/bin/quench", {"/"});
  const auto readable = box.at("readable").get<std::vector<std::string>>();
  const auto has = [&](const char* path) {
    return std::find(readable.begin(), readable.end(), path) != readable.end();
  };
  CHECK(has("/plugins"));
  CHECK(has("/prefix"));
  CHECK(has("/usr"));
  CHECK_FALSE(has("/"));
  CHECK_FALSE(has("/proc"));
}

TEST_CASE("foreign code: a path of the loader that leads to the user's home opens nothing",
          "[core][plugin]") {
  const TemporaryDir place;
  const fs::path home = fs::canonical(place.path()) / "home/me";
  const fs::path libraries = fs::canonical(place.path()) / "lib";
  fs::create_directories(home / "lib");
  fs::create_directories(libraries);
  const Variable me("HOME", home.string());
  using Folders = std::vector<fs::path>;
  const auto readable = [](const std::string& path) {
    const Variable loader("LD_LIBRARY_PATH", path);
    return quench::readable_loader_folders();
  };
  CHECK(readable(libraries.string()) == Folders{libraries});
  CHECK(readable((home / "lib").string()) == Folders{home / "lib"});
  CHECK(readable(libraries.string() + ";" + (home / "lib").string()) ==
        Folders{libraries, home / "lib"});  // the linker splits there, too
  CHECK(readable("/:" + libraries.string()) == Folders{libraries});
  CHECK(readable(libraries.string() + ":" + home.string() + "/") == Folders{libraries});
  CHECK(readable(home.parent_path().string() + "/../home").empty());
  fs::create_symlink(home, libraries / "link");
  CHECK(readable((libraries / "link").string()).empty());
  CHECK(readable("").empty());
}

TEST_CASE("foreign code: variables of a list reach it, and no secret", "[core][plugin]") {
  const Variable secrets[] = {
      {"HF_TOKEN", "a"},      {"HUGGING_FACE_HUB_TOKEN", "b"}, {"AWS_SECRET_ACCESS_KEY", "c"},
      {"WANDB_API_KEY", "d"}, {"SSH_AUTH_SOCK", "e"},          {"MY_UNHEARD_OF", "f"}};
  const Variable passed[] = {{"OMP_WAIT_POLICY", "passive"},
                             {"LC_PAPER", "C"},
                             {"CUDA_VISIBLE_DEVICES", "0"},
                             {"QUENCH_OF_MY_PLUGIN", "1"}};
  const Variable loader[] = {{"LD_LIBRARY_PATH", "/no/such"}, {"LD_AUDIT", "/no/such.so"}};
  const Variable pinned("OMP_PROC_BIND", "true");
  const auto names = [](const std::vector<std::string>& variables) {
    std::vector<std::string> out;
    for (const std::string& entry : variables) {
      out.push_back(entry.substr(0, entry.find('=')));
    }
    return out;
  };
  const std::vector<std::string> worker = names(quench::foreign_environment());
  const std::vector<std::string> probe = names(quench::probe_environment());
  const auto has = [](const std::vector<std::string>& in, const char* name) {
    return std::find(in.begin(), in.end(), name) != in.end();
  };
  for (const std::vector<std::string>* of : {&worker, &probe}) {
    for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AWS_SECRET_ACCESS_KEY",
                             "WANDB_API_KEY", "SSH_AUTH_SOCK", "MY_UNHEARD_OF", "OMP_PROC_BIND"}) {
      CAPTURE(name);
      CHECK_FALSE(has(*of, name));
    }
    for (const char* name :
         {"PATH", "OMP_WAIT_POLICY", "LC_PAPER", "CUDA_VISIBLE_DEVICES", "QUENCH_OF_MY_PLUGIN"}) {
      CAPTURE(name);
      CHECK(has(*of, name));
    }
  }
  CHECK(has(worker, "LD_LIBRARY_PATH"));
  CHECK(has(probe, "LD_LIBRARY_PATH"));
  CHECK_FALSE(has(worker, "LD_AUDIT"));
  CHECK(has(probe, "LD_AUDIT"));
}
