#include "quench/kit/sha256.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace quench::kit {

namespace {

std::string hash_of(const std::string& text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return hash.hex();
}

}  // namespace

TEST_CASE("SHA-256: the examples of FIPS 180-4", "[sdk]") {
  CHECK(hash_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hash_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hash_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hash_of(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256: pieces make the hash of the whole, and it goes on after it was asked",
          "[sdk]") {
  std::string text;
  Sha256 hash;
  for (int i = 0; i < 200; ++i) {
    const std::string piece(static_cast<size_t>(i), static_cast<char>(i));
    hash.add(piece.data(), piece.size());
    text += piece;
    CAPTURE(i);
    REQUIRE(hash.hex() == hash_of(text));
  }
}

}  // namespace quench::kit
