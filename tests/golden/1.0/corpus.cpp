// golden_corpus: documents of random token ids, for calibration without data.
//
// | parameter  | type | default | range | meaning                            |
// |------------|------|---------|-------|------------------------------------|
// | documents  | int  | 16      | >= 1  | number of documents                 |
// | length     | int  | 128     | >= 1  | ids per document                   |
// | vocabulary | int  | 256     | >= 1  | ids are drawn from 0..vocabulary-1 |
//
//   corpora:
//     noise: {golden_corpus: {documents: 16, length: 128, vocabulary: 256}}
//
// The host's random service draws the ids, so a run's seed fixes them.
#include <string>
#include <vector>

#include "quench/kit/corpus.hpp"

namespace kit = quench::kit;

namespace {

class GoldenCorpus final : public kit::Corpus {
 public:
  struct Params {
    int64_t documents = 16;
    int64_t length = 128;
    int64_t vocabulary = 256;
    static void describe(kit::Fields<Params>& f) {
      f.add("documents", &Params::documents, "number of documents").at_least(1);
      f.add("length", &Params::length, "ids per document").range(1, 1 << 24);
      f.add("vocabulary", &Params::vocabulary, "ids are drawn from 0 to vocabulary-1")
          .range(1, 2147483647);
    }
  };
  explicit GoldenCorpus(const Params& params) : params_(params) {}

  bool next(quench_document& document) override {
    if (index_ == static_cast<uint64_t>(params_.documents)) {
      return false;
    }
    const auto length = static_cast<uint64_t>(params_.length);
    ids_.clear();
    for (const uint64_t number : kit::random_uniform("documents", index_ * length, length)) {
      ids_.push_back(static_cast<int32_t>(number % static_cast<uint64_t>(params_.vocabulary)));
    }
    document.ids = ids_.data();
    document.id_count = ids_.size();
    document.index = index_++;
    return true;
  }

  // SHA-256 of nothing, because no file is read. A corpus with files hashes their bytes.
  std::string fingerprint() override {
    return "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  }

 private:
  Params params_;
  std::vector<int32_t> ids_;
  uint64_t index_ = 0;
};

}  // namespace

QUENCH_MODULE("golden_corpus", "0.1.0",
              kit::corpus<GoldenCorpus>({.id = "golden_corpus",
                                         .version = "0.1.0",
                                         .summary = "Documents of random token ids.",

                                         .example = "{documents: 16, length: 128}"}))
