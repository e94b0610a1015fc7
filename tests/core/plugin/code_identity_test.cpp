#include "core/plugin/catalog/code_identity.hpp"

#include <gnu/libc-version.h>

#include <catch2/catch.hpp>

#include "core/base/io/sha256.hpp"
#include "tests/support/temporary.hpp"

using nlohmann::json;
using quench::code_of_library;
using quench::computing_libraries;
using quench::LinkedLibrary;
using quench::math_library;

namespace {

const std::string kId(40, 'a');
const std::string kHash(64, 'b');

}  // namespace

TEST_CASE("code identity: a library goes by its build id, whatever its file holds beside it",
          "[core][plugin]") {
  CHECK(code_of_library(kId, kHash) == json{{"build_id", kId}});
  CHECK(code_of_library(kId, std::string(64, 'c')) == code_of_library(kId, kHash));
  CHECK(code_of_library(std::string(40, 'c'), kHash) != code_of_library(kId, kHash));
}

TEST_CASE("code identity: a library without a build id goes by its file's SHA-256",
          "[core][plugin]") {
  CHECK(code_of_library("", kHash) == json{{"sha256", kHash}});
  CHECK(code_of_library("1234abcd", kHash) == json{{"sha256", kHash}});  // given by hand, perhaps
}

TEST_CASE("code identity: only libraries that compute are named", "[core][plugin]") {
  std::vector<LinkedLibrary> links;
  for (const char* soname :
       {"ld-linux-x86-64.so.2", "libanl.so.1", "libc.so.6", "libcrypto.so.3", "libcudart.so.13",
        "libcupti.so.13", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libmvec.so.1",
        "libpthread.so.0", "librt.so.1", "libstdc++.so.6", "libutil.so.1", "libz.so.1"}) {
    links.push_back({soname, "/gone", kId});
  }
  CHECK(computing_libraries(links) == json::object());
  links.push_back({"libtorch_cpu.so", "/gone", kId});
  links.push_back({"libmine.so", "/gone", kId});  // what is not known counts
  CHECK(computing_libraries(links) == json{{"libtorch_cpu.so", kId}, {"libmine.so", kId}});
}

TEST_CASE("code identity: another libtorch is another name, a patch of glibc is not",
          "[core][plugin]") {
  const std::vector<LinkedLibrary> before = {{"libtorch_cpu.so", "/t", kId},
                                             {"libm.so.6", "/m", kId}};
  std::vector<LinkedLibrary> after = before;
  after[1].build_id = std::string(40, 'c');
  CHECK(computing_libraries(after) == computing_libraries(before));
  after[0].build_id = std::string(40, 'c');
  CHECK(computing_libraries(after) != computing_libraries(before));
}

TEST_CASE("code identity: a library without a build id is named by its content", "[core][plugin]") {
  const quench::test::TemporaryDir folder;
  const auto path = folder.write("libmine.so", "content");
  CHECK(computing_libraries({{"libmine.so", path, ""}}) ==
        json{{"libmine.so", "sha256:" + quench::sha256_hex("content")}});
}

TEST_CASE("code identity: glibc goes by its version and the form of its functions",
          "[core][plugin]") {
  CHECK(math_library("2.36", true) == "glibc 2.36 fma");
  CHECK(math_library("2.36", false) == "glibc 2.36");
  CHECK(math_library("2.41", true) != math_library("2.36", true));
  CHECK(math_library().starts_with(std::string("glibc ") + gnu_get_libc_version()));
}
