// What every format must do, whatever its layout.
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "promises/candidate.hpp"
#include "promises/kinds.hpp"
#include "promises/made_place.hpp"
#include "promises/tensors.hpp"
#include "quench/abi/kind/format.h"

namespace quench::promises {

namespace {

constexpr const char* kModule = "block.0.m";

// A linear of made-up codes.
struct Linear {
  int64_t out;
  int64_t in;
  std::vector<uint8_t> codes;
  std::vector<double> scales;
  std::vector<double> zeros;
  std::vector<int32_t> g_idx;
  int64_t groups;
  int64_t bits;

  Linear(const quench_code_scheme& scheme, int64_t rows, int64_t columns)
      : out(rows),
        in(columns),
        groups(scheme.group_size == -1 ? 1 : (in + scheme.group_size - 1) / scheme.group_size),
        bits(scheme.bits == 0 ? 4 : scheme.bits) {
    uint32_t state = 5;
    const auto next = [&](uint32_t below) {
      state = state * 1664525U + 1013904223U;
      return (state >> 8) % below;
    };
    const uint32_t levels = 1U << bits;
    for (int64_t i = 0; i < out * in; ++i) {
      codes.push_back(static_cast<uint8_t>(next(levels)));
    }
    for (int64_t i = 0; i < out * groups; ++i) {
      scales.push_back(0.001 + 1e-5 * next(1000));
      zeros.push_back(scheme.symmetric != 0 ? levels / 2 : next(levels));
    }
    for (int64_t c = 0; c < in; ++c) {
      g_idx.push_back(static_cast<int32_t>(scheme.group_size == -1 ? 0 : c / scheme.group_size));
    }
  }
  quench_coded_linear view() const {
    return {sizeof(quench_coded_linear),
            kModule,
            out,
            in,
            groups,
            bits,
            codes.data(),
            scales.data(),
            zeros.data(),
            g_idx.data()};
  }
  std::vector<float> weight() const {
    std::vector<float> made;
    for (size_t i = 0; i < codes.size(); ++i) {
      const size_t column = i % static_cast<size_t>(in);
      const size_t group = i / static_cast<size_t>(in) * static_cast<size_t>(groups) +
                           static_cast<size_t>(g_idx[column]);
      made.push_back(static_cast<float>(scales[group] * (codes[i] - zeros[group])));
    }
    return made;
  }
};

// The same of made-up indices into a table.
struct Lookup {
  int64_t out = 64;
  int64_t in = 96;
  int64_t tables;
  int64_t block;
  int32_t scale_type;
  std::vector<uint8_t> indices;
  std::vector<double> table;
  std::vector<double> scales;

  Lookup(int64_t tables_of, int64_t block_of, int32_t type)
      : tables(tables_of), block(block_of), scale_type(type) {
    constexpr int64_t kEntries = 16;
    for (int64_t i = 0; i < out * in; ++i) {
      indices.push_back(static_cast<uint8_t>(i * i * 7 % kEntries));
    }
    for (int64_t i = 0; i < tables * kEntries; ++i) {
      table.push_back(static_cast<double>(i * 37 % 101 - 50) / 64);
    }
    for (int64_t i = 0; i < (out * in + block - 1) / block; ++i) {
      scales.push_back(type == QUENCH_SCALES_POWERS_OF_TWO ? std::ldexp(1.0, -(i % 9)) : 0.01 * i);
    }
  }
  quench_codebook_linear view() const {
    return {.struct_size = sizeof(quench_codebook_linear),
            .scale_type = scale_type,
            .name = kModule,
            .out = out,
            .in = in,
            .tables = tables,
            .entries = static_cast<int64_t>(table.size()) / tables,
            .blocks = static_cast<int64_t>(scales.size()),
            .block = block,
            .indices = indices.data(),
            .table = table.data(),
            .scales = scales.data()};
  }
  std::vector<float> weight() const {
    std::vector<float> made;
    const size_t entries = table.size() / static_cast<size_t>(tables);
    for (size_t i = 0; i < indices.size(); ++i) {
      const size_t row = tables == 1 ? 0 : i / static_cast<size_t>(in);
      made.push_back(static_cast<float>(scales[i / static_cast<size_t>(block)] *
                                        table[row * entries + indices[i]]));
    }
    return made;
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
              const auto read = nlohmann::json::parse(json, json + bytes, nullptr, false);
              return read.is_object() ? QUENCH_OK : QUENCH_INVALID_ARGUMENT;
            }};
  }
};

