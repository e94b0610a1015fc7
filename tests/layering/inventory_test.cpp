// What must stand beside what: tests in targets, plugins with tests and doc blocks, packages in
// lists.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>

#include "tests/layering/source_tree.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;
using quench::test::files_below;
using quench::test::host_files;
using quench::test::plugin_folders;
using quench::test::source;
using quench::test::source_dir;

namespace {

// Lower case, letters and digits alone: "GPT-NeoX" names gpt_neox.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("layering: every test file is in a target", "[layering]") {
  for (const std::string& file : files_below("tests", {"_test.cpp", "_test.c", "_test.sh"})) {
    CAPTURE(file);
    bool listed = false;
    for (fs::path folder = fs::path(file).parent_path(); !listed && folder != "";
         folder = folder.parent_path()) {
      const std::string list = (folder / "CMakeLists.txt").generic_string();
      const std::string name = fs::path(file).lexically_relative(folder).generic_string();
      const std::regex word("(^|[\\s(\"/])" + std::regex_replace(name, std::regex("\\."), "\\.") +
                            "($|[\\s)\"])");
      listed = fs::exists(source_dir() / list) && std::regex_search(source(list), word);
    }
    CHECK(listed);
  }
}

TEST_CASE("layering: a test that cannot test here says so to ctest", "[layering]") {
  for (const std::string& file : files_below("tests", {".cpp", ".hpp"})) {
    if (!file.starts_with("tests/support/") && !file.starts_with("tests/layering/")) {
      CAPTURE(file);
      CHECK(source(file).find("SKIPPED") == std::string::npos);  // skip() prints it
    }
  }
}

TEST_CASE("layering: every plugin has a source named after it that opens with its description",
          "[layering]") {
  for (const auto& plugin : plugin_folders()) {
    CAPTURE(plugin.path());
    const auto sources =
        files_below(plugin.path(), {"/" + plugin.id + ".cpp", "/" + plugin.id + ".c"});
    REQUIRE(sources.size() == 1);
    const std::string text = source(sources[0]);
    const bool comment = text.starts_with("//") || text.starts_with("/*");
    CHECK(comment);
    const std::string description = plain(text.substr(0, text.find("#include")));
    CHECK(description.find(plain(plugin.id)) != std::string::npos);
  }
}

TEST_CASE("layering: every plugin has a test", "[layering]") {
  for (const auto& plugin : plugin_folders()) {
    CAPTURE(plugin.path());
    const auto tests = files_below("tests/plugins/" + plugin.kind, {"_test.cpp"});
    const bool named = std::any_of(tests.begin(), tests.end(), [&](const std::string& test) {
      return test.find(plugin.id) != std::string::npos ||
             source(test).find("[" + plugin.id + "]") != std::string::npos;
    });
    CHECK(named);
  }
}

TEST_CASE("layering: docs/architecture.md has the folders of the host, and no others",
          "[layering]") {
  const std::string page = source("docs/architecture.md");
  for (const quench::test::HostLibrary& library : quench::test::host_libraries()) {
    CAPTURE(library.folder);
    CHECK(page.find("`" + library.folder + "`") != std::string::npos);
  }
  const std::regex place("`((?:core|train|run|cli)(?:/[a-z_]+)+(?:\\.[a-z]+)?)`");
  for (auto it = std::sregex_iterator(page.begin(), page.end(), place);
       it != std::sregex_iterator(); ++it) {
    CAPTURE((*it)[1].str());
    CHECK(fs::exists(source_dir() / (*it)[1].str()));
  }
  CHECK(quench::test::host_libraries().size() > 15);
}

TEST_CASE("layering: the host spells no plugin's id", "[layering]") {
  // Words that are ids and also something else in the host.
  const std::map<std::string, std::string> ordinary = {
      {"text", "the inline form text=FILE of a corpus is part of the command line"},
      {"torch", "a library that plugins link"},
      {"tasks", "what a cluster makes of the shares of a run"},
      {"linear", "the shape of a learning rate's schedule"},
      {"weights", "what checkpoints hold, and a member of records"},
      {"validation_loss", "what the log of a training run calls the loss on held-out text"},
      {"tokens", "a count in checkpoints and records, and the inline form tokens=FILE"},
  };
  for (const auto& plugin : plugin_folders()) {
    if (ordinary.count(plugin.id) > 0) {
      continue;
    }
    for (const std::string& file : host_files({".hpp", ".cpp"})) {
      CAPTURE(file, plugin.id);
      CHECK(source(file).find("\"" + plugin.id + "\"") == std::string::npos);
    }
  }
}

TEST_CASE("layering: every library that CMake looks for is in the list of packages", "[layering]") {
  const std::string packages =
      source("cmake/packages.txt") + source("cmake/development-packages.txt");
  const std::string text = source("cmake/dependencies.cmake");
  const std::regex comment(
      R"((?:find_package|find_path|pkg_check_modules)\([^\n]*\)\s*#\s*([a-z0-9.+-]+))");
  size_t checked = 0;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), comment);
       it != std::sregex_iterator(); ++it, ++checked) {
    const std::string package = (*it)[1];
    CAPTURE(package);
    CHECK(packages.find("\n" + package + "\n") != std::string::npos);
  }
  CHECK(checked >= 10);
}
