#include "core/plugin/catalog/python_file.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "core/error.hpp"
#include "core/plugin/catalog/check.hpp"
#include "core/plugin/catalog/show.hpp"
#include "tests/core/plugin/python_plugins.hpp"

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using quench::Catalog;
using quench::interpreter_of;
using quench::Placement;
using quench::PluginDescription;
using quench::PythonSetup;
using quench::test::need_numpy;
using quench::test::python_of_tests;
using quench::test::PythonFolder;
using quench::test::quantizer_in_python;
namespace fs = std::filesystem;

namespace {

// A program in a folder of its own, as a person's environment has one.
fs::path link_to_interpreter(PythonFolder& folder, const std::string& name) {
  const fs::path made = folder.path().parent_path() / name;
  fs::create_directories(made.parent_path());
  fs::create_symlink("/usr/bin/python3", made);
  return made;
}

}  // namespace

TEST_CASE("python files: the first line chooses the interpreter, then the environment",
          "[core][plugin]") {
  PythonFolder folder;
  PythonSetup setup = python_of_tests();
  const fs::path plain = folder.add("plain.py", "import quench\n");
  CHECK(interpreter_of(plain, setup) == "/usr/bin/python3");
  const fs::path other = link_to_interpreter(folder, "bin/python3");
  setup.interpreter = other.string();
  CHECK(interpreter_of(plain, setup) == other);
  CHECK(interpreter_of(folder.add("said.py", "#! /usr/bin/python3\n"), setup) ==
        "/usr/bin/python3");
  setup.path = "relative:" + other.parent_path().string() + ":/usr/bin";
  CHECK(interpreter_of(folder.add("env.py", "#!/usr/bin/env python3\n"), setup) == other);
}

TEST_CASE("python files: python3 of PATH comes before that of the system, a script after it",
          "[core][plugin]") {
  PythonFolder folder;
  PythonSetup setup = python_of_tests();
  const fs::path plain = folder.add("plain.py", "import quench\n");
  const fs::path own = link_to_interpreter(folder, "own/python3");
  const fs::path script = folder.path().parent_path() / "shims/python3";
  folder.add("../shims/python3", "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n");
  fs::permissions(script, fs::perms::owner_all);
  const std::string both = script.parent_path().string() + ":" + own.parent_path().string();
  setup.path = own.parent_path().string() + ":/usr/bin";
  CHECK(interpreter_of(plain, setup) == own);
  setup.path = "/usr/bin:" + own.parent_path().string();
  CHECK(interpreter_of(plain, setup) == "/usr/bin/python3");
  setup.path = both;
  CHECK(interpreter_of(plain, setup) == own);
  setup.path = script.parent_path().string();
  CHECK(interpreter_of(plain, setup) == "/usr/bin/python3");
  setup.path = "own:.:/no/such";  // nothing of the working folder
  CHECK(interpreter_of(plain, setup) == "/usr/bin/python3");
  setup.path = both;
  setup.interpreter = script.string();  // the user's word
  CHECK(interpreter_of(plain, setup) == script);
}

TEST_CASE("python files: an interpreter that is not there is named", "[core][plugin]") {
  PythonFolder folder;
  PythonSetup setup = python_of_tests();
  CHECK_THROWS_WITH(interpreter_of(folder.add("a.py", "#!/no/such/python\n"), setup),
                    "its first line: got /no/such/python, wanted the absolute path of a Python "
                    "interpreter");
  CHECK_THROWS_WITH(interpreter_of(folder.add("b.py", "#!/usr/bin/env python0\n"), setup),
                    Contains("its first line: no python0 in "));
  CHECK_THROWS_WITH(interpreter_of(folder.add("c.py", "#!/usr/bin/python3 -u\n"), setup),
                    Contains("got #!/usr/bin/python3 -u, wanted #! and an interpreter without"));
  setup.interpreter = "python3";
  CHECK_THROWS_WITH(interpreter_of(folder.add("d.py", ""), setup),
                    Contains("QUENCH_PYTHON: got python3, wanted the absolute path"));
  setup.package = "/no/such/package";
  CHECK_THROWS_WITH(interpreter_of(folder.add("e.py", ""), setup),
                    Contains("no package `quench` in /no/such/package"));
}

TEST_CASE("python files: an interpreter gets the package, one thread, and no other modules",
          "[core][plugin]") {
  setenv("PYTHONSTARTUP", "/no/such", 1);
  const std::vector<std::string> variables = quench::python_environment(python_of_tests());
  unsetenv("PYTHONSTARTUP");
  const auto has = [&](const std::string& entry) {
    return std::find(variables.begin(), variables.end(), entry) != variables.end();
  };
  CHECK(has("PYTHONPATH=" + python_of_tests().package.string()));
  CHECK(has("OPENBLAS_NUM_THREADS=1"));
  CHECK(has("OMP_NUM_THREADS=1"));
  CHECK_FALSE(has("PYTHONSTARTUP=/no/such"));
}

