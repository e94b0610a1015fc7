// tokens: ready-made token ids from a safetensors file, one document per row.
//
// | parameter | type   | default  | meaning                                                     |
// |-----------|--------|----------|-------------------------------------------------------------|
// | path      | path   | required | a safetensors file                                          |
// | tensor    | string | null     | the tensor [N,T]; null: the only integer tensor of the file |
//
//   calibration: {tokens: {path: c4_128x2048.safetensors}}
//
// Any integer dtype; every id must lie in 0 .. 2^31-1. Memory: one row.
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "corpora/shared/file.hpp"
#include "corpora/tokens/safetensors.hpp"
#include "quench/kit/corpus.hpp"

namespace quench::corpora {

namespace {

// Widens `count` little-endian elements of type T. U64 ids beyond int64 become negative, so the
// range check refuses them like any other.
template <typename T>
void widen(const char* from, size_t count, int64_t* to) {
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<int64_t>(value);
  }
}

void widen(const std::string& dtype, const char* from, size_t count, int64_t* to) {
  if (dtype == "I8") {
    widen<int8_t>(from, count, to);
  } else if (dtype == "U8") {
    widen<uint8_t>(from, count, to);
  } else if (dtype == "I16") {
    widen<int16_t>(from, count, to);
  } else if (dtype == "U16") {
    widen<uint16_t>(from, count, to);
  } else if (dtype == "I32") {
    widen<int32_t>(from, count, to);
  } else if (dtype == "U32") {
    widen<uint32_t>(from, count, to);
  } else {
    widen<int64_t>(from, count, to);
  }
}

class Tokens final : public kit::Corpus {
 public:
  struct Params {
    kit::Path path;
    std::optional<std::string> tensor;
    static void describe(kit::Fields<Params>& f) {
      f.add("path", &Params::path, "a safetensors file").required();
      f.add("tensor", &Params::tensor,
            "the tensor [N,T] of ids; null: the only integer tensor of the file");
    }
  };

  explicit Tokens(const Params& params) : file_(params.path.path), tensor_(choose(params)) {
    if (tensor_.shape.size() != 2 || tensor_.shape[0] == 0 || tensor_.shape[1] == 0) {
      std::string shape;
      for (const uint64_t extent : tensor_.shape) {
        shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
      }
      kit::fail(QUENCH_INVALID_ARGUMENT, "%s: tensor `%s`: got shape [%s], wanted [N, T], N, T > 0",
                file_.path().c_str(), tensor_.name.c_str(), shape.c_str());
    }
    // The header check bounds T by the file size, so these allocations are bounded too.
    bytes_.resize(tensor_.shape[1] * element_bytes(tensor_.dtype));
    wide_.resize(tensor_.shape[1]);
    ids_.resize(tensor_.shape[1]);
  }

  bool next(quench_document& document) override {
    if (row_ == tensor_.shape[0]) {
      return false;
    }
    file_.read_exactly(tensor_.begin + row_ * bytes_.size(), bytes_.data(), bytes_.size());
    widen(tensor_.dtype, bytes_.data(), wide_.size(), wide_.data());
    for (size_t t = 0; t < wide_.size(); ++t) {
      if (wide_[t] < 0 || wide_[t] > std::numeric_limits<int32_t>::max()) {
        kit::fail(QUENCH_INVALID_ARGUMENT,
                  "%s: tensor `%s`, row %llu, column %zu: id %lld, wanted 0 to 2147483647",
                  file_.path().c_str(), tensor_.name.c_str(), static_cast<unsigned long long>(row_),
                  t, static_cast<long long>(wide_[t]));
      }
      ids_[t] = static_cast<int32_t>(wide_[t]);
    }
    document.ids = ids_.data();
    document.id_count = ids_.size();
    document.index = row_++;
    return true;
  }

  std::string fingerprint() override { return sha256_of({file_.path()}); }

 private:
  StoredTensor choose(const Params& params) const {
    std::vector<StoredTensor> integers;
    for (StoredTensor& tensor : read_safetensors_header(file_)) {
      if (params.tensor && tensor.name == *params.tensor && !is_integer(tensor.dtype)) {
        kit::fail(QUENCH_INVALID_ARGUMENT, "%s: tensor `%s`: got dtype %s, wanted integers",
                  file_.path().c_str(), tensor.name.c_str(), tensor.dtype.c_str());
      }
      if (is_integer(tensor.dtype) && (!params.tensor || tensor.name == *params.tensor)) {
        integers.push_back(std::move(tensor));
      }
    }
    if (params.tensor && integers.empty()) {
      kit::fail(QUENCH_NOT_FOUND, "%s: no tensor `%s`", file_.path().c_str(),
                params.tensor->c_str());
    }
    if (integers.size() != 1) {
      kit::fail(QUENCH_INVALID_ARGUMENT,
                "%s: got %zu integer tensors, wanted one, or its name in `tensor`",
                file_.path().c_str(), integers.size());
    }
    return integers.front();
  }

  File file_;
  StoredTensor tensor_;
  std::vector<char> bytes_;
  std::vector<int64_t> wide_;
  std::vector<int32_t> ids_;
  uint64_t row_ = 0;
};

}  // namespace

}  // namespace quench::corpora

QUENCH_MODULE("quench.tokens", "0.1.0",
              quench::kit::corpus<quench::corpora::Tokens>(
                  {.id = "tokens",
                   .version = "0.1.0",
                   .summary = "Ready-made token ids: each row of an integer tensor of a "
                              "safetensors file is one document."}))
