// What every format must do, whatever its layout.
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "quench/abi/kind/format.h"
#include "tests/contract/made_place.hpp"
#include "tests/contract/tensors.hpp"
#include "tests/support/plugin_library.hpp"

namespace quench::test {

namespace {

constexpr int64_t kOut = 64;
constexpr int64_t kIn = 96;
constexpr const char* kModule = "block.0.m";

// A linear of made-up codes.
struct Linear {
  std::vector<uint8_t> codes;
  std::vector<double> scales;
  std::vector<double> zeros;
  std::vector<int32_t> g_idx;
  int64_t groups;
  int64_t bits;

  explicit Linear(const quench_code_scheme& scheme)
      : groups(scheme.group_size == -1 ? 1 : kIn / scheme.group_size), bits(scheme.bits) {
    uint32_t state = 5;
    const auto next = [&](uint32_t below) {
      state = state * 1664525U + 1013904223U;
      return (state >> 8) % below;
    };
    const uint32_t levels = 1U << bits;
    for (int64_t i = 0; i < kOut * kIn; ++i) {
      codes.push_back(static_cast<uint8_t>(next(levels)));
    }
    for (int64_t i = 0; i < kOut * groups; ++i) {
      scales.push_back(0.001 + 1e-5 * next(1000));
      zeros.push_back(scheme.symmetric != 0 ? levels / 2 : next(levels));
    }
    for (int64_t c = 0; c < kIn; ++c) {
      g_idx.push_back(static_cast<int32_t>(c * groups / kIn));
    }
  }
  quench_coded_linear view() const {
    return {sizeof(quench_coded_linear),
            kModule,
            kOut,
            kIn,
            groups,
            bits,
            codes.data(),
            scales.data(),
            zeros.data(),
            g_idx.data()};
  }
  std::vector<float> weight() const {
    std::vector<float> out;
    for (size_t i = 0; i < codes.size(); ++i) {
      const size_t group = i / static_cast<size_t>(kIn) * static_cast<size_t>(groups) +
                           static_cast<size_t>(g_idx[i % static_cast<size_t>(kIn)]);
      out.push_back(static_cast<float>(scales[group] * (codes[i] - zeros[group])));
    }
    return out;
  }
};

// What a writer puts into a folder.
struct Folder {
  struct Tensor {
    quench_dtype dtype;
    std::vector<int64_t> shape;
    std::string bytes;
  };
  std::map<std::string, Tensor> tensors;
  std::string config;
  std::map<std::string, std::string> files;

