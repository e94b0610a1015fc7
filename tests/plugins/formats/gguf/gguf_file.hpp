// Writes GGUF files piece by piece, also wrong ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace quench::test {

// Numbers of tensor types.
enum GgufType : uint32_t { kGgufF32 = 0, kGgufF16 = 1, kGgufQ8 = 8, kGgufIq2 = 16, kGgufBf16 = 30 };

class GgufFile {
 public:
  // What a well-formed file has; a test changes one of them.
  std::string magic = "GGUF";
  uint32_t version = 3;
  uint64_t alignment = 32;  // of the data; add the key yourself where it is not 32

  template <typename T>
  static std::string bytes_of(T value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    std::string out(sizeof value, '\0');
    std::memcpy(out.data(), &value, sizeof value);
    return out;
  }
  static std::string text_bytes(std::string_view text) {
    return bytes_of(uint64_t{text.size()}) + std::string(text);
  }

  // A pair whose type and value are bytes of the test's own.
  void pair(std::string_view key, uint32_t type, const std::string& value) {
    pairs_ += text_bytes(key) + bytes_of(type) + value;
    ++pair_count_;
  }
  void add(std::string_view key, uint32_t value) { pair(key, 4, bytes_of(value)); }
  void add(std::string_view key, float value) { pair(key, 6, bytes_of(value)); }
  void add(std::string_view key, bool value) { pair(key, 7, bytes_of(uint8_t{value})); }
  void add(std::string_view key, const char* value) { pair(key, 8, text_bytes(value)); }
  void add(std::string_view key, const std::vector<float>& values) {
    std::string bytes = bytes_of(uint32_t{6}) + bytes_of(uint64_t{values.size()});
    for (const float value : values) {
      bytes += bytes_of(value);
    }
    pair(key, 9, bytes);
  }

  // `shape` in C order. The data follows that of the tensor before, aligned.
  void tensor(std::string_view name, const std::vector<uint64_t>& shape, uint32_t type,
              const std::string& data) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment);
    tensor_at(name, shape, type, data_.size());
    data_ += data;
  }
  // An entry that says that its data is at `offset`.
  void tensor_at(std::string_view name, const std::vector<uint64_t>& shape, uint32_t type,
                 uint64_t offset) {
    tensors_ += text_bytes(name) + bytes_of(static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i-- > 0;) {
      tensors_ += bytes_of(shape[i]);
    }
    tensors_ += bytes_of(type) + bytes_of(offset);
    ++tensor_count_;
  }

  std::string bytes() const { return bytes(tensor_count_, pair_count_); }
  // With other counts than there are.
  std::string bytes(uint64_t tensor_count, uint64_t pair_count) const {
    std::string out = magic + bytes_of(version) + bytes_of(tensor_count) + bytes_of(pair_count) +
                      pairs_ + tensors_;
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    return out + data_;
  }

 private:
  std::string pairs_;
  std::string tensors_;
  std::string data_;
  uint64_t pair_count_ = 0;
  uint64_t tensor_count_ = 0;
};

// The metadata of a llama of one block, width 8, two heads of 4, one key head, without tensors.
GgufFile small_llama();

}  // namespace quench::test
