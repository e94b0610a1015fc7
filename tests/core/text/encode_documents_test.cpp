#include "core/text/encode_documents.hpp"

#include <catch2/catch.hpp>

#include "core/error.hpp"
#include "tests/core/text/small_tokenizers.hpp"

namespace quench::text {

TEST_CASE("encode_documents: any number of threads gives the same ids", "[core][text]") {
  const Tokenizer small = test::open(test::byte_level_file({"a b", "c a", "ab ca"}));
  std::vector<std::string> documents;
  for (size_t i = 0; i < 300; ++i) {
    std::string text;
    for (size_t k = 0; k < i; ++k) {
      text += "abc "[(i * k + k * k / 3) % 4];
    }
    documents.push_back(text);
  }
  const auto alone = encode_documents(small, documents, true, 1);
  REQUIRE(alone.size() == documents.size());
  CHECK(alone[299] == small.encode(documents[299], true));
  for (const int threads : {2, 4, 7}) {
    CHECK(encode_documents(small, documents, true, threads) == alone);
  }
  CHECK(encode_documents(small, {}, true, 2).empty());
}

TEST_CASE("encode_documents: the first bad document is the one reported", "[core][text]") {
  const Tokenizer small = test::open(test::byte_level_file({}));
  std::vector<std::string> documents(200, "fine");
  documents[40] = "x\xFF";
  documents[150] = "\xFF";
  for (const int threads : {1, 4}) {
    CHECK_THROWS_WITH(encode_documents(small, documents, false, threads),
                      "document 40: text: byte 1 (0xff) is not valid UTF-8");
  }
}

}  // namespace quench::text
