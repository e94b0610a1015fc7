#include "tests/support/corpus_reader.hpp"

#include "tests/support/plugin_library.hpp"

namespace quench::test {

std::vector<std::string> ReadCorpus::texts() const {
  std::vector<std::string> all;
  for (const ReadDocument& document : documents) {
    all.push_back(document.text);
  }
  return all;
}

ReadCorpus read_corpus(const quench_item& item, const nlohmann::json& parameters) {
  const auto& table = table_of<quench_corpus_table>(item);
  const std::string json = complete_parameters(item, parameters);
  ReadCorpus result;
  quench_corpus* corpus = nullptr;
  quench_error error{sizeof error, 0, {}};
  result.status = table.open(json.data(), json.size(), &corpus, &error);
  if (result.status != QUENCH_OK) {
    result.message = error.message;
    return result;
  }
  quench_document document{};
  document.struct_size = sizeof document;
  while ((result.status = table.next(corpus, &document, &error)) == QUENCH_OK) {
    ReadDocument& copy = result.documents.emplace_back();
    copy.forms =
        (document.text != nullptr) + (document.ids != nullptr) + (document.record != nullptr);
    copy.index = document.index;
    if (document.text != nullptr) {
      copy.text.assign(document.text, document.text_bytes);
    }
    if (document.record != nullptr) {
      copy.text.assign(document.record, document.record_bytes);
    }
    if (document.ids != nullptr) {
      copy.ids.assign(document.ids, document.ids + document.id_count);
    }
  }
  result.places = document.index;
  result.message = result.status == QUENCH_END ? "" : error.message;
  char hex[65] = {};
  if (table.fingerprint(corpus, hex, &error) == QUENCH_OK) {
    result.fingerprint = hex;
  }
  table.close(corpus);
  return result;
}

}  // namespace quench::test
