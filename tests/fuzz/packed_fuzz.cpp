// Whatever the bytes: weights of a packed checkpoint, or an Error. The input, up to the first 0xFF
// byte, is a config.json; what follows is the safetensors file.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/packed/dequantized_source.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/error.hpp"
#include "tests/fuzz/fuzzed_file.hpp"

namespace {

void read_all(const quench::TensorSource& source) {
  for (uint64_t i = 0; i < source.count(); ++i) {
    const uint64_t elements = *quench::element_count(source.info(i).shape);
    const uint64_t some = elements < 1000 ? elements : 1000;
    std::vector<char> out(some * quench::dtype_size(source.info(i).dtype));
    source.read(i, 0, some, out.data());
    source.read(i, elements - some, some, out.data());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t cut = input.find('\xFF');
  try {
    const std::optional<quench::QuantizationConfig> config =
        quench::read_quantization_config(std::string(input.substr(0, cut)), "config.json");
    if (config && cut != std::string_view::npos) {
      const quench::fuzz::FuzzedFile file(data + cut + 1, size - cut - 1);
      read_all(quench::DequantizedSource(std::make_shared<quench::SafetensorsSource>(file.path()),
                                         *config));
    }
  } catch (const quench::Error&) {
  }
  return 0;
}
