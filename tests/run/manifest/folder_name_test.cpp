#include "run/manifest/folder_name.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <vector>

using quench::folder_name;

TEST_CASE("folder_name: readable where it can be", "[core][run]") {
  CHECK(folder_name("step600") == "step600");
  CHECK(folder_name("lawa window=5 at decay/step1200") == "lawa+window=5+at+decay%2Fstep1200");
  CHECK(folder_name("gptq_v2 bits=4, group_size=128") == "gptq_v2+bits=4,+group_size=128");
  CHECK(folder_name("..") == "%2E.");
  CHECK(folder_name("") == "%");
  CHECK(folder_name("a\nb\x1b") == "a%0Ab%1B");
}

TEST_CASE("folder_name: different names have different folders, each one folder of one name",
          "[core][run]") {
  std::vector<std::string> names = {"a b",
                                    "a_b",
                                    "a/b",
                                    "a:b",
                                    "a+b",
                                    "a%20b",
                                    "a%2Bb",
                                    "a%b",
                                    "",
                                    "%",
                                    ".",
                                    "..",
                                    "%2E",
                                    "./a",
                                    "a/.",
                                    "a",
                                    "a\\b",
                                    "A",
                                    "~",
                                    "%7E",
                                    "\xc3\xa4",
                                    "\xff",
                                    std::string("a\0b", 3),
                                    "ab",
                                    " ",
                                    "+",
                                    " a",
                                    "a ",
                                    "job~1",
                                    quench::folder_of_job("", 1).string()};
  for (const size_t length : {199, 200, 201, 254, 255, 256, 5000}) {
    names.push_back(std::string(length, 'x'));
    names.push_back(std::string(length, 'x') + "y");
    names.push_back(std::string(length, '\n'));
  }
  names.push_back(folder_name(std::string(5000, 'x')));
  std::map<std::string, std::string> seen;
  for (const std::string& name : names) {
    const std::string folder = folder_name(name);
    INFO(name << " -> " << folder);
    CHECK(folder.size() <= 200);
    CHECK(std::filesystem::path(folder).filename() == folder);
    CHECK((folder != "." && folder != ".."));
    CHECK(folder != quench::folder_of_job("", 1).string());
    const auto [there, fresh] = seen.emplace(folder, name);
    CHECK((fresh || there->second == name));
  }
}
