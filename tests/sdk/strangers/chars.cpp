// chars: a byte is its place in the file *.chars, which has each once; one that is not there is the
// first.
#include <string_view>
#include <vector>

#include "quench/kit/tokenizer.hpp"

namespace kit = quench::kit;

namespace {

class Chars final : public kit::Tokenizer {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  static int32_t probe(const kit::FileHead& file) {
    return file.size > 0 && file.name.ends_with(".chars") ? QUENCH_TOKENIZER_BY_NAME : 0;
  }
  Chars(const Params&, std::string_view file, const std::string& name) : ids_(256) {
    std::vector<bool> known(256);
    kit::expects(!file.empty(), (name + ": is empty").c_str());
    for (const char c : file) {
      const auto byte = static_cast<unsigned char>(c);
      if (known[byte]) {
        kit::fail(QUENCH_INVALID_ARGUMENT, "%s: byte %zu: is there twice", name.c_str(), size_);
      }
      known[byte] = true;
      ids_[byte] = static_cast<int32_t>(size_++);
    }
  }
  size_t vocabulary_size() const override { return size_; }
  std::vector<int32_t> encode(std::string_view text, bool /*add_special*/) const override {
    std::vector<int32_t> ids;
    ids.reserve(text.size());
    for (const char c : text) {
      ids.push_back(ids_[static_cast<unsigned char>(c)]);
    }
    return ids;
  }

 private:
  std::vector<int32_t> ids_;
  size_t size_ = 0;
};

}  // namespace

QUENCH_MODULE("chars", "0.1.0",
              kit::tokenizer<Chars>({.id = "chars",
                                     .version = "0.1.0",
                                     .summary = "Single characters by their place in a file."}))
