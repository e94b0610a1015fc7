#include "tests/contract/corpus_contract.hpp"

#include <catch2/catch.hpp>

#include "tests/contract/tensors.hpp"
#include "tests/support/corpus_reader.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

struct OpenCorpus {
  const quench_corpus_table& table;
  quench_corpus* corpus = nullptr;
  quench_error error{sizeof error, 0, {}};
  OpenCorpus(const quench_item& item, const nlohmann::json& parameters)
      : table(table_of<quench_corpus_table>(item)) {
    const std::string json = complete_parameters(item, parameters);
    REQUIRE(table.open(json.data(), json.size(), &corpus, &error) == QUENCH_OK);
  }
  ~OpenCorpus() { table.close(corpus); }

  // The next document as one string; empty at the end.
  std::string next() {
    quench_document document{};
    const quench_status status = table.next(corpus, &document, &error);
    if (status == QUENCH_END) {
      return "";
    }
    REQUIRE(status == QUENCH_OK);
    if (document.ids != nullptr) {
      return "ids " + std::string(reinterpret_cast<const char*>(document.ids),
                                  document.id_count * sizeof(int32_t));
    }
    return document.text != nullptr
               ? "text " + std::string(document.text, document.text_bytes)
               : "record " + std::string(document.record, document.record_bytes);
  }
};

}  // namespace

namespace corpus_contract {

void documents_have_one_form_and_ascending_indices(const quench_item& item,
                                                   const nlohmann::json& parameters) {
  const ReadCorpus corpus = read_corpus(item, parameters);
  REQUIRE(corpus.message == "");
  REQUIRE(corpus.documents.size() >= 2);
  for (size_t i = 0; i < corpus.documents.size(); ++i) {
    CHECK(corpus.documents[i].forms == 1);
    CHECK((i == 0 || corpus.documents[i].index > corpus.documents[i - 1].index));
    for (const int32_t id : corpus.documents[i].ids) {
      REQUIRE(id >= 0);
    }
  }
  CHECK(corpus.fingerprint.size() == 64);
  CHECK(corpus.fingerprint.find_first_not_of("0123456789abcdef") == std::string::npos);
}

void reading_again_gives_the_same(const quench_item& item, const nlohmann::json& parameters) {
  OpenCorpus first(item, parameters);
  OpenCorpus again(item, parameters);
  for (std::string document = "any"; !document.empty();) {
    document = first.next();
    REQUIRE(document == again.next());
  }
}

void two_open_at_once_do_not_disturb_each_other(const quench_item& item,
                                                const nlohmann::json& parameters) {
  OpenCorpus one(item, parameters);
  const std::string first = one.next();
  OpenCorpus other(item, parameters);
  const std::string second = one.next();
  CHECK(other.next() == first);
  CHECK(other.next() == second);
  CHECK(first != second);
}

void end_stays_end(const quench_item& item, const nlohmann::json& parameters) {
  OpenCorpus corpus(item, parameters);
  while (!corpus.next().empty()) {
  }
  CHECK(corpus.next().empty());
  CHECK(corpus.next().empty());
}

void a_missing_file_is_named(const quench_item& item, const nlohmann::json& parameters) {
  nlohmann::json elsewhere = parameters;
  elsewhere["path"] = "/there/is/no such file";
  const ReadCorpus corpus = read_corpus(item, elsewhere);
  CHECK(corpus.status == QUENCH_NOT_FOUND);
  CHECK_THAT(corpus.message, Catch::Contains("/there/is/no such file"));
}

}  // namespace corpus_contract

namespace {

// What a corpus of that id reads here: a small file of two documents or more, or nothing.
nlohmann::json parameters_for(const std::string& id, const TemporaryDir& dir) {
  if (id == "text") {
    return {{"path", dir.write("a.txt", "one\ntwo\n\u20ac\n")}, {"split", "line"}};
  }
  if (id == "jsonl") {
    return {{"path", dir.write("a.jsonl", "{\"text\": \"one\"}\n\n{\"text\": \"two\"}\n")}};
  }
  if (id == "tokens") {
    const std::string header =
        R"({"ids": {"dtype": "U8", "shape": [3, 2], "data_offsets": [0, 6]}})";
    const std::string length = {static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
    return {{"path", dir.write("a.safetensors", length + header + "abcdef")}};
  }
  return nlohmann::json::object();
}

template <typename Check>
void for_each_corpus(Check check) {
  for (const quench_item* item : items_of(CORPUS_LIBRARIES, "corpus")) {
    DYNAMIC_SECTION(item->id) {
      const TemporaryDir dir;
      check(*item, parameters_for(item->id, dir));
    }
  }
}

}  // namespace

TEST_CASE("every corpus gives documents of one form with ascending indices",
          "[contract][corpora]") {
  for_each_corpus(corpus_contract::documents_have_one_form_and_ascending_indices);
}
TEST_CASE("every corpus gives the same documents when read again", "[contract][corpora]") {
  for_each_corpus(corpus_contract::reading_again_gives_the_same);
}
TEST_CASE("every corpus can be open twice", "[contract][corpora]") {
  for_each_corpus(corpus_contract::two_open_at_once_do_not_disturb_each_other);
}
TEST_CASE("every corpus stays at its end", "[contract][corpora]") {
  for_each_corpus(corpus_contract::end_stays_end);
}
TEST_CASE("every corpus with a path names a file that is not there", "[contract][corpora]") {
  for_each_corpus([](const quench_item& item, const nlohmann::json& parameters) {
    if (parameters.contains("path")) {
      corpus_contract::a_missing_file_is_named(item, parameters);
    }
  });
}

}  // namespace quench::test
