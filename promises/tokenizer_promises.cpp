// What every tokenizer must do, whatever its files are.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "promises/candidate.hpp"
#include "promises/kinds.hpp"
#include "promises/tensors.hpp"
#include "quench/abi/kind/tokenizer.h"

namespace quench::promises {

namespace {

namespace fs = std::filesystem;
using Documents = std::vector<std::string>;
using Ids = std::vector<int32_t>;

// A file that the tokenizer takes, under the name that such files have.
struct TokenizerFile {
  std::string name;
  std::string bytes;
};

std::string content_of(const fs::path& path) {
  std::ostringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}

int32_t score_of(Candidate& candidate, const std::string& name, const std::string& bytes) {
  const quench_file_head head = {sizeof head, name.c_str(), bytes.data(),
                                 std::min<uint64_t>(bytes.size(), 4096), bytes.size()};
  quench_error error{sizeof error, 0, {}};
  return table_of<quench_tokenizer_table>(candidate).probe(&head, &error);
}

// The sample, or the file of its folder that the tokenizer likes best.
TokenizerFile file_of(Candidate& candidate) {
  const fs::path sample = candidate.sample();
  if (fs::is_regular_file(sample)) {
    return {sample.filename().string(), content_of(sample)};
  }
  TokenizerFile best;
  int32_t most = 0;
  if (fs::is_directory(sample)) {
    for (const fs::directory_entry& entry : fs::directory_iterator(sample)) {
      constexpr uint64_t kMost = uint64_t{64} << 20;
      if (entry.is_regular_file() && entry.file_size() <= kMost) {
        TokenizerFile file{entry.path().filename().string(), content_of(entry.path())};
        if (const int32_t score = score_of(candidate, file.name, file.bytes); score > most) {
          most = score;
          best = std::move(file);
        }
      }
    }
  }
  if (most == 0) {
    skip("there is no file for it to read: name one, or its folder, with --checkpoint");
  }
  return best;
}

// What `encode` gave, or why it gave nothing.
struct Encoded {
  std::vector<Ids> documents;
  quench_status status = QUENCH_OK;
  std::string message;
  int allocations = 0;
};

class OpenTokenizer {
 public:
  OpenTokenizer(Candidate& candidate, const std::string& bytes, const std::string& name)
      : table_(table_of<quench_tokenizer_table>(candidate)) {
    const std::string json = complete(candidate, {});
    status_ = table_.open(bytes.data(), bytes.size(), name.c_str(), json.data(), json.size(),
                          &encoder_, &error_);
  }
  OpenTokenizer(Candidate& candidate, const TokenizerFile& file)
      : OpenTokenizer(candidate, file.bytes, file.name) {
    expect(status_ == QUENCH_OK, "open: {}: got the error \"{}\"", file.name, message());
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
    expect(collected.calls == 1, "encode: asks for memory {} times, wanted once", collected.calls);
    expect(collected.ids.back() == -7, "encode: writes behind the ids that it asked memory for");
    auto at = collected.ids.begin();
    for (const uint64_t count : collected.counts) {
      out.documents.emplace_back(at, at + static_cast<ptrdiff_t>(count));
      at += static_cast<ptrdiff_t>(count);
    }
    return out;
  }
  std::vector<Ids> ids_of(const Documents& documents, bool special = false) {
    Encoded encoded = encode(documents, special);
    expect(encoded.status == QUENCH_OK, "encode: got the error \"{}\"", encoded.message);
    return std::move(encoded.documents);
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

void expect_same_ids(const std::vector<Ids>& got, const std::vector<Ids>& wanted, const char* as) {
  expect(got.size() == wanted.size(), "{} documents {}, wanted {}", got.size(), as, wanted.size());
  for (size_t d = 0; d < got.size(); ++d) {
    expect_same(fmt::format("document {}", d), got[d], wanted[d], as);
  }
}

void other_files_are_left_alone(Candidate& candidate) {
  const auto at_most = [&](const char* name, const std::string& bytes, int32_t most) {
    const int32_t score = score_of(candidate, name, bytes);
    expect(score >= 0 && score <= most, "probe: gives a file '{}' {} points, wanted at most {}",
           name, score, most);
  };
  at_most("config.json", R"({"model_type": "llama"})", QUENCH_TOKENIZER_BY_NAME - 1);
  at_most("model.safetensors", std::string("\x40\0\0\0\0\0\0\0{\"a\"", 12), 0);
  at_most("pytorch_model.bin", "PK\x03\x04", 0);
  at_most("README.md", "# A model\n", 0);
  at_most("", "", 0);
}

void its_own_file_is_known_by_name(Candidate& candidate) {
  const TokenizerFile file = file_of(candidate);
  const int32_t score = score_of(candidate, file.name, file.bytes);
  expect(score >= QUENCH_TOKENIZER_BY_NAME, "probe: gives its file {} {} points, wanted {} or more",
         file.name, score, QUENCH_TOKENIZER_BY_NAME);
}

void ids_are_in_the_vocabulary(Candidate& candidate) {
  OpenTokenizer tokenizer(candidate, file_of(candidate));
  const uint64_t size = tokenizer.vocabulary_size();
  expect(size > 0, "vocabulary_size is 0");
  bool any = false;
  for (const bool special : {false, true}) {
    for (const Ids& ids : tokenizer.ids_of(some_documents(), special)) {
      for (const int32_t id : ids) {
        any = true;
        expect(id >= 0 && static_cast<uint64_t>(id) < size, "an id is {}, wanted 0..{}", id,
               size - 1);
      }
    }
  }
  expect(any, "300 documents have no id at all");
}

void a_document_has_the_same_ids_in_any_batch(Candidate& candidate) {
  OpenTokenizer tokenizer(candidate, file_of(candidate));
  const Documents documents = some_documents();
  for (const bool special : {false, true}) {
    const std::vector<Ids> together = tokenizer.ids_of(documents, special);
    for (size_t d = 0; d < documents.size(); d += 7) {
      expect_same(fmt::format("document {}", d), tokenizer.ids_of({documents[d]}, special).at(0),
                  together.at(d), "alone");
    }
    const Documents backwards(documents.rbegin(), documents.rend());
    std::vector<Ids> turned = tokenizer.ids_of(backwards, special);
    std::reverse(turned.begin(), turned.end());
    expect_same_ids(turned, together, "in a batch that is turned round");
  }
  expect(tokenizer.ids_of({}).empty(), "a batch of no documents has some");
}

void threads_change_nothing(Candidate& candidate) {
  const TokenizerFile file = file_of(candidate);
  const Documents documents = some_documents();
  std::vector<Ids> alone;
  for (const uint32_t count : {1U, 2U, 4U, 7U}) {
    candidate.set_threads(count);
    const std::vector<Ids> ids = OpenTokenizer(candidate, file).ids_of(documents);
    candidate.set_threads(1);
    if (count == 1) {
      alone = ids;
    }
    expect_same_ids(ids, alone, "on several threads");
  }
}

void two_open_at_once_do_not_disturb_each_other(Candidate& candidate) {
  const TokenizerFile file = file_of(candidate);
  const Documents documents = some_documents();
  OpenTokenizer one(candidate, file);
  const std::vector<Ids> before = one.ids_of(documents);
  expect_same_ids(OpenTokenizer(candidate, file).ids_of(documents), before, "in a second one");
  expect_same_ids(one.ids_of(documents), before, "after a second one was closed");
}

void no_memory_is_an_error(Candidate& candidate) {
  OpenTokenizer tokenizer(candidate, file_of(candidate));
  const Encoded encoded = tokenizer.encode({"one two"}, false, false);
  expect(encoded.status == QUENCH_RESOURCE_EXHAUSTED && !encoded.message.empty(),
         "encode: got status {} (\"{}\"), wanted RESOURCE_EXHAUSTED with a message", encoded.status,
         encoded.message);
}

void the_first_bad_document_is_named(Candidate& candidate) {
  const TokenizerFile file = file_of(candidate);
  Documents documents = some_documents();
  documents[140] = std::string(70'000, 'x') + "\xff";
  documents[141] = "x\xff";
  documents[290] = "\xff";
  for (const uint32_t count : {1U, 4U}) {
    candidate.set_threads(count);
    const Encoded encoded = OpenTokenizer(candidate, file).encode(documents);
    candidate.set_threads(1);
    if (encoded.status == QUENCH_OK) {
      skip("it takes bytes that are no UTF-8");
    }
    expect(encoded.status == QUENCH_INVALID_ARGUMENT &&
               encoded.message.find("document 140: ") != std::string::npos &&
               encoded.message.find("70000") != std::string::npos,
           "encode: got status {} (\"{}\"), wanted INVALID_ARGUMENT, \"document 140: \" and the "
           "byte 70000",
           encoded.status, encoded.message);
    expect(encoded.allocations == 0, "encode: asks for memory, though a document is bad");
  }
}

void a_cut_file_opens_or_is_refused(Candidate& candidate) {
  const TokenizerFile file = file_of(candidate);
  const size_t step = std::max<size_t>(1, file.bytes.size() / 300);
  for (size_t size = 0; size < file.bytes.size(); size += step) {
    OpenTokenizer cut(candidate, file.bytes.substr(0, size), "cut.file");
    if (cut.status() == QUENCH_OK) {
      cut.ids_of({"one two"});
    } else {
      expect(cut.message().find("cut.file") != std::string::npos,
             "open: the first {} bytes of {}: got the error \"{}\", wanted the file's name in it",
             size, file.name, cut.message());
    }
  }
}

void a_request_to_stop_ends_a_long_batch(Candidate& candidate) {
  OpenTokenizer tokenizer(candidate, file_of(candidate));
  candidate.request_cancel(true);
  const Encoded encoded = tokenizer.encode(some_documents());
  candidate.request_cancel(false);
  expect(encoded.status == QUENCH_CANCELLED, "encode: got status {} (\"{}\"), wanted CANCELLED",
         encoded.status, encoded.message);
}

constexpr Promise kPromises[] = {
    {"files that are not its own are left alone", other_files_are_left_alone},
    {"its own file is known by its name", its_own_file_is_known_by_name},
    {"ids are in the vocabulary", ids_are_in_the_vocabulary},
    {"a document has the same ids alone and in any batch",
     a_document_has_the_same_ids_in_any_batch},
    {"the number of threads changes nothing", threads_change_nothing},
    {"two that are open at once do not disturb each other",
     two_open_at_once_do_not_disturb_each_other},
    {"no memory for ids is an error", no_memory_is_an_error},
    {"the first bad document is named", the_first_bad_document_is_named},
    {"a file that is cut opens, or is refused by name", a_cut_file_opens_or_is_refused},
    {"a request to stop ends a long batch", a_request_to_stop_ends_a_long_batch},
};

}  // namespace

std::span<const Promise> tokenizer_promises() {
  return kPromises;
}

}  // namespace quench::promises
