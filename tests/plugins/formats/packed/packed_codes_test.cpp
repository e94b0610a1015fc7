#include "formats/packed/packed_codes.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "formats/gptq_layout/gptq_zeros.hpp"
#include "tests/plugins/formats/messages.hpp"

namespace quench::test {

using namespace formats;

namespace {

std::vector<uint8_t> some_codes(uint64_t count, int64_t bits) {
  std::vector<uint8_t> codes(count);
  uint32_t state = 12345;
  for (uint8_t& code : codes) {
    state = state * 1664525U + 1013904223U;
    code = static_cast<uint8_t>((state >> 24) & ((1U << bits) - 1));
  }
  return codes;
}

}  // namespace

TEST_CASE("packed codes: come back as they were packed, in every layout", "[formats][packed]") {
  const auto order = GENERATE(CodeOrder::kStream, CodeOrder::kPadded, CodeOrder::kAwq);
  const int64_t bits = order == CodeOrder::kAwq ? 4 : GENERATE(range<int64_t>(2, 9));
  const uint64_t count = order == CodeOrder::kAwq ? 64 : GENERATE(1, 31, 32, 96, 101);
  CAPTURE(bits, count);
  constexpr uint64_t kStride = 3;
  const std::vector<uint8_t> codes = some_codes(count, bits);
  std::vector<uint32_t> words(words_for(count, bits, order) * kStride, 0xDEADBEEF);
  pack_codes(codes.data(), 1, count, bits, order, words.data(), kStride);
  CHECK(words[1] == 0xDEADBEEF);  // what lies between is left alone
  std::vector<uint8_t> back(count);
  unpack_codes(words.data(), kStride, count, bits, order, back.data(), 1);
  CHECK(back == codes);
}

TEST_CASE("packed codes: words have the layouts that were published", "[formats][packed]") {
  const std::vector<uint8_t> codes = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<uint32_t> word(1);
  pack_codes(codes.data(), 1, 8, 4, CodeOrder::kStream, word.data(), 1);
  CHECK(word[0] == 0x76543210U);
  pack_codes(codes.data(), 1, 8, 4, CodeOrder::kAwq, word.data(), 1);
  CHECK(word[0] == 0x75316420U);
  pack_codes(codes.data(), 1, 8, 3, CodeOrder::kPadded, word.data(), 1);
  CHECK(word[0] == 076543210U);
  CHECK(words_for(11, 3, CodeOrder::kPadded) == 2);
  CHECK(words_for(32, 3, CodeOrder::kStream) == 3);
}

TEST_CASE("gptq zeros: three bits decode to 4 however the writer stored them",
          "[formats][packed]") {
  GptqConfig config;
  config.scheme.bits = 3;
  std::vector<uint8_t> zeros(32);
  // Words that GPTQModel 7.7.0 and 4.2.5 wrote for a symmetric grid.
  const std::vector<uint32_t> documented = {0xDB6DB6DB, 0xB6DB6DB6, 0x6DB6DB6D};
  const std::vector<uint32_t> reversed = {0x00000000, 0xB6DB6DB7, 0x49249249};
  const std::vector<uint8_t> fours(32, 4);
  for (const auto how : {ThreeBitZeros::kAsDocumented, ThreeBitZeros::kConstantsReversed}) {
    config.three_bit_zeros = how;
    decode_gptq_zeros(documented, config, 3, 0, zeros, "w");
    CHECK(zeros == fours);
    decode_gptq_zeros(reversed, config, 3, 0, zeros, "w");
    CHECK(zeros == fours);
  }
  config.scheme.symmetric = false;  // then only the version tells
  config.three_bit_zeros = ThreeBitZeros::kAsDocumented;
  decode_gptq_zeros(reversed, config, 3, 0, zeros, "w");
  CHECK(zeros != fours);
}

TEST_CASE("gptq zeros: a symmetric grid has its middle, whichever version's zeros the file holds",
          "[formats][packed]") {
  const int64_t bits = GENERATE(2, 3, 4, 8);
  const bool named_less_one = GENERATE(true, false);
  const bool less_one = GENERATE(true, false);
  CAPTURE(bits, named_less_one, less_one);
  const std::vector<uint8_t> middle(64, static_cast<uint8_t>(1U << (bits - 1)));
  std::vector<uint32_t> words(words_for(64, bits, CodeOrder::kStream));
  encode_gptq_zeros(middle, less_one, bits, words.data());
  GptqConfig config;
  config.less_one = named_less_one;
  std::vector<uint8_t> back(64);
  decode_gptq_zeros(words, config, bits, 0, back, "w");
  CHECK(back == middle);
  config.varied = true;  // modules may then have grids of their own: the name decides
  decode_gptq_zeros(words, config, bits, 0, back, "w");
  CHECK((back == middle) == (named_less_one == less_one));
}

TEST_CASE("gptq zeros: a symmetric grid without its middle is refused by name",
          "[formats][packed]") {
  const int64_t bits = GENERATE(2, 3, 4, 8);
  const bool less_one = GENERATE(true, false);
  std::vector<uint8_t> zeros(64, static_cast<uint8_t>(1U << (bits - 1)));
  zeros.back() = 1;
  std::vector<uint32_t> words(words_for(64, bits, CodeOrder::kStream));
  encode_gptq_zeros(zeros, less_one, bits, words.data());
  GptqConfig config;
  config.less_one = less_one;
  CHECK(
      format_message_of([&] { decode_gptq_zeros(words, config, bits, 0, zeros, "linear 'm'"); }) ==
      fmt::format("linear 'm': qzeros of {} bits do not decode to {}, the zero of a symmetric "
                  "grid, in any known way",
                  bits, 1 << (bits - 1)));
}

TEST_CASE("gptq zeros: come back as they were written", "[formats][packed]") {
  const int64_t bits = GENERATE(2, 3, 4, 8);
  const bool less_one = GENERATE(true, false);
  std::vector<uint8_t> zeros = some_codes(64, bits);
  for (uint8_t& zero : zeros) {
    zero = std::max<uint8_t>(zero, 1);
  }
  std::vector<uint32_t> words(words_for(64, bits, CodeOrder::kStream));
  encode_gptq_zeros(zeros, less_one, bits, words.data());
  GptqConfig config;
  config.less_one = less_one;
  config.scheme.symmetric = false;
  std::vector<uint8_t> back(64);
  decode_gptq_zeros(words, config, bits, 0, back, "w");
  CHECK(back == zeros);
}

}  // namespace quench::test
