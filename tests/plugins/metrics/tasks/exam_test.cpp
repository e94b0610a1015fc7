#include "metrics/tasks/exam.hpp"

#include <catch2/catch.hpp>

namespace quench::tasks {

namespace {

// Ids are bytes, but "t: y" is one token, and a beginning or an end may be added.
class Tokenizer {
 public:
  static constexpr int32_t kSpanning = 300;
  static constexpr int32_t kBegin = 301;

  explicit Tokenizer(bool begins) : begins_(begins) {
    args_.struct_size = sizeof args_;
    args_.tokenizer = &view_;
    view_ = {sizeof view_, this,
             [](void* context, const char* text, uint64_t bytes, int32_t special,
                const int32_t** ids, uint64_t* count, quench_error*) noexcept {
               auto& self = *static_cast<Tokenizer*>(context);
               self.encode({text, bytes}, special != 0);
               *ids = self.ids_.data();
               *count = self.ids_.size();
               return QUENCH_OK;
             }};
  }
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  kit::Evaluation evaluation() const { return kit::Evaluation(args_); }

 private:
  void encode(std::string_view text, bool special) {
    ids_.clear();
    if (special && begins_) {
      ids_.push_back(kBegin);
    }
    while (!text.empty()) {
      const bool spans = text.starts_with("t: y");
      ids_.push_back(spans ? kSpanning : text.front());
      text.remove_prefix(spans ? 4 : 1);
    }
  }

