#include "core/base/json/parse_json.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace quench {

namespace {

using nlohmann::json;

// An input iterator that tells the handler how far the lexer has read: events carry no position.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  const char** furthest_;
};

// Builds the document from the parser's events and refuses what the parser would accept.
class Builder final : public nlohmann::json_sax<json> {
 public:
  Builder(std::string_view text, const std::string& name, const JsonLimits& limits)
      : text_(text), name_(name), limits_(limits), furthest_(text.data()) {}

  const char** furthest() { return &furthest_; }
  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { refuse("a binary value"); }

  bool start_object(std::size_t) override { return open(json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_array() override { return close(); }

  bool key(string_t& value) override {
    auto& members = open_.back()->get_ref<json::object_t&>();
    const auto [member, is_new] = members.try_emplace(std::move(value));
    member_ = &*member;
    if (!is_new) {
      refuse("duplicate key '" + printable(member->first) + "'");
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override {
    refuse_python_number();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
    std::string detail = error.what();
    for (const std::string_view marker : {"column ", "] "}) {
      const size_t at = detail.find(marker);
      if (at != std::string::npos) {
        const size_t colon = marker == "] " ? at : detail.find(": ", at);
        detail = detail.substr(colon == std::string::npos ? at : colon + 2);
        break;
      }
    }
    refuse(printable(detail, 200));
  }

 private:
  // Python writes these, and its readers take them.
  void refuse_python_number() const {
    const auto at = static_cast<size_t>(furthest_ - text_.data());
    const std::string_view rest = text_.substr(at == 0 ? 0 : std::min(at - 1, text_.size()));
    for (const std::string_view number : {"NaN", "Infinity"}) {
      if (rest.starts_with(number)) {
        const bool member = !open_.empty() && open_.back()->is_object() && member_ != nullptr;
        refuse(fmt::format("{}{}, wanted a number or null",
                           member ? "'" + printable(member_->first, 60) + "': " : "", number));
      }
    }
  }

  // Line and column count from 1, columns in bytes. The place is where the lexer stands: at the
  // last character of the offending token, one further after a number.
  [[noreturn]] void refuse(const std::string& what) const {
    const size_t read =
        std::min<size_t>(static_cast<size_t>(furthest_ - text_.data()), text_.size());
    const std::string_view before = text_.substr(0, read == 0 ? 0 : read - 1);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t newline = before.rfind('\n');
    const size_t column =
        newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
    fail(QUENCH_INVALID_ARGUMENT, "{}:{}:{}: invalid JSON: {}", name_, line, column, what);
  }

  template <typename Value>
  json* place(Value&& value) {
    if (++values_ > limits_.max_values) {
      refuse(fmt::format("more than {} values", limits_.max_values));
    }
    if (open_.empty()) {
      root_ = std::forward<Value>(value);
      return &root_;
    }
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::forward<Value>(value));
      return &parent.back();
    }
    return &(member_->second = std::forward<Value>(value));
  }

  template <typename Value>
  bool add(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }

  bool open(json&& container) {
    if (open_.size() == limits_.max_depth) {
      refuse(fmt::format("nested deeper than {} levels", limits_.max_depth));
    }
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  const std::string& name_;
  const JsonLimits& limits_;
  const char* furthest_;
  json root_;
  // Pointers stay valid: a container grows only after its last child container was closed.
  std::vector<json*> open_;
  json::object_t::value_type* member_ = nullptr;  // whose value comes next
  size_t values_ = 0;
};

}  // namespace

json parse_json(std::string_view text, const std::string& name, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} bytes of JSON, wanted at most {}", name, text.size(),
         limits.max_bytes);
  }
  // The parser takes a NUL for the end; in JSON there is none, not even inside a text.
  if (const size_t nul = text.find('\0'); nul != std::string_view::npos) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: byte {} is a NUL, wanted JSON to the end", name, nul);
  }
  Builder builder(text, name, limits);
  json::sax_parse(CountingIterator(text.data(), builder.furthest()),
                  CountingIterator(text.data() + text.size(), builder.furthest()), &builder);
  return builder.take();
}

uint64_t json_unsigned(const json& value, const std::string& where) {
  if (value.is_number_unsigned()) {
    return value.get<uint64_t>();
  }
  // A value built in C++ from a signed integer is not tagged unsigned.
  if (value.is_number_integer() && value.get<int64_t>() >= 0) {
    return static_cast<uint64_t>(value.get<int64_t>());
  }
  fail(QUENCH_INVALID_ARGUMENT, "{}: {}, wanted a non-negative integer", where,
       printable(value.dump(), 40));
}

}  // namespace quench
