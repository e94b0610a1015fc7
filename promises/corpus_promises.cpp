// What every corpus must do, whatever it reads.
#include <optional>

#include "promises/candidate.hpp"
#include "promises/kinds.hpp"
#include "promises/tensors.hpp"
#include "quench/abi/kind/corpus.h"

namespace quench::promises {

namespace {

class OpenCorpus {
 public:
  OpenCorpus(Candidate& candidate, const nlohmann::json& given)
      : table_(table_of<quench_corpus_table>(candidate)) {
    const std::string json = complete(candidate, given);
    status_ = table_.open(json.data(), json.size(), &corpus_, &error_);
  }
  explicit OpenCorpus(Candidate& candidate) : OpenCorpus(candidate, {}) {
    expect(status_ == QUENCH_OK, "open: got the error \"{}\"", error_.message);
  }
  ~OpenCorpus() {
    if (status_ == QUENCH_OK) {
      table_.close(corpus_);
    }
  }
  OpenCorpus(const OpenCorpus&) = delete;
  OpenCorpus& operator=(const OpenCorpus&) = delete;

  quench_status status() const { return status_; }
  std::string message() const { return error_.message; }

  // The next document as one string; nothing at the end.
  std::optional<std::string> next() {
    document_ = {};
    document_.struct_size = sizeof document_;
    const quench_status status = table_.next(corpus_, &document_, &error_);
    if (status == QUENCH_END) {
      return std::nullopt;
    }
    expect(status == QUENCH_OK, "next: got the error \"{}\"", error_.message);
    const int forms =
        (document_.text != nullptr) + (document_.ids != nullptr) + (document_.record != nullptr);
    expect(forms == 1, "next: document {} has {} of text, ids and record, wanted one",
           document_.index, forms);
    for (uint64_t i = 0; document_.ids != nullptr && i < document_.id_count; ++i) {
      expect(document_.ids[i] >= 0, "next: document {} has the id {}", document_.index,
             document_.ids[i]);
    }
    if (document_.ids != nullptr) {
      return "ids " + std::string(reinterpret_cast<const char*>(document_.ids),
                                  document_.id_count * sizeof(int32_t));
    }
    return document_.text != nullptr
               ? "text " + std::string(document_.text, document_.text_bytes)
               : "record " + std::string(document_.record, document_.record_bytes);
  }
  uint64_t index() const { return document_.index; }
  std::string fingerprint() {
    char hex[65] = {};
    const quench_status status = table_.fingerprint(corpus_, hex, &error_);
    expect(status == QUENCH_OK, "fingerprint: got the error \"{}\"", error_.message);
    return {hex, 64};
  }

 private:
  const quench_corpus_table& table_;
  quench_corpus* corpus_ = nullptr;
  quench_document document_{};
  quench_error error_{sizeof error_, 0, {}};
  quench_status status_;
};

void documents_have_one_form_and_ascending_indices(Candidate& candidate) {
  OpenCorpus corpus(candidate);
  uint64_t count = 0;
  for (uint64_t last = 0; corpus.next(); ++count) {
    expect(count == 0 || corpus.index() > last, "next: index {} comes behind {}", corpus.index(),
           last);
    last = corpus.index();
  }
  expect(count >= 1, "there is no document");
}

void its_fingerprint_is_a_sha256(Candidate& candidate) {
  const std::string hex = OpenCorpus(candidate).fingerprint();
  expect(hex.find_first_not_of("0123456789abcdef") == std::string::npos,
         "fingerprint: got '{}', wanted 64 lower-case hexadecimal digits", hex.c_str());
  expect(OpenCorpus(candidate).fingerprint() == hex, "fingerprint: another one the second time");
}

void reading_again_gives_the_same(Candidate& candidate) {
  OpenCorpus first(candidate);
  OpenCorpus again(candidate);
  for (;;) {
    const auto document = first.next();
    expect(document == again.next(), "document {} is another one when it is read again",
           first.index());
    if (!document) {
      return;
    }
  }
}

void two_open_at_once_do_not_disturb_each_other(Candidate& candidate) {
  OpenCorpus one(candidate);
  const auto first = one.next();
  OpenCorpus other(candidate);
  const auto second = one.next();
  if (!second) {
    skip("it has one document here");
  }
  expect(other.next() == first, "a second one does not begin with the first document");
  expect(other.next() == second, "a second one does not go on with the second document");
}

void end_stays_end(Candidate& candidate) {
  OpenCorpus corpus(candidate);
  while (corpus.next()) {
  }
  for (int time = 0; time < 2; ++time) {
    expect(!corpus.next(), "next: gives a document behind the end");
  }
}

void a_missing_file_is_named(Candidate& candidate) {
  if (find_parameter(candidate, "path") == nullptr) {
    skip("it has no parameter path");
  }
  constexpr const char* kNowhere = "/there/is/no such file";
  const OpenCorpus corpus(candidate, {{"path", kNowhere}});
  expect(
      corpus.status() == QUENCH_NOT_FOUND && corpus.message().find(kNowhere) != std::string::npos,
      "open: got status {} (\"{}\"), wanted NOT_FOUND with the path", corpus.status(),
      corpus.status() == QUENCH_OK ? "" : corpus.message());
}

constexpr Promise kPromises[] = {
    {"documents have one form and ascending indices",
     documents_have_one_form_and_ascending_indices},
    {"its fingerprint is a SHA-256, always the same", its_fingerprint_is_a_sha256},
    {"reading again gives the same documents", reading_again_gives_the_same},
    {"two that are open at once do not disturb each other",
     two_open_at_once_do_not_disturb_each_other},
    {"its end stays its end", end_stays_end},
    {"a file that is not there is named", a_missing_file_is_named},
};

}  // namespace

std::span<const Promise> corpus_promises() {
  return kPromises;
}

}  // namespace quench::promises
