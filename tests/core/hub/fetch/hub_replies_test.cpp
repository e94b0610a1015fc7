#include "core/hub/fetch/hub_replies.hpp"

#include <catch2/catch.hpp>

#include "tests/support/throws.hpp"

using Catch::Matchers::StartsWith;
using quench::HubFile;
using quench::test::message_of;

namespace {

const std::string kCommit(40, 'a');
const std::string kSha(64, 'b');

std::vector<HubFile> tree(const std::string& json) {
  std::vector<HubFile> out;
  quench::read_tree(json, "hf://org/name", out);
  return out;
}

quench::HttpHead head(int status, std::map<std::string, std::string> headers) {
  return {status, std::move(headers), std::nullopt};
}

}  // namespace

TEST_CASE("hub replies: branches count before tags", "[fetch]") {
  const std::string other(40, 'c');
  const auto found = quench::read_references(
      R"({"branches":[{"name":"main","ref":"refs/heads/main","targetCommit":")" + kCommit +
          R"("}],"tags":[{"name":"v/1","targetCommit":")" + other +
          R"("},{"name":"main","targetCommit":")" + other + R"("}],"converts":[]})",
      "hf://org/name");
  CHECK(found == std::map<std::string, std::string>{{"main", kCommit}, {"v/1", other}});
}

TEST_CASE("hub replies: a large file has the hash of its content, a small one git's", "[fetch]") {
  const auto found = tree(R"([{"type":"directory","oid":"x","size":0,"path":"sub"},)"
                          R"({"type":"file","oid":")" +
                          kCommit +
                          R"(","size":5,"path":"sub/config.json"},)"
                          R"({"type":"file","oid":")" +
                          kCommit +
                          R"(","size":7000000000,"path":"model.safetensors",)"
                          R"("xetHash":"y","lfs":{"oid":")" +
                          kSha + R"(","size":7000000000,"pointerSize":135}}])");
  REQUIRE(found.size() == 2);
  CHECK(found[0].path == "sub/config.json");
  CHECK(found[0].hash == kCommit);
  CHECK_FALSE(found[0].is_large());
  CHECK(found[1].size == 7'000'000'000);
  CHECK(found[1].hash == kSha);
  CHECK(found[1].is_large());
}

TEST_CASE("hub replies: names and hashes that could leave the cache are refused", "[fetch]") {
  const auto entry = [](const std::string& path, const std::string& oid, const std::string& size) {
    return R"([{"type":"file","path":")" + path + R"(","oid":")" + oid + R"(","size":)" + size +
           "}]";
  };
  const std::string prefix = "hf://org/name: the hub's reply makes no sense: ";
  for (const char* path : {"../x", "/etc/passwd", "a//b", "a/../b", "", "a\\\\b", "a\\u0000b"}) {
    CAPTURE(path);
    CHECK_THAT(message_of([&] { tree(entry(path, kCommit, "1")); }), StartsWith(prefix + "a file"));
  }
  for (const std::string& oid :
       {std::string("../../x"), kCommit + "a", std::string(40, 'A'), kSha}) {
    CAPTURE(oid);
    CHECK(message_of([&] { tree(entry("x", oid, "1")); }) == prefix + "x has no hash");
  }
  for (const char* size : {"-1", "1.5", "\"1\"", "null", "9223372036854775807"}) {
    CAPTURE(size);
    CHECK(message_of([&] { tree(entry("x", kCommit, size)); }) == prefix + "a file without a size");
  }
  for (const char* json : {"{}", "1", "null", "[", "", "\"x\""}) {
    CAPTURE(json);
    CHECK_THAT(message_of([&] { tree(json); }), StartsWith(prefix));
  }
  CHECK(message_of([&] {
          quench::read_references(
              R"({"branches":[{"name":"../x","targetCommit":")" + kCommit + R"("}]})",
              "hf://org/name");
        }) == prefix + "a revision '../x' at commit '" + kCommit + "'");
  CHECK(message_of([&] { quench::read_commit(R"({"sha":"main"})", "hf://org/name"); }) ==
        prefix + "a revision at commit 'main'");
}

TEST_CASE("hub replies: the next page is the one whose relation says so", "[fetch]") {
  CHECK(quench::next_page("") == "");
  CHECK(quench::next_page("<https://h/x?cursor=1>; rel=\"next\"") == "https://h/x?cursor=1");
  CHECK(quench::next_page("<https://h/a>; rel=\"prev\", <https://h/b>; rel=\"next\"") ==
        "https://h/b");
  CHECK(quench::next_page("<https://h/a>; rel=\"prev\"") == "");
  CHECK(quench::next_page("<https://h/a") == "");
}

TEST_CASE("hub replies: a range is what was asked for, or the whole", "[fetch]") {
  CHECK(quench::first_byte(head(200, {}), 10, 100, "f") == 0);
  CHECK(quench::first_byte(head(206, {{"content-range", "bytes 10-99/100"}}), 10, 100, "f") == 10);
  for (const char* range :
       {"bytes 11-99/100", "bytes 10-99/101", "bytes 1-99/100", "", "10-99/100"}) {
    CAPTURE(range);
    CHECK_THROWS_AS(quench::first_byte(head(206, {{"content-range", range}}), 10, 100, "f"),
                    quench::TryAgain);
  }
}

TEST_CASE("hub replies: a file's headers agree with the list of files", "[fetch]") {
  const HubFile file{"m", 100, kSha};
  const auto fault = [&](const std::string& name, const std::string& value) {
    return message_of([&] {
      quench::check_file_head(head(302, {{name, value}}), kCommit, file, "f");
    });
  };
  CHECK(fault("x-repo-commit", kCommit) == "");
  CHECK(fault("x-linked-etag", "\"" + kSha + "\"") == "");
  CHECK(fault("x-linked-etag", "W/\"" + kSha + "\"") == "");
  CHECK(fault("x-linked-size", "100") == "");
  CHECK(fault("x-linked-size", "101") == "f: the server says 101 bytes, the hub lists 100");
  CHECK(fault("x-linked-etag", "\"z\"") == "f: the server has content z, the hub lists " + kSha);
  CHECK(fault("x-repo-commit", "z") == "f: the server has it of commit z, wanted " + kCommit);
}