  bool begins_;
  std::vector<int32_t> ids_;
  quench_tokenizer view_{};
  quench_evaluate_args args_{};
};

Exam with(const std::string& context, const std::string& continuation) {
  Exam exam;
  exam.task.name = "my";
  exam.items.resize(1);
  exam.items[0].requests = {{context, continuation}};
  return exam;
}

struct Encoded {
  std::vector<int32_t> before;
  std::vector<int32_t> scored;
  uint64_t alone = 0;
  std::string fault;
};

Encoded encoded(const std::string& context, const std::string& continuation,
                std::optional<int32_t> prefix = {}, bool begins = false) {
  const Tokenizer tokenizer(begins);
  ExamSettings settings;
  settings.max_length = 8;
  settings.prefix = prefix;
  Exam exam = with(context, continuation);
  Encoded out;
  try {
    const std::vector<ScoredText> texts = encode(exam, settings, tokenizer.evaluation());
    REQUIRE(texts.size() == 1);
    const auto middle = texts[0].ids.begin() + static_cast<ptrdiff_t>(texts[0].scored_from);
    out.before.assign(texts[0].ids.begin(), middle);
    out.scored.assign(middle, texts[0].ids.end());
  } catch (const kit::Error& error) {
    CHECK(error.code() == QUENCH_INVALID_ARGUMENT);
    out.fault = error.what();
  }
  out.alone = exam.encoded_alone;
  return out;
}

}  // namespace

TEST_CASE("exam: an empty prompt stands behind what the tokenizer adds, else behind `prefix`",
          "[metrics][tasks]") {
  const std::vector<int32_t> cat = {' ', 'c', 'a', 't'};
  CHECK(encoded("", " cat", {}, true).before == std::vector<int32_t>{Tokenizer::kBegin});
  CHECK(encoded("", " cat", 9, true).before == std::vector<int32_t>{Tokenizer::kBegin});
  const Encoded prefixed = encoded("", " cat", 9);
  CHECK(prefixed.before == std::vector<int32_t>{9});
  CHECK(prefixed.scored == cat);
  const Encoded blank = encoded("  ", "cat", 9);  // white space goes over to the choice
  CHECK(blank.before == std::vector<int32_t>{9});
  CHECK(blank.scored.size() == 5);
  const Encoded begun = encoded("", "cat", 'c');  // the prefix is not given twice
  CHECK(begun.before == std::vector<int32_t>{'c'});
  CHECK(begun.scored == std::vector<int32_t>{'a', 't'});
  CHECK(encoded("a", " cat", 9).before == std::vector<int32_t>{'a'});
  CHECK(encoded("", " cat").fault ==
        "task my, question 0: the prompt is empty and the tokenizer puts no id before it; wanted "
        "`prefix`, the text of the token that stands there (lm-eval: the tokenizer's BOS, else its "
        "EOS)");
}

TEST_CASE("exam: where a token spans prompt and choice the choice is encoded alone, and counted",
          "[metrics][tasks]") {
  // "t:" is two ids, "t: y" one.
  const Encoded spanned = encoded("t:", " y");
  CHECK(spanned.fault.empty());
  CHECK(spanned.before == std::vector<int32_t>{'t', ':'});
  CHECK(spanned.scored == std::vector<int32_t>{' ', 'y'});
  CHECK(spanned.alone == 1);
  const Encoded kept = encoded("t:", " yes");  // of which something is left
  CHECK(kept.before == std::vector<int32_t>{'t', ':'});
  CHECK(kept.scored == std::vector<int32_t>{'s'});
  CHECK(kept.alone == 0);
}

TEST_CASE("exam: a task of which no question can be scored names one, and what is wrong",
          "[metrics][tasks]") {
  CHECK(encoded("t:", "").fault == "task my, question 0: no id is left to score");
  CHECK(encoded("a", "123456789").fault ==
        "task my, question 0: 1 ids of context and 9 to score, but the model sees 8");
}

TEST_CASE("exam: a question that cannot be scored is left out, and the others are asked",
          "[metrics][tasks]") {
  const Tokenizer tokenizer(false);
  ExamSettings settings;
  settings.max_length = 8;
  Exam exam;
  exam.task.name = "my";
  const std::vector<std::vector<Request>> questions = {
      {{"a", " b"}, {"a", " c"}},
      {{"t:", " y"}, {"123456789", " c"}, {"t:", ""}},  // counts, before its last choice fails
      {{"", " b"}},
      {{"a", " 12345678"}},
      {{"t:", " y"}},
      {{"123456789", " d"}}};
  for (const std::vector<Request>& requests : questions) {
    exam.items.push_back(
        {exam.items.size(), requests, std::vector<std::string>(requests.size(), "x"), 0, 0, 0});
  }
  const std::vector<ScoredText> texts = encode(exam, settings, tokenizer.evaluation());
  REQUIRE(exam.items.size() == 3);
  CHECK(exam.items[0].number == 0);
  CHECK(exam.items[1].number == 4);
  CHECK(exam.items[2].number == 5);
  REQUIRE(texts.size() == 4);
  CHECK(texts[0].ids == std::vector<int32_t>{'a', ' ', 'b'});
  CHECK(texts[1].ids == std::vector<int32_t>{'a', ' ', 'c'});
  CHECK(texts[2].ids == std::vector<int32_t>{'t', ':', ' ', 'y'});
  CHECK(texts[3].ids == std::vector<int32_t>{'3', '4', '5', '6', '7', '8', '9', ' ', 'd'});
  CHECK(exam.encoded_alone == 1);  // of the questions that are asked
  CHECK(exam.truncated == 1);
  REQUIRE(exam.left_out.size() == 3);
  CHECK(exam.left_out[0].number == 1);
  CHECK(exam.left_out[0].why == "no id is left to score");
  CHECK(exam.left_out[1].number == 2);
  CHECK_THAT(exam.left_out[1].why, Catch::StartsWith("the prompt is empty"));
  CHECK(exam.left_out[2].why == "1 ids of context and 9 to score, but the model sees 8");

  mark(exam, {-1, -2, -3, -4});
  CHECK(exam.items[1].requests[0].log_likelihood == -3);
  CHECK(exam.items[2].requests[0].log_likelihood == -4);
}

TEST_CASE("exam: a message that its end has cut within a character stays text",
          "[metrics][tasks]") {
  CHECK(without_torn_end("a\xc3") == "a");
  CHECK(without_torn_end("ab") == "ab");
}

}  // namespace quench::tasks
