// gguf: the files of llama.cpp and its kin, versions 2 and 3, little-endian.
//
//   quench eval model.gguf --tokenizer tokenizer.json ...
//
// | read                  | which |
// |-----------------------|--------------------------------------------------------------------|
// | types of tensors      | F32, F16, BF16; Q4_0, Q4_1, Q5_0, Q5_1, Q8_0; Q2_K .. Q6_K         |
// | general.architecture  | llama, olmo, olmo2, smollm3, apertus                               |
//
// Elements that are stored in blocks are offered as float32, with the roundings of the reference
// (gguf.quants.dequantize). config.json is made of the metadata; a number that the file has as
// float32 is the shortest decimal one that rounds to it. llama.cpp keeps the rows of queries and
// keys of llama, olmo and smollm3 in another order, which is undone. Without `output.weight` the
// head is the embedding. Nothing is read of the vocabulary: the tokenizer is that of the folder, or
// named.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "formats/gguf/checkpoint.hpp"
#include "quench/kit/format.hpp"

namespace quench::gguf {

namespace {

constexpr std::string_view kSuffix = ".gguf";

// A file of a place.
class PlacedFile final : public Bytes {
 public:
  PlacedFile(const kit::Place& place, std::string name)
      : place_(place),
        file_(std::move(name)),
        where_(place.where(file_)),
        size_(place.size(file_)) {}

  const std::string& name() const override { return where_; }
  uint64_t size() const override { return size_; }
  void read(uint64_t offset, uint64_t count, void* destination) const override {
    place_.read(file_, offset, count, destination);
  }

 private:
  kit::Place place_;
  std::string file_;
  std::string where_;
  uint64_t size_;
};

// The file that the user named, or the only one of the folder; else "", and `why` where there are
// several.
std::string file_of(const kit::Place& place, std::string& why) {
  if (!place.file().empty()) {
    return place.file();
  }
  std::string found;
  for (const std::string& name : place.names()) {
    if (name.ends_with(kSuffix)) {
      if (!found.empty()) {
        why = "several files end in .gguf: name the one that is meant";
        return "";
      }
      found = name;
    }
  }
  return found;
}

struct Gguf {
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  static int32_t probe(const kit::Place& place, std::string& why) {
    constexpr int32_t kNamed = 100;
    constexpr int32_t kAlone = 60;  // a folder may hold the same weights in another form
    const std::string name = file_of(place, why);
    if (name.empty()) {
      return 0;
    }
    if (place.head(name, kMagic.size()) != kMagic) {
      why = name.ends_with(kSuffix) ? name + " does not begin with GGUF" : "";
      return 0;
    }
    return place.file().empty() ? kAlone : kNamed;
  }

  static std::unique_ptr<kit::Checkpoint> open(const kit::Place& place, const Params&) {
    std::string why;
    const std::string name = file_of(place, why);
    if (name.empty()) {
      throw kit::Error(QUENCH_NOT_FOUND,
                       place.path() + ": " + (why.empty() ? "no file ends in .gguf" : why));
    }
    return std::make_unique<Checkpoint>(std::make_unique<PlacedFile>(place, name));
  }
};

}  // namespace

}  // namespace quench::gguf

QUENCH_MODULE("quench.gguf", "0.1.0",
              quench::kit::format<quench::gguf::Gguf>(
                  {.id = "gguf",
                   .version = "0.1.0",
                   .summary = "GGUF files of llama.cpp: float and block-quantized tensors.",
                   .reference = "https://github.com/ggml-org/ggml/blob/master/docs/gguf.md"}))