// The format's functions, each of which is to succeed.
struct Calls {
  const quench_format_table& table;
  std::string json;
  quench_error error{sizeof error, 0, {}};

  explicit Calls(Candidate& candidate)
      : table(table_of<quench_format_table>(candidate)), json(complete(candidate, {})) {}

  void ok(const char* function, quench_status status) {
    expect(status == QUENCH_OK, "{}: got the error \"{}\"", function, error.message);
  }
  // Whether it holds linears of this kind; a refusal has a reason.
  bool fits(const quench_code_scheme& scheme, int64_t out, int64_t in) {
    const quench_status status = table.fits(json.data(), json.size(), &scheme, out, in, &error);
    expect(status == QUENCH_OK || status == QUENCH_UNSUPPORTED,
           "fits: got status {} (\"{}\"), wanted OK or UNSUPPORTED", status, error.message);
    expect(status == QUENCH_OK || error.message[0] != '\0', "fits: refuses without a reason");
    return status == QUENCH_OK;
  }
};

void need_writing(const Calls& calls) {
  if (calls.table.begin == nullptr) {
    skip("it only reads");
  }
}

// A writer, closed whatever happens.
struct Writer {
  Calls& calls;
  quench_format_writer* writer = nullptr;
  explicit Writer(Calls& of) : calls(of) {
    calls.ok("begin",
             calls.table.begin(calls.json.data(), calls.json.size(), &writer, &calls.error));
  }
  ~Writer() {
    if (writer != nullptr) {
      calls.table.end(writer);
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
};

// What `fits` was not asked about, and `store` refuses.
struct NotHeld {};

quench_status store(const Writer& writer, const Linear& linear, const quench_format_sink& sink,
                    float* weight, quench_stored_linear& stored) {
  const quench_coded_linear view = linear.view();
  return writer.calls.table.store(writer.writer, &view, &sink, weight, &stored,
                                  &writer.calls.error);
}
quench_status store(const Writer& writer, const Lookup& linear, const quench_format_sink& sink,
                    float* weight, quench_stored_linear& stored) {
  const quench_codebook_linear view = linear.view();
  const quench_status status = writer.calls.table.store_codebook(
      writer.writer, &view, &sink, weight, &stored, &writer.calls.error);
  if (status == QUENCH_UNSUPPORTED) {
    throw NotHeld();
  }
  return status;
}

// One linear written; the weight that the file is said to hold.
template <typename Stored>
std::vector<float> write(Calls& calls, const Stored& linear, Folder& folder) {
  Writer writer(calls);
  const quench_format_sink sink = folder.sink();
  std::vector<float> weight = linear.weight();
  quench_stored_linear stored{sizeof stored, 0, 0, 0};
  calls.ok("store", store(writer, linear, sink, weight.data(), stored));
  expect(stored.rounded_scales <= stored.scales, "store: says {} rounded scales of {}",
         stored.rounded_scales, stored.scales);
  const char* heads[] = {"lm_head"};
  const quench_float_linears left{sizeof left, 0, nullptr, 1, heads};
  calls.ok("finish", calls.table.finish(writer.writer, &left, &sink, &calls.error));
  return weight;
}

// An open checkpoint, closed whatever happens.
struct Opened {
  Calls& calls;
  quench_checkpoint* checkpoint = nullptr;
  quench_checkpoint_contents contents{};
  Opened(Calls& of, const MadePlace& place) : calls(of) {
    calls.ok("open", calls.table.open(place.get(), calls.json.data(), calls.json.size(),
                                      &checkpoint, &calls.error));
    contents.struct_size = sizeof contents;
    calls.ok("contents", calls.table.contents(checkpoint, &contents, &calls.error));
  }
  ~Opened() {
    if (checkpoint != nullptr) {
      calls.table.close(checkpoint);
    }
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  std::vector<float> read(uint64_t first, uint64_t elements) {
    std::vector<float> out(elements);
    const quench_source& tensors = *contents.tensors;
    calls.ok("read", tensors.read(&tensors, 0, first, elements, out.data(), &calls.error));
    return out;
  }
};

template <typename Stored>
void read_back(Calls& calls, const Stored& linear) {
  Folder folder;
  const std::vector<float> promised = write(calls, linear, folder);
  MemorySource tensors;
  for (const auto& [name, tensor] : folder.tensors) {
    tensors.add_bytes(name, tensor.shape, tensor.bytes, tensor.dtype);
  }
  MadePlace place(folder.config);
  for (const auto& [name, bytes] : folder.files) {
    place.add_file(name, bytes);
  }
  place.set_tensors(tensors);
  const int32_t score = calls.table.probe(place.get(), &calls.error);
  expect(score > 0 && score <= 100, "probe: gives what it wrote {} points, wanted 1..100", score);
  Opened opened(calls, place);
  const quench_source& source = *opened.contents.tensors;
  expect(source.count(&source) == 1, "it reads {} tensors of the one that it wrote",
         source.count(&source));
  quench_tensor_info info{};
  info.struct_size = sizeof info;
  calls.ok("info", source.info(&source, 0, &info, &calls.error));
  expect(info.name == std::string(kModule) + ".weight", "it reads a tensor {}, wanted {}.weight",
         info.name, kModule);
  expect(kit::same(info.dtype, kit::kFloat32), "it reads {}, wanted float32",
         kit::name_of(info.dtype));
  const std::vector<float> whole = opened.read(0, promised.size());
  expect_same("the weight", whole, promised, "when it is read back");
  const auto first = static_cast<uint64_t>(linear.in) * 10 + 41;  // in the middle of a row
  const std::vector<float> piece = opened.read(first, 777);
  expect_same("a piece of the weight", piece,
              {whole.begin() + static_cast<ptrdiff_t>(first),
               whole.begin() + static_cast<ptrdiff_t>(first + 777)},
              "read alone");
  expect(source.info(&source, 1, &info, &calls.error) == QUENCH_INVALID_ARGUMENT,
         "info: tensor 1 of 1 is not refused");
}

void it_reads_back_what_it_promised(Candidate& candidate) {
  Calls calls(candidate);
  need_writing(calls);
  if (calls.table.open == nullptr) {
    skip("it only writes");
  }
  size_t held = 0;
  for (const int64_t bits : {0, 2, 3, 4, 5, 6, 7, 8}) {
    for (const int64_t group_size : {-1, 32}) {
      for (const int32_t symmetric : {0, 1}) {
        for (const int64_t columns : {96, 176}) {  // whole groups of 32, and a shorter last one
          const quench_code_scheme scheme{sizeof(quench_code_scheme), symmetric, 0, bits,
                                          group_size};
          if (!calls.fits(scheme, 64, columns)) {
            continue;
          }
          const Linear linear(scheme, 64, columns);
          if (bits == 0) {  // what codes come to is not known when it is asked
            continue;
          }
          ++held;
          try {
            read_back(calls, linear);
          } catch (const Broken& found) {
            broken("{} bits, groups of {}, {} columns{}: {}", bits, group_size, columns,
                   symmetric != 0 ? ", symmetric" : "", found.what());
          }
        }
      }
    }
  }
  if (held == 0 && calls.table.store_codebook != nullptr) {
    skip("no grid of 2..8 bits fits");
  }
  expect(held > 0, "no grid of 2..8 bits fits");
}

bool holds_a_grid(Calls& calls) {
  for (const int64_t bits : {2, 3, 4, 5, 6, 7, 8}) {
    for (const int64_t group_size : {-1, 32}) {
      for (const int32_t symmetric : {0, 1}) {
        if (calls.fits({sizeof(quench_code_scheme), symmetric, 0, bits, group_size}, 64, 96)) {
          return true;
        }
      }
    }
  }
  return false;
}

// Tables in the forms that formats have: one for all rows or one for each, of floats or of the
// 4-bit floats of OCP MX, scales of blocks within a row and across rows.
std::vector<Lookup> lookups() {
  Lookup mx(1, 32, QUENCH_SCALES_POWERS_OF_TWO);
  mx.table = {0, .5, 1, 1.5, 2, 3, 4, 6, -0.0, -.5, -1, -1.5, -2, -3, -4, -6};
  return {Lookup(1, 32, QUENCH_SCALES_FLOAT), Lookup(1, 32, QUENCH_SCALES_POWERS_OF_TWO),
          Lookup(64, 96, QUENCH_SCALES_FLOAT), Lookup(1, 100, QUENCH_SCALES_FLOAT), mx};
}

void it_reads_back_tables(Candidate& candidate) {
  Calls calls(candidate);
  need_writing(calls);
  if (calls.table.open == nullptr) {
    skip("it only writes");
  }
  size_t held = 0;
  if (calls.table.store_codebook != nullptr) {
    for (const Lookup& linear : lookups()) {
      try {
        read_back(calls, linear);
        ++held;
      } catch (const NotHeld&) {  // the next may be
      }
    }
  }
  if (held == 0) {
    expect(holds_a_grid(calls), "no grid of 2..8 bits fits, and no table is held");
    skip("it holds no table of values");
  }
}

void other_places_are_left_alone(Candidate& candidate) {
  Calls calls(candidate);
  if (calls.table.probe == nullptr) {
    skip("it only writes");
  }
  MemorySource tensors;
  tensors.add("w", {2}, std::vector<double>{1, 2}, kit::kFloat32);
  for (const char* config :
       {"", "{}", R"({"model_type": "x"})", "[]", "{", R"({"quantization_config": 3})",
        R"({"quantization_config": {"quant_method": "unheard-of"}})"}) {
    MadePlace place(config);
    place.add_file("model.safetensors", "");
    place.set_tensors(tensors);
    const int32_t score = calls.table.probe(place.get(), &calls.error);
    expect(score == 0, "probe: gives a folder with the config '{}' {} points, wanted 0", config,
           score);
  }
}

void an_empty_place_is_refused(Candidate& candidate) {
  Calls calls(candidate);
  if (calls.table.open == nullptr) {
    skip("it only writes");
  }
  const MadePlace nothing;
  quench_checkpoint* checkpoint = nullptr;
  const quench_status status = calls.table.open(nothing.get(), calls.json.data(), calls.json.size(),
                                                &checkpoint, &calls.error);
  if (status == QUENCH_OK) {
    calls.table.close(checkpoint);
  }
  expect(status != QUENCH_OK, "open: takes a place without files");
  expect(calls.error.message[0] != '\0', "open: refuses a place without files without a reason");
}

void a_folder_without_linears_has_a_reason(Candidate& candidate) {
  Calls calls(candidate);
  need_writing(calls);
  Writer writer(calls);
  Folder folder;
  const quench_format_sink sink = folder.sink();
  const quench_float_linears left{sizeof left, 0, nullptr, 0, nullptr};
  const quench_status status = calls.table.finish(writer.writer, &left, &sink, &calls.error);
  expect(status == QUENCH_OK || (status == QUENCH_UNSUPPORTED && calls.error.message[0] != '\0'),
         "finish of nothing: got status {} (\"{}\"), wanted OK, or UNSUPPORTED with a reason",
         status, calls.error.message);
}

constexpr Promise kPromises[] = {
    {"places that are not its own are left alone", other_places_are_left_alone},
    {"an empty place is refused, with a message", an_empty_place_is_refused},
    {"what it writes is read back as it promised, bit for bit", it_reads_back_what_it_promised},
    {"tables of values are read back bit for bit, too", it_reads_back_tables},
    {"a folder without linears is written, or refused with a reason",
     a_folder_without_linears_has_a_reason},
};

}  // namespace

std::span<const Promise> format_promises() {
  return kPromises;
}

}  // namespace quench::promises