  static Folder& self(void* context) { return *static_cast<Folder*>(context); }
  quench_format_sink sink() {
    return {sizeof(quench_format_sink),
            this,
            [](void* context, const char* name, quench_dtype dtype, int32_t dimensions,
               const int64_t* shape, const void* data, quench_error*) noexcept -> quench_status {
              Tensor tensor{dtype, {shape, shape + dimensions}, ""};
              size_t bytes = dtype.bits / 8;
              for (const int64_t side : tensor.shape) {
                bytes *= static_cast<size_t>(side);
              }
              tensor.bytes.assign(static_cast<const char*>(data), bytes);
              return self(context).tensors.emplace(name, tensor).second ? QUENCH_OK
                                                                        : QUENCH_INVALID_ARGUMENT;
            },
            [](void* context, const char* name, quench_error*) noexcept -> quench_status {
              return self(context).tensors.erase(name) == 1 ? QUENCH_OK : QUENCH_NOT_FOUND;
            },
            [](void* context, const char* json, uint64_t bytes,
               quench_error*) noexcept -> quench_status {
              self(context).config.assign(json, bytes);
              return QUENCH_OK;
            },
            [](void* context, const char* name, const void* data, uint64_t bytes,
               quench_error*) noexcept -> quench_status {
              self(context).files[name].assign(static_cast<const char*>(data), bytes);
              return QUENCH_OK;
            },
            [](void*, const char* json, uint64_t bytes, quench_error*) noexcept -> quench_status {
              return nlohmann::json::parse(std::string(json, bytes)).is_object()
                         ? QUENCH_OK
                         : QUENCH_INVALID_ARGUMENT;
            }};
  }
};

template <typename Check>
void for_each_format(Check check) {
  for (const quench_item* item : items_of(FORMAT_LIBRARIES, "format")) {
    DYNAMIC_SECTION(item->id) {
      check(*item, table_of<quench_format_table>(*item));
    }
  }
}

bool fits(const quench_item& item, const quench_code_scheme& scheme) {
  quench_error error{sizeof error, 0, {}};
  const std::string json = complete_parameters(item, {});
  const auto& table = table_of<quench_format_table>(item);
  const quench_status status = table.fits(json.data(), json.size(), &scheme, kOut, kIn, &error);
  INFO(error.message);
  CHECK((status == QUENCH_OK || status == QUENCH_UNSUPPORTED));
  CHECK((status == QUENCH_OK || error.message[0] != '\0'));
  return status == QUENCH_OK;
}

// One linear written; the weight that the file is said to hold.
std::vector<float> write(const quench_item& item, const Linear& linear, Folder& folder) {
  const auto& table = table_of<quench_format_table>(item);
  const std::string json = complete_parameters(item, {});
  quench_error error{sizeof error, 0, {}};
  quench_format_writer* writer = nullptr;
  REQUIRE(table.begin(json.data(), json.size(), &writer, &error) == QUENCH_OK);
  const quench_format_sink sink = folder.sink();
  const quench_coded_linear view = linear.view();
  std::vector<float> weight = linear.weight();
  quench_stored_linear stored{sizeof stored, 0, 0, 0};
  const quench_status status = table.store(writer, &view, &sink, weight.data(), &stored, &error);
  INFO(error.message);
  REQUIRE(status == QUENCH_OK);
  CHECK(stored.rounded_scales <= stored.scales);
  const char* heads[] = {"lm_head"};
  const quench_float_linears left{sizeof left, 0, nullptr, 1, heads};
  const quench_status finished = table.finish(writer, &left, &sink, &error);
  INFO(error.message);
  REQUIRE(finished == QUENCH_OK);
  table.end(writer);
  return weight;
}

std::vector<float> read(const quench_source& tensors, uint64_t index, uint64_t first,
                        uint64_t elements) {
  std::vector<float> out(elements);
  quench_error error{sizeof error, 0, {}};
  const quench_status status = tensors.read(&tensors, index, first, elements, out.data(), &error);
  INFO(error.message);
  REQUIRE(status == QUENCH_OK);
  return out;
}

}  // namespace

TEST_CASE("every format that reads leaves places alone that are not its own",
          "[contract][formats]") {
  for_each_format([](const quench_item&, const quench_format_table& table) {
    if (table.probe == nullptr) {
      return;
    }
    MemorySource tensors;
    tensors.add("w", {2}, std::vector<double>{1, 2}, kit::kFloat32);
    for (const char* config :
         {"", "{}", R"({"model_type": "x"})", "[]", "{", R"({"quantization_config": 3})",
          R"({"quantization_config": {"quant_method": "unheard-of"}})"}) {
      CAPTURE(config);
      MadePlace place(config);
      place.add_file("model.safetensors", "");
      place.set_tensors(tensors);
      quench_error error{sizeof error, 0, {}};
      CHECK(table.probe(place.get(), &error) == 0);
    }
  });
}

TEST_CASE("every format that reads fails on an empty place, with a message",
          "[contract][formats]") {
  for_each_format([](const quench_item& item, const quench_format_table& table) {
    if (table.open == nullptr) {
      return;
    }
    const MadePlace nothing;
    const std::string json = complete_parameters(item, {});
    quench_error error{sizeof error, 0, {}};
    quench_checkpoint* checkpoint = nullptr;
    CHECK(table.open(nothing.get(), json.data(), json.size(), &checkpoint, &error) != QUENCH_OK);
    CHECK(error.message[0] != '\0');
  });
}

TEST_CASE("every format reads back the bits that it promised when it wrote",
          "[contract][formats]") {
  for_each_format([](const quench_item& item, const quench_format_table& table) {
    if (table.begin == nullptr || table.open == nullptr) {
      return;
    }
    size_t held = 0;
    for (const int64_t bits : {2, 3, 4, 5, 6, 7, 8}) {
      for (const int64_t group_size : {-1, 32}) {
        for (const int32_t symmetric : {0, 1}) {
          const quench_code_scheme scheme{sizeof scheme, symmetric, 0, bits, group_size};
          CAPTURE(bits, group_size, symmetric);
          if (!fits(item, scheme)) {
            continue;
          }
          ++held;
          Folder folder;
          const std::vector<float> promised = write(item, Linear(scheme), folder);
          MemorySource tensors;
          for (const auto& [name, tensor] : folder.tensors) {
            tensors.add_bytes(name, tensor.shape, tensor.bytes, tensor.dtype);
          }
          MadePlace place(folder.config);
          for (const auto& [name, bytes] : folder.files) {
            place.add_file(name, bytes);
          }
          place.set_tensors(tensors);
          quench_error error{sizeof error, 0, {}};
          CHECK(table.probe(place.get(), &error) > 0);
          const std::string json = complete_parameters(item, {});
          quench_checkpoint* checkpoint = nullptr;
          const quench_status status =
              table.open(place.get(), json.data(), json.size(), &checkpoint, &error);
          INFO(error.message);
          REQUIRE(status == QUENCH_OK);
          quench_checkpoint_contents contents{};
          contents.struct_size = sizeof contents;
          REQUIRE(table.contents(checkpoint, &contents, &error) == QUENCH_OK);
          REQUIRE(contents.tensors->count(contents.tensors) == 1);
          quench_tensor_info info{};
          info.struct_size = sizeof info;
          REQUIRE(contents.tensors->info(contents.tensors, 0, &info, &error) == QUENCH_OK);
          CHECK(info.name == std::string(kModule) + ".weight");
          REQUIRE(kit::same(info.dtype, kit::kFloat32));
          const std::vector<float> whole = read(*contents.tensors, 0, 0, promised.size());
          CHECK(std::memcmp(whole.data(), promised.data(), whole.size() * sizeof(float)) == 0);
          constexpr uint64_t kFirst = 1001;  // in the middle of a row
          const std::vector<float> piece = read(*contents.tensors, 0, kFirst, 777);
          CHECK(std::memcmp(piece.data(), whole.data() + kFirst, 777 * sizeof(float)) == 0);
          CHECK(contents.tensors->info(contents.tensors, 1, &info, &error) ==
                QUENCH_INVALID_ARGUMENT);
          table.close(checkpoint);
        }
      }
    }
    CHECK(held > 0);
  });
}

TEST_CASE("every format that writes says nothing of a folder without linears but a reason",
          "[contract][formats]") {
  for_each_format([](const quench_item& item, const quench_format_table& table) {
    if (table.begin == nullptr) {
      return;
    }
    const std::string json = complete_parameters(item, {});
    quench_error error{sizeof error, 0, {}};
    quench_format_writer* writer = nullptr;
    REQUIRE(table.begin(json.data(), json.size(), &writer, &error) == QUENCH_OK);
    Folder folder;
    const quench_format_sink sink = folder.sink();
    const quench_float_linears left{sizeof left, 0, nullptr, 0, nullptr};
    const quench_status status = table.finish(writer, &left, &sink, &error);
    CHECK((status == QUENCH_OK || (status == QUENCH_UNSUPPORTED && error.message[0] != '\0')));
    table.end(writer);
  });
}

}  // namespace quench::test
