#include "tests/contract/tokenizer_contract.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "tests/contract/tensors.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/plugin_library.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

using Documents = std::vector<std::string>;
using Ids = std::vector<int32_t>;

// What `encode` gave, or why it gave nothing.
struct Encoded {
  std::vector<Ids> documents;
  quench_status status = QUENCH_OK;
  std::string message;
  int allocations = 0;
};

class OpenTokenizer {
 public:
  OpenTokenizer(const quench_item& item, const std::string& bytes, const std::string& name)
      : table_(table_of<quench_tokenizer_table>(item)) {
    const std::string json = complete_parameters(item, nlohmann::json::object());
    status_ = table_.open(bytes.data(), bytes.size(), name.c_str(), json.data(), json.size(),
                          &encoder_, &error_);
  }
  explicit OpenTokenizer(const quench_item& item, const tokenizer_contract::TokenizerFile& file)
      : OpenTokenizer(item, file.bytes, file.name) {
    INFO(message());
    REQUIRE(status_ == QUENCH_OK);
  }
  ~OpenTokenizer() {
    if (status_ == QUENCH_OK) {
      table_.close(encoder_);
    }
  }
  OpenTokenizer(const OpenTokenizer&) = delete;
  OpenTokenizer& operator=(const OpenTokenizer&) = delete;

  quench_status status() const { return status_; }
  std::string message() const { return status_ == QUENCH_OK ? "" : error_.message; }
  uint64_t vocabulary_size() const { return table_.vocabulary_size(encoder_); }

  Encoded encode(const Documents& documents, bool special = false, bool memory = true) {
    std::string text;
    std::vector<uint64_t> offsets = {0};
    for (const std::string& document : documents) {
      text += document;
      offsets.push_back(text.size());
    }
    struct Sink {
      std::vector<uint64_t> counts;
      Ids ids;
      bool memory;
      int calls;
    } collected{std::vector<uint64_t>(documents.size()), {}, memory, 0};
    const quench_text_batch batch = {sizeof batch, special ? QUENCH_ENCODE_ADD_SPECIAL : 0u,
                                     documents.size(), text.data(), offsets.data()};
    const quench_id_sink sink = {
        sizeof sink, &collected,
        [](void* context, const uint64_t* counts, uint64_t count) noexcept -> int32_t* {
          auto& own = *static_cast<Sink*>(context);
          ++own.calls;
          if (count != own.counts.size()) {
            return nullptr;
          }
          std::copy(counts, counts + own.counts.size(), own.counts.begin());
          own.ids.resize(std::accumulate(own.counts.begin(), own.counts.end(), uint64_t{1}), -7);
          return own.memory ? own.ids.data() : nullptr;
        }};
    Encoded out;
    out.status = table_.encode(encoder_, &batch, &sink, &error_);
    out.allocations = collected.calls;
    if (out.status != QUENCH_OK) {
      out.message = error_.message;
      return out;
    }
    CHECK(collected.calls == 1);
    CHECK(collected.ids.back() == -7);  // nothing was written behind the end
    auto at = collected.ids.begin();
    for (const uint64_t count : collected.counts) {
      out.documents.emplace_back(at, at + static_cast<ptrdiff_t>(count));
      at += static_cast<ptrdiff_t>(count);
    }
    return out;
  }

 private:
  const quench_tokenizer_table& table_;
  quench_encoder* encoder_ = nullptr;
  quench_error error_{sizeof error_, 0, {}};
  quench_status status_;
};

// Several hundred documents of many lengths, some empty.
Documents some_documents() {
  const char* const words[] = {
      "one ",           "Two",          "  ",   "\n",   "12.5 ",      "<s>",
      "\u00e9t\u00e9 ", "\u4e2d\u6587", "the ", "'ll ", "\U0001F600", "x"};
  Documents out;
  uint64_t state = 1;
  for (size_t d = 0; d < 300; ++d) {
    std::string& text = out.emplace_back();
    for (size_t w = 0; w < d * d / 40; ++w) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += words[(state >> 33) % std::size(words)];
    }
  }
  return out;
}

class TaskThreads {
 public:
  explicit TaskThreads(uint32_t count) { set_task_threads(count); }
  ~TaskThreads() { set_task_threads(1); }
};

