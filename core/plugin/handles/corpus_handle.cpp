#include "core/plugin/handles/corpus_handle.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/arithmetic/corpus_pieces.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "core/plugin/handles/instance.hpp"

namespace quench {

namespace {

// 1 text, 2 ids, 3 record; 0 unless exactly one of them is set.
int form_of(const quench_document& document) {
  const int text = document.text != nullptr ? 1 : 0;
  const int ids = document.ids != nullptr ? 1 : 0;
  const int record = document.record != nullptr ? 1 : 0;
  return text + ids + record == 1 ? text + 2 * ids + 3 * record : 0;
}

}  // namespace

CorpusHandle::CorpusHandle(Catalog& catalog, const PluginDescription& description,
                           const nlohmann::json& parameters)
    : id_(description.id),
      corpus_(make_instance<&quench_corpus_table::open, &quench_corpus_table::close>(
          catalog, description, parameters)) {}

bool CorpusHandle::next(quench_document& document) {
  document = {};
  document.struct_size = sizeof document;
  quench_error error{sizeof(quench_error), 0, {}};
  const quench_status status = corpus_.call<&quench_corpus_table::next>(&document, &error);
  if (status == QUENCH_END) {
    places_ = std::max(places_, document.index);
    return false;
  }
  if (status != QUENCH_OK) {
    throw_status(corpus_.label(), "next", status, error);
  }
  const int form = form_of(document);
  if (form == 0 || (form_ != 0 && form != form_)) {
    fail(QUENCH_INTERNAL, "{}: document {} is {}", corpus_.label(), document.index,
         form == 0 ? "not exactly one of text, ids and record"
                   : "of another form than those before it");
  }
  form_ = form;
  ++given_;
  places_ = std::max(places_, document.index + 1);
  return true;
}

std::string CorpusHandle::fingerprint() {
  char hex[65] = {};
  corpus_.call<&quench_corpus_table::fingerprint>(hex);
  const std::string_view text(hex, 64);
  if (hex[64] != '\0' || text.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
    fail(QUENCH_INTERNAL, "{}: its fingerprint is not 64 hexadecimal digits", corpus_.label());
  }
  return std::string(text);
}

std::string CorpusPart::key() const {
  return kind == PartKind::kAll
             ? ""
             : fmt::format("{} of {}", kind == PartKind::kTraining ? "training" : "held_out",
                           held_out);
}

double CorpusPart::share() const {
  return kind == PartKind::kAll ? 1 : kind == PartKind::kHeldOut ? held_out : 1 - held_out;
}

uint64_t document_hash(const quench_document& document) {
  return sha256_head(
      document.ids != nullptr
          ? std::string_view(reinterpret_cast<const char*>(document.ids),
                             document.id_count * sizeof(int32_t))
          : std::string_view(document.text, document.text != nullptr ? document.text_bytes : 0));
}

bool PartReader::belongs(const quench_document& document) const {
  return is_held_out(document_hash(document), part_.held_out) == (part_.kind == PartKind::kHeldOut);
}

bool PartReader::refill() {
  if (!corpus_.next(whole_)) {
    return false;
  }
  if (whole_.record != nullptr) {
    fail(QUENCH_INVALID_ARGUMENT,
         "corpus {}: yields records, which have no parts; wanted text or ids", corpus_.id());
  }
  at_ = 0;
  size_ = whole_.ids != nullptr ? whole_.id_count : whole_.text_bytes;
  return true;
}

bool PartReader::next(quench_document& document) {
  if (part_.kind == PartKind::kAll) {
    return corpus_.next(document);
  }
  while (true) {
    while (at_ >= size_) {
      if (!refill()) {
        return false;
      }
    }
    document = whole_;
    if (whole_.ids != nullptr) {
      document.ids = whole_.ids + at_;
      document.id_count = std::min(size_ - at_, kPieceIds);
      at_ += document.id_count;
    } else {
      document.text = whole_.text + at_;
      document.text_bytes = end_of_piece({whole_.text, size_}, at_) - at_;
      at_ += document.text_bytes;
    }
    if (belongs(document)) {
      document.index = index_++;
      return true;
    }
  }
}

}  // namespace quench
