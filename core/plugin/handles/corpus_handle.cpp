#include "core/plugin/handles/corpus_handle.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

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

}  // namespace quench
