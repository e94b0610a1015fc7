// Whatever the bytes: a checkpoint whose tensors can be read, or a kit::Error; and no byte is asked
// for that the input does not have.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "formats/gguf/checkpoint.hpp"
#include "quench/kit/scalar.hpp"

namespace {

using quench::gguf::Bytes;
using quench::gguf::Checkpoint;

class Input final : public Bytes {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  const std::string& name() const override { return name_; }
  uint64_t size() const override { return size_; }
  void read(uint64_t offset, uint64_t count, void* destination) const override {
    if (offset > size_ || count > size_ - offset) {
      std::abort();
    }
    std::memcpy(destination, data_ + offset, count);
  }

 private:
  std::string name_ = "fuzz";
  const uint8_t* data_;
  uint64_t size_;
};

// The first and the last elements of each tensor.
void read_ends(const Checkpoint& checkpoint) {
  for (uint64_t i = 0; i < checkpoint.tensors().size(); ++i) {
    uint64_t elements = 1;
    for (const int64_t size : checkpoint.tensors()[i].shape) {
      elements *= static_cast<uint64_t>(size);
    }
    const uint64_t some = elements < 1000 ? elements : 1000;
    std::vector<char> out(
        some * static_cast<uint64_t>(quench::kit::bytes_of(checkpoint.tensors()[i].dtype)));
    checkpoint.read_elements(i, 0, some, out.data());
    checkpoint.read_elements(i, elements - some, some, out.data());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    read_ends(Checkpoint(std::make_unique<Input>(data, size)));
  } catch (const quench::kit::Error&) {
  }
  return 0;
}
