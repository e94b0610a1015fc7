#include "core/base/io/tensor_memory.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <memory>

namespace {

struct Release {
  void operator()(void* memory) const { quench::release_tensor_memory(memory); }
};
using Memory = std::unique_ptr<void, Release>;

}  // namespace

TEST_CASE("Tensor memory is aligned and writable to its last byte", "[io]") {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{65}, (size_t{2} << 20) - 1,
                             size_t{2} << 20, (size_t{9} << 20) + 13}) {
    INFO(bytes << " bytes");
    const Memory memory(quench::allocate_tensor_memory(bytes));
    REQUIRE(memory != nullptr);
    CHECK(reinterpret_cast<uintptr_t>(memory.get()) % 64 == 0);
    std::memset(memory.get(), 7, bytes);
  }
}

TEST_CASE("Tensor memory beyond the address space is refused", "[io]") {
  CHECK(quench::allocate_tensor_memory(SIZE_MAX) == nullptr);
  CHECK(quench::allocate_tensor_memory(SIZE_MAX / 2) == nullptr);
}
