// Whatever the bytes: weights of a packed checkpoint, or an Error. The first byte chooses a config,
// the rest is the safetensors file.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/packed/dequantized_source.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/error.hpp"
#include "tests/fuzz/fuzzed_file.hpp"

namespace {

quench::QuantizationConfig config_of(uint8_t choice) {
  constexpr quench::PackedFormat kFormats[] = {
      quench::PackedFormat::kGptq, quench::PackedFormat::kGptqV2, quench::PackedFormat::kAwqGemm,
      quench::PackedFormat::kBitsandbytesInt8, quench::PackedFormat::kCompressedTensors};
  constexpr int64_t kBits[] = {2, 3, 4, 8};
  quench::QuantizationConfig config;
  config.format = kFormats[choice % 5];
  config.bits = config.format == quench::PackedFormat::kAwqGemm ? 4 : kBits[choice / 5 % 4];
  config.group_size = choice / 20 % 2 == 0 ? 4 : -1;
  config.symmetric = choice / 40 % 2 == 0;
  config.varied = choice / 80 % 2 == 0;
  return config;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const quench::fuzz::FuzzedFile file(data + 1, size - 1);
  try {
    const quench::DequantizedSource source(std::make_shared<quench::SafetensorsSource>(file.path()),
                                           config_of(data[0]));
    for (uint64_t i = 0; i < source.count(); ++i) {
      const uint64_t elements = *quench::element_count(source.info(i).shape);
      const uint64_t some = elements < 1000 ? elements : 1000;
      std::vector<char> out(some * quench::dtype_size(source.info(i).dtype));
      source.read(i, 0, some, out.data());
      source.read(i, elements - some, some, out.data());
    }
  } catch (const quench::Error&) {
  }
  try {  // the same bytes as a config
    quench::read_quantization_config(std::string(reinterpret_cast<const char*>(data), size),
                                     "config.json");
  } catch (const quench::Error&) {
  }
  return 0;
}
