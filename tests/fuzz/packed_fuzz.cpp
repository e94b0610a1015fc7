// Whatever the bytes: weights of a packed checkpoint, or an Error. The input, up to the first 0xFF
// byte, is a config.json; what follows is the safetensors file.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "tests/fuzz/fuzzed_file.hpp"
#include "tests/fuzz/packed_place.hpp"

namespace {

bool read_all(const quench_source& tensors) {
  quench_error error{sizeof(quench_error), 0, {}};
  for (uint64_t i = 0; i < tensors.count(&tensors); ++i) {
    quench_tensor_info info{};
    info.struct_size = sizeof info;
    if (tensors.info(&tensors, i, &info, &error) != QUENCH_OK) {
      return false;
    }
    const std::vector<int64_t> shape(info.shape, info.shape + info.dimensions);
    const uint64_t elements = quench::element_count(shape).value();
    const uint64_t some = elements < 1000 ? elements : 1000;
    std::vector<char> out(some * quench::dtype_size(info.dtype));
    for (const uint64_t first : {uint64_t{0}, elements - some}) {
      if (some > 0 && tensors.read(&tensors, i, first, some, out.data(), &error) != QUENCH_OK) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find('\xFF');
  if (cut == std::string_view::npos) {
    return 0;
  }
  try {
    const quench::fuzz::FuzzedFile file(data + cut + 1, size - cut - 1);
    const quench::fuzz::PackedPlace place(std::string(input.substr(0, cut)), file.path());
    for (const quench_item* item : quench::fuzz::packed_formats()) {
      const auto& table = *static_cast<const quench_format_table*>(item->table);
      quench_error error{sizeof(quench_error), 0, {}};
      quench_checkpoint* checkpoint = nullptr;
      const int32_t score = table.probe(place.get(), &error);
      if (score < 0 || score > 100) {
        std::abort();
      }
      if (table.open(place.get(), "{}", 2, &checkpoint, &error) != QUENCH_OK) {
        continue;
      }
      quench_checkpoint_contents contents{};
      contents.struct_size = sizeof contents;
      if (table.contents(checkpoint, &contents, &error) != QUENCH_OK) {
        std::abort();
      }
      read_all(*contents.tensors);
      table.close(checkpoint);
    }
  } catch (const quench::Error&) {
  }
  return 0;
}
