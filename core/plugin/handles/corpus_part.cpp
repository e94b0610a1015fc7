#include "core/plugin/handles/corpus_part.hpp"

#include <algorithm>
#include <string_view>

#include "core/arithmetic/corpus_pieces.hpp"
#include "core/base/io/sha256.hpp"
#include "core/error.hpp"

namespace quench {

std::string CorpusPart::key() const {
  return kind == PartKind::kAll
             ? ""
             : fmt::format("{} of {}", kind == PartKind::kTraining ? "training" : "held_out",
                           held_out);
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