TEST_CASE("python files: a quantizer of three lines is a plugin that runs apart",
          "[core][plugin]") {
  need_numpy();
  PythonFolder folder;
  const fs::path file = folder.add("quantizers/mine.py", quantizer_in_python("mine"));
  folder.add("_for_others.py", "");
  folder.add("package/__init__.py", quantizer_in_python("in_package"));
  const Catalog catalog = folder.catalog();
  CHECK(catalog.rejected().empty());
  REQUIRE(catalog.items().size() == 1);
  const PluginDescription& mine = catalog.require("quantizer", "mine");
  CHECK(mine.library == fs::canonical(file));
  CHECK(mine.summary == "Rounds every row.");
  CHECK(mine.parameters.at(0).default_value == 4);
  CHECK(mine.instance->needs == 0);
  CHECK(mine.module_id == "python.mine");
  CHECK(mine.interpreter == "/usr/bin/python3");
  CHECK_THAT(mine.build, StartsWith("Python 3."));
  CHECK(mine.links.empty());
  CHECK(mine.code["python file"] == mine.sha256);
  CHECK(mine.code["interpreter"] == mine.build.substr(7));
  CHECK(mine.code["distributions"].contains("numpy"));
  const std::vector<std::string> row = quench::plugins_list(catalog).rows.at(1);
  CHECK(std::vector<std::string>(row.begin(), row.begin() + 3) ==
        std::vector<std::string>{"quantizer", "mine", "0.0.0"});
  CHECK_THAT(
      quench::plugin_show(catalog, "mine"),
      Contains("run by     /usr/bin/python3\n") && Contains("process    own: written in Python\n"));
  CHECK_THAT(quench::plugin_why(catalog, "mine"), Contains("quantizer mine: " + file.string()));
}

TEST_CASE("python files: whatever is said of processes, they run apart", "[core][plugin]") {
  need_numpy();
  PythonFolder folder;
  folder.add("mine.py", quantizer_in_python("mine"));
  Catalog catalog = folder.catalog();
  CHECK(catalog.in_process_fault("mine") ==
        "quantizer mine is written in Python and runs in a process of its own");
  catalog.in_process().command_line = {"mine"};
  const quench::Placed placed = catalog.placed(catalog.require("quantizer", "mine"));
  CHECK(placed.placement == Placement::kOwn);
  CHECK(placed.reason == "written in Python");
  CHECK_THROWS_WITH(catalog.load(catalog.require("quantizer", "mine")),
                    Contains("this program starts none"));
}

TEST_CASE("python files: one that is no plugin is rejected with its line", "[core][plugin]") {
  PythonFolder folder;
  const auto reason_of = [&](const std::string& text) {
    folder.add("bad.py", text);
    const Catalog catalog = folder.catalog();
    CHECK(catalog.items().empty());
    REQUIRE(catalog.rejected().size() == 1);
    CHECK(catalog.rejected()[0].library.filename() == "bad.py");
    return catalog.rejected()[0].reason;
  };
  CHECK_THAT(reason_of("import quench\ndef f(:\n"), Contains("bad.py:2: "));
  CHECK_THAT(reason_of("x = 1\n"), Contains("bad.py: no plugin: no function or class is marked"));
  CHECK_THAT(reason_of("import quench, os\n\n@quench.quantizer(bits=int(os.sep))\n"
                       "def f(weight, bits):\n    return weight\n"),
             Contains("bad.py:3: bits is not literal"));
  CHECK_THAT(reason_of("#!/no/such/python\n"), Contains("its first line: got /no/such/python"));
}

TEST_CASE("python files: what was read is read again when what it stands on changes",
          "[core][plugin]") {
  need_numpy();
  PythonFolder folder;
  folder.add("mine.py", "import _helper\n" + quantizer_in_python("mine"));
  folder.add("_helper.py", "x = 1\n");
  const Catalog first = folder.catalog();
  CHECK(first.probe_count() == 1);
  const nlohmann::json code = first.require("quantizer", "mine").code;
  const Catalog second = folder.catalog();
  CHECK(second.probe_count() == 0);
  CHECK(second.require("quantizer", "mine").code == code);
  CHECK(second.require("quantizer", "mine").interpreter == "/usr/bin/python3");

  SECTION("the file") {
    folder.add("mine.py", "import _helper\n" + quantizer_in_python("mine", 3));
    const Catalog changed = folder.catalog();
    CHECK(changed.probe_count() == 1);
    const PluginDescription& mine = changed.require("quantizer", "mine");
    CHECK(mine.code["python file"] != code["python file"]);
    CHECK(mine.parameters.at(0).default_value == 3);
  }
  SECTION("a file that it imports from its folder") {
    folder.add("_helper.py", "x = 20\n");
    const Catalog changed = folder.catalog();
    CHECK(changed.probe_count() == 1);
    const nlohmann::json now = changed.require("quantizer", "mine").code;
    CHECK(now["beside"] != code["beside"]);
    CHECK(now["python file"] == code["python file"]);
  }
  SECTION("the interpreter") {
    PythonSetup setup = python_of_tests();
    setup.interpreter = link_to_interpreter(folder, "bin/python3").string();
    const Catalog changed = folder.catalog(setup);
    CHECK(changed.probe_count() == 1);
    CHECK(changed.require("quantizer", "mine").interpreter == *setup.interpreter);
  }
}

TEST_CASE("plugins check: a Python file is read, and its marks are judged", "[core][plugin]") {
  need_numpy();
  PythonFolder folder;
  const fs::path file = folder.add("mine.py", quantizer_in_python("mine"));
  const Catalog catalog = folder.catalog();
  const quench::PluginCheck good = quench::plugin_check(catalog, file);
  CHECK(good.passed);
  CHECK_THAT(good.text, Contains("ok      module python.mine 0.0.0") &&
                            Contains("ok      runs in a process of its own: written in Python") &&
                            Contains("remark  was read, not run"));
  const quench::PluginCheck bad =
      quench::plugin_check(catalog, folder.add("_bad.py", "import quench\n("));
  CHECK_FALSE(bad.passed);
  CHECK_THAT(bad.text, Contains("failed  ") && Contains("_bad.py:2: "));
}