int32_t score_of(const quench_item& item, const std::string& name, const std::string& bytes) {
  const quench_file_head head = {sizeof head, name.c_str(), bytes.data(),
                                 std::min<uint64_t>(bytes.size(), 4096), bytes.size()};
  quench_error error{sizeof error, 0, {}};
  return table_of<quench_tokenizer_table>(item).probe(&head, &error);
}

}  // namespace

namespace tokenizer_contract {

void its_own_file_is_known_by_name_and_no_other(const quench_item& item,
                                                const TokenizerFile& file) {
  CHECK(score_of(item, file.name, file.bytes) >= QUENCH_TOKENIZER_BY_NAME);
  CHECK(score_of(item, "config.json", R"({"model_type": "llama"})") < QUENCH_TOKENIZER_BY_NAME);
  CHECK(score_of(item, "model.safetensors", std::string("\x40\0\0\0\0\0\0\0{\"a\"", 12)) == 0);
  CHECK(score_of(item, "pytorch_model.bin", "PK\x03\x04") == 0);
  CHECK(score_of(item, "README.md", "# A model\n") == 0);
  CHECK(score_of(item, "", "") == 0);
}

void ids_are_in_the_vocabulary(const quench_item& item, const TokenizerFile& file) {
  OpenTokenizer tokenizer(item, file);
  REQUIRE(tokenizer.vocabulary_size() > 0);
  bool any = false;
  for (const bool special : {false, true}) {
    for (const Ids& ids : tokenizer.encode(some_documents(), special).documents) {
      for (const int32_t id : ids) {
        any = true;
        REQUIRE(id >= 0);
        REQUIRE(static_cast<uint64_t>(id) < tokenizer.vocabulary_size());
      }
    }
  }
  CHECK(any);
}

void a_document_has_the_same_ids_alone_and_in_any_batch(const quench_item& item,
                                                        const TokenizerFile& file) {
  OpenTokenizer tokenizer(item, file);
  const Documents documents = some_documents();
  for (const bool special : {false, true}) {
    const Encoded together = tokenizer.encode(documents, special);
    REQUIRE(together.documents.size() == documents.size());
    for (size_t d = 0; d < documents.size(); d += 7) {
      REQUIRE(tokenizer.encode({documents[d]}, special).documents.at(0) == together.documents[d]);
    }
    const Documents backwards(documents.rbegin(), documents.rend());
    std::vector<Ids> turned = tokenizer.encode(backwards, special).documents;
    std::reverse(turned.begin(), turned.end());
    CHECK(turned == together.documents);
  }
  CHECK(tokenizer.encode({}).documents.empty());
}

void threads_change_nothing(const quench_item& item, const TokenizerFile& file) {
  OpenTokenizer tokenizer(item, file);
  const Documents documents = some_documents();
  const std::vector<Ids> alone = tokenizer.encode(documents).documents;
  for (const uint32_t count : {2u, 4u, 7u}) {
    const TaskThreads threads(count);
    CHECK(tokenizer.encode(documents).documents == alone);
  }
}

void two_open_at_once_do_not_disturb_each_other(const quench_item& item,
                                                const TokenizerFile& file) {
  const Documents documents = some_documents();
  OpenTokenizer one(item, file);
  const std::vector<Ids> before = one.encode(documents).documents;
  {
    OpenTokenizer other(item, file);
    CHECK(other.encode(documents).documents == before);
  }
  CHECK(one.encode(documents).documents == before);
}

void no_memory_is_an_error(const quench_item& item, const TokenizerFile& file) {
  OpenTokenizer tokenizer(item, file);
  const Encoded encoded = tokenizer.encode({"one two"}, false, false);
  CHECK(encoded.status == QUENCH_RESOURCE_EXHAUSTED);
  CHECK(encoded.message != "");
}

void the_first_bad_document_is_named_and_no_memory_asked_for(const quench_item& item,
                                                             const TokenizerFile& file) {
  OpenTokenizer tokenizer(item, file);
  Documents documents = some_documents();
  documents[140] = std::string(70'000, 'x') + "\xff";
  documents[141] = "x\xff";
  documents[290] = "\xff";
  for (const uint32_t count : {1u, 4u}) {
    const TaskThreads threads(count);
    const Encoded encoded = tokenizer.encode(documents);
    if (encoded.status == QUENCH_OK) {
      return;
    }
    CHECK(encoded.status == QUENCH_INVALID_ARGUMENT);
    CHECK_THAT(encoded.message, Catch::StartsWith("document 140: ") && Catch::Contains("70000"));
    CHECK(encoded.allocations == 0);
  }
}

void a_file_cut_anywhere_opens_or_is_refused_with_its_name(const quench_item& item,
                                                           const TokenizerFile& file) {
  const size_t step = std::max<size_t>(1, file.bytes.size() / 300);
  for (size_t size = 0; size < file.bytes.size(); size += step) {
    OpenTokenizer cut(item, file.bytes.substr(0, size), "cut.file");
    if (cut.status() == QUENCH_OK) {
      CHECK(cut.encode({"one two"}).status == QUENCH_OK);
    } else {
      REQUIRE_THAT(cut.message(), Catch::Contains("cut.file"));
    }
  }
}

void a_request_to_stop_ends_a_long_batch(const quench_item& item, const TokenizerFile& file) {
  OpenTokenizer tokenizer(item, file);
  request_cancel(true);
  const Encoded encoded = tokenizer.encode(some_documents());
  request_cancel(false);
  CHECK(encoded.status == QUENCH_CANCELLED);
}

}  // namespace tokenizer_contract

namespace {

using tokenizer_contract::TokenizerFile;

TokenizerFile file_for(const std::string& id) {
  const auto data = source_dir() / "tests";
  if (id == "tokenizer_json") {
    // A seed of the fuzzer is a file, the byte 0xFF and a text.
    const std::string seed = read_file(data / "fuzz/seeds/tokenizer/byte_level.json");
    return {"tokenizer.json", seed.substr(0, seed.find('\xFF'))};
  }
  if (id == "sentencepiece") {
    return {"tokenizer.model", read_file(data / "data/sentencepiece/unigram_bytes.model")};
  }
  return {"tokenizer.words", "?\none\ntwo\n12.5\nthe\nx\n"};
}

template <typename Check>
void for_each_tokenizer(Check check) {
  for (const quench_item* item : items_of(TOKENIZER_LIBRARIES, "tokenizer")) {
    DYNAMIC_SECTION(item->id) {
      check(*item, file_for(item->id));
    }
  }
}

}  // namespace

TEST_CASE("every tokenizer knows its own file by name and no other", "[contract][tokenizers]") {
  for_each_tokenizer(tokenizer_contract::its_own_file_is_known_by_name_and_no_other);
}
TEST_CASE("every tokenizer gives ids of its vocabulary", "[contract][tokenizers]") {
  for_each_tokenizer(tokenizer_contract::ids_are_in_the_vocabulary);
}
TEST_CASE("every tokenizer gives a document the same ids in any batch", "[contract][tokenizers]") {
  for_each_tokenizer(tokenizer_contract::a_document_has_the_same_ids_alone_and_in_any_batch);
}
TEST_CASE("every tokenizer gives the same ids on any number of threads", "[contract][tokenizers]") {
  for_each_tokenizer(tokenizer_contract::threads_change_nothing);
}
TEST_CASE("every tokenizer can be open twice", "[contract][tokenizers]") {
  for_each_tokenizer(tokenizer_contract::two_open_at_once_do_not_disturb_each_other);
}
TEST_CASE("every tokenizer says when there is no memory for ids", "[contract][tokenizers]") {
  for_each_tokenizer(tokenizer_contract::no_memory_is_an_error);
}
TEST_CASE("every tokenizer names the first bad document", "[contract][tokenizers]") {
  for_each_tokenizer(tokenizer_contract::the_first_bad_document_is_named_and_no_memory_asked_for);
}
TEST_CASE("every tokenizer opens or refuses a file that is cut", "[contract][tokenizers]") {
  for_each_tokenizer(tokenizer_contract::a_file_cut_anywhere_opens_or_is_refused_with_its_name);
}
TEST_CASE("every tokenizer stops when it is asked to", "[contract][tokenizers]") {
  for_each_tokenizer(tokenizer_contract::a_request_to_stop_ends_a_long_batch);
}

}  // namespace quench::test
