#include "core/arithmetic/random_stream.hpp"

#include <array>
#include <charconv>
#include <string>

#include "core/arithmetic/philox.hpp"
#include "core/base/io/sha256.hpp"

namespace quench {

namespace {

// 128 bits that name the stream: half of them are the key, half the upper words of the counter, so
// two streams share a key and a counter only if SHA-256 collides in its first 128 bits.
struct StreamName {
  PhiloxKey key;
  std::array<uint32_t, 2> upper;
};

StreamName name_of(uint64_t seed, const std::string& module, const char* stream) {
  Sha256 hash;
  hash.update_number(seed);
  hash.update_number(module.size());
  hash.update(module);
  hash.update(stream);
  const std::string digest = hash.hex_digest();
  std::array<uint32_t, 4> words{};
  for (size_t i = 0; i < words.size(); ++i) {
    std::from_chars(digest.data() + 8 * i, digest.data() + 8 * i + 8, words[i], 16);
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
