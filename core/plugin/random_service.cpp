// quench.random/1: which stream of Philox belongs to a seed, a module and a name.
#include <openssl/sha.h>

#include <array>
#include <cstring>
#include <string>

#include "core/plugin/philox.hpp"
#include "core/plugin/service_tables.hpp"

namespace quench {

namespace {

void append_number(std::string& text, uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) {
    text += static_cast<char>(value >> shift & 0xFF);
  }
}

// 128 bits that name the stream: half of them are the key, half the upper words of the counter, so
// two streams share a key and a counter only if SHA-256 collides in its first 128 bits.
struct StreamName {
  PhiloxKey key;
  std::array<uint32_t, 2> upper;
};

StreamName name_of(uint64_t seed, const std::string& module, const char* stream) {
  std::string text;
  append_number(text, seed);
  append_number(text, module.size());
  text += module;
  text += stream;
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < 16; ++i) {  // least significant byte first, on every machine
    words[i / 4] |= static_cast<uint32_t>(digest[i]) << (8 * (i % 4));
  }
  return {{words[0], words[1]}, {words[2], words[3]}};
}

}  // namespace

void random_uniform(uint64_t seed, const std::string& module, const char* stream, uint64_t counter,
                    uint64_t count, uint64_t* values) {
  const StreamName name = name_of(seed, module, stream);
  for (uint64_t i = 0; i < count;) {
    const uint64_t position = counter + i;
    const uint64_t block = position / 2;  // two 64-bit numbers a block
    const PhiloxCounter words =
        philox4x32({static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), name.upper[0],
                    name.upper[1]},
                   name.key);
    for (uint64_t half = position % 2; half < 2 && i < count; ++half, ++i) {
      values[i] = words[2 * half] | static_cast<uint64_t>(words[2 * half + 1]) << 32;
    }
  }
}

}  // namespace quench
