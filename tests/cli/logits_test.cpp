// `quench logits`: what it writes and refuses. The values are compared with the reference's in
// tests/regression.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/safetensors_reader.hpp"

namespace fs = std::filesystem;
using quench::test::Outcome;
using quench::test::SafetensorsFile;
using quench::test::Workplace;

namespace {

// 0, 7, 14, ... below 256.
std::string many_ids(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += (i == 0 ? "" : ",") + std::to_string(i * 7 % 256);
  }
  return out;
}

SafetensorsFile written(const Workplace& here, const std::string& ids, const std::string& dtype) {
  const Outcome got =
      here.run({"logits", "tiny", "--ids", ids, "--dtype", dtype, "-o", "l.safetensors"});
  INFO(got.err);
  REQUIRE(got.code == 0);
  return SafetensorsFile(here.folder() / "l.safetensors");
}

}  // namespace

TEST_CASE("logits: ids and logits are written, as computed, however many rows there are", "[cli]") {
  const Workplace here;
  const SafetensorsFile few = written(here, many_ids(3), "float64");
  CHECK(few.elements<int32_t>("ids") == std::vector<int32_t>{0, 7, 14});
  CHECK(few.shape("logits") == std::vector<int64_t>{3, 256});
  const std::vector<double> first = few.elements<double>("logits");
  CHECK(std::adjacent_find(first.begin(), first.end(), std::not_equal_to<>()) != first.end());
  // Rows are written in pieces; a token sees none that come after it.
  const SafetensorsFile many = written(here, many_ids(600), "float64");
  REQUIRE(many.shape("logits") == std::vector<int64_t>{600, 256});
  const std::vector<double> all = many.elements<double>("logits");
  CHECK(std::equal(first.begin(), first.end(), all.begin()));
  const SafetensorsFile most = written(here, many_ids(520), "float64");
  const std::vector<double> beginning = most.elements<double>("logits");
  CHECK(std::equal(beginning.begin(), beginning.end(), all.begin()));
  const std::vector<float> narrow = written(here, many_ids(3), "float32").elements<float>("logits");
  REQUIRE(narrow.size() == first.size());
  for (size_t i = 0; i < first.size(); ++i) {
    CHECK(narrow[i] == Approx(first[i]).epsilon(1e-5).margin(1e-6));
  }
}

TEST_CASE("logits: --json says what was written", "[cli]") {
  const Workplace here;
  const Outcome got =
      here.run({"logits", "tiny", "--ids", "1,2,3", "-o", "l.safetensors", "--json"});
  REQUIRE(got.code == 0);
  const auto data = quench::test::data_of(got.out);
  CHECK(data.at("family") == "template_model");
  CHECK(data.at("dtype") == "F32");
  CHECK(data.at("shape") == std::vector<int>{3, 256});
}

TEST_CASE("logits: wrong ids are refused in one line, and no file is left", "[cli]") {
  const Workplace here;
  const auto refused = [&](const std::string& ids) {
    const Outcome got = here.run({"logits", "tiny", "--ids", ids, "-o", "l.safetensors"});
    CHECK(got.code == 2);
    CHECK_FALSE(fs::exists(here.folder() / "l.safetensors"));
    return got.err;
  };
  const std::string wanted = ", wanted token ids with commas between them, such as 1,2,3\n";
  CHECK(refused("1,two") == "--ids: got `two` as id 2" + wanted);
  CHECK(refused("1,,2") == "--ids: got `` as id 2" + wanted);
  CHECK(refused("1,2,") == "--ids: got `` as id 3" + wanted);
  CHECK(refused("1,-2") == "--ids: got `-2` as id 2" + wanted);
  CHECK(refused("1,99999999999") == "--ids: got `99999999999` as id 2" + wanted);
  CHECK_THAT(refused("1,256"), Catch::Contains("got the token id 256, wanted 0..255"));
  CHECK_THAT(refused(many_ids(4097)),
             Catch::Contains("--ids: got 4097 ids, wanted at most 4096, the positions of model "
                             "template_model"));
}
