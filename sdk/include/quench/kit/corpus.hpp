// A corpus as a C++ class. Derive Corpus, end with QUENCH_MODULE.
#pragma once

#include <cstring>
#include <string>

#include "quench/abi/kind/corpus.h"
#include "quench/kit/answer.hpp"
#include "quench/kit/module.hpp"

namespace quench::kit {

class Corpus {
 public:
  virtual ~Corpus() = default;
  // Fills the next document and returns true, or returns false at the end. The document's pointers
  // are valid until the next call. A document that is skipped leaves a gap in `index`; those behind
  // the last one do where `index` at the end is the first position without a document.
  virtual bool next(quench_document& document) = 0;
  // SHA-256, 64 hex digits, over the bytes of the files with the documents.
  virtual std::string fingerprint() = 0;
};

namespace detail {

template <typename Plugin>
quench_status open_corpus(const char* json, uint64_t bytes, quench_corpus** out,
                          quench_error* error) noexcept {
  return guard(error, [&] {
    Corpus* made = new Plugin(fields_of<typename Plugin::Params>().parse(json, bytes));
    *out = reinterpret_cast<quench_corpus*>(made);
  });
}
inline void close_corpus(quench_corpus* corpus) noexcept {
  delete reinterpret_cast<Corpus*>(corpus);
}
inline quench_status next_document(quench_corpus* corpus, quench_document* document,
                                   quench_error* error) noexcept {
  bool found = false;
  quench_document next{};
  next.struct_size = sizeof next;
  const quench_status status =
      guard(error, [&] { found = reinterpret_cast<Corpus*>(corpus)->next(next); });
  answer(document, next);
  return status != QUENCH_OK ? status : found ? QUENCH_OK : QUENCH_END;
}
inline quench_status corpus_fingerprint(quench_corpus* corpus, char hex[65],
                                        quench_error* error) noexcept {
  return guard(error, [&] {
    const std::string text = reinterpret_cast<Corpus*>(corpus)->fingerprint();
    expects(text.size() == 64, "fingerprint: wanted 64 hex digits");
    std::memcpy(hex, text.c_str(), 65);
  });
}

}  // namespace detail

// Makes the item of a corpus class that has a nested `Params` and a constructor that takes them and
// opens the corpus.
template <typename Plugin>
quench_item corpus(const About& about) {
  static constexpr quench_corpus_table kTable = {sizeof(quench_corpus_table),
                                                 detail::open_corpus<Plugin>, detail::close_corpus,
                                                 detail::next_document, detail::corpus_fingerprint};
  return make_item<typename Plugin::Params>(QUENCH_KIND_CORPUS, about, &kTable);
}

}  // namespace quench::kit
