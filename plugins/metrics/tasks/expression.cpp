#include "metrics/tasks/expression.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

#include "metrics/tasks/pattern.hpp"
#include "metrics/tasks/python_text.hpp"

namespace quench::tasks {

namespace {

constexpr int kMaxDepth = 32;   // of parentheses, lists and arguments
constexpr int kMaxSteps = 256;  // fields, methods and sums per expression; known tasks use ten

[[noreturn]] void refuse(const std::string& what) {
  throw kit::Error(QUENCH_INVALID_ARGUMENT, what);
}

// "; it has a, b", as the end of a message.
std::string fields_of(const Value& record) {
  std::string out;
  if (const auto* object = record.as<Object>()) {
    for (const auto& [name, value] : *object) {
      out += (out.empty() ? "; it has " : ", ") + name;
    }
  }
  return out;
}

// A template, shortened for messages.
std::string shown(const std::string& text) {
  constexpr size_t kShown = 60;  // bytes; a message has little room
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

using Node = std::function<Value(const Value& record)>;
using TextMethod = std::function<Value(const std::string& text)>;

const std::string& text_of(const Value& value, const std::string& what) {
  const auto* text = value.as<std::string>();
  if (text == nullptr) {
    refuse(what + ": got " + value.kind() + ", wanted text");
  }
  return *text;
}

int64_t integer_of(const Value& value, const std::string& what) {
  if (const auto* number = value.as<int64_t>()) {
    return *number;
  }
  refuse(what + ": got " + value.kind() + ", wanted a whole number");
}

// Applies a text method; on a list, applies it to each element.
Value on_each(const Value& value, const std::string& name, const TextMethod& method) {
  if (const auto* list = value.as<List>()) {
    List out;
    for (const Value& element : *list) {
      out.push_back(on_each(element, name, method));
    }
    return out;
  }
  return method(text_of(value, name));
}

Value integer_in(const std::string& text) {
  const std::string digits = strip(text);
  int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) {
    refuse("int: \"" + shown(text) + "\" is not a whole number");
  }
  return value;
}

// The part of the text before or after the first `separator`.
Value part_of(const std::string& text, const std::string& separator, bool before) {
  const size_t at = text.find(separator);
  if (separator.empty() || at == std::string::npos) {
    refuse("\"" + shown(separator) + "\" is not in \"" + shown(text) + "\"");
  }
  return before ? text.substr(0, at) : text.substr(at + separator.size());
}

Value index_of(const Value& value, const Value& wanted) {
  if (const auto* list = value.as<List>()) {
    const auto found = std::find(list->begin(), list->end(), wanted);
    if (found != list->end()) {
      return static_cast<int64_t>(found - list->begin());
    }
  } else if (const auto* text = value.as<std::string>()) {
    const size_t found = text->find(text_of(wanted, "index"));
    if (found != std::string::npos) {
      return static_cast<int64_t>(length_of(std::string_view(*text).substr(0, found)));
    }
  } else {
    refuse(std::string("index: got ") + value.kind() + ", wanted a list or text");
  }
  refuse("index: the value is not in the list or text");
}

Value joined(const Value& value, const std::string& separator) {
  const auto* list = value.as<List>();
  if (list == nullptr) {
    refuse(std::string("join: got ") + value.kind() + ", wanted a list");
  }
  std::string out;
  for (size_t i = 0; i < list->size(); ++i) {
    out += (i > 0 ? separator : "") + (*list)[i].text();
    check_length(out.size());
  }
  return out;
}

Value length_in(const Value& value) {
  if (const auto* list = value.as<List>()) {
    return static_cast<int64_t>(list->size());
  }
  return static_cast<int64_t>(length_of(text_of(value, "length")));
}

Value sum(const Value& a, const Value& b) {
  if (a.as<int64_t>() != nullptr && b.as<int64_t>() != nullptr) {
    int64_t out = 0;
    if (__builtin_add_overflow(*a.as<int64_t>(), *b.as<int64_t>(), &out)) {
      refuse("+: the sum does not fit 64 bits");
    }
    return out;
  }
  if (const auto* list = a.as<List>(); list != nullptr && b.as<List>() != nullptr) {
    List out = *list;
    out.insert(out.end(), b.as<List>()->begin(), b.as<List>()->end());
    return out;
  }
  check_length(text_of(a, "+").size() + text_of(b, "+").size());
  return text_of(a, "+") + text_of(b, "+");
}

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Node whole() {
    Node node = expression();
    skip();
    if (at_ != text_.size()) {
      refuse("unexpected `" + text_.substr(at_) + "`");
    }
    return node;
  }

 private:
  using Arguments = std::vector<Node>;

  Node expression() {
    if (++depth_ > kMaxDepth) {
      refuse("nested too deeply");
    }
    Node left = postfix();
    for (;;) {
      if (eat('+')) {
        step();
        left = [a = std::move(left), b = postfix()](const Value& r) { return sum(a(r), b(r)); };
      } else if (eat('-')) {
        step();
        left = [a = std::move(left), b = postfix()](const Value& r) -> Value {
          int64_t out = 0;
          if (__builtin_sub_overflow(integer_of(a(r), "-"), integer_of(b(r), "-"), &out)) {
            refuse("-: the difference does not fit 64 bits");
          }
          return out;
        };
      } else {
        break;
      }
    }
    --depth_;
    return left;
  }

  // Each step nests one call deeper than the one before.
  void step() {
    if (++steps_ > kMaxSteps) {
      refuse("more than " + std::to_string(kMaxSteps) + " fields, methods and sums");
    }
  }

  Node postfix() {
    Node node = primary();
    for (;;) {
      if (eat('.')) {
        step();
        const std::string name = word();
        node = eat('(') ? method(std::move(node), name, arguments(')'))
                        : member(std::move(node), name);
      } else if (eat('[')) {
        step();
        Node index = expression();
        expect(']');
        node = [of = std::move(node), index = std::move(index)](const Value& r) {
          const Value at = index(r);
          return element(of(r), at.text());
        };
      } else {
        return node;
      }
    }
  }

  Node primary() {
    skip();
    if (at_ == text_.size()) {
      refuse("an expression is missing");
    }
    const char c = text_[at_];
    if (c == '"' || c == '\'') {
      return [text = literal()](const Value&) -> Value { return text; };
    }
    if (eat('(')) {
      Node inside = expression();
      expect(')');
      return inside;
    }
    if (eat('[')) {
      return [elements = arguments(']')](const Value& r) -> Value {
        List list;
        for (const Node& element : elements) {
          list.push_back(element(r));
        }
        return list;
      };
    }
    const std::string name = word();
    if (name.front() >= '0' && name.front() <= '9') {
      return [value = integer_in(name)](const Value&) { return value; };
    }
    return [name](const Value& record) {
      const Value* field = record.find(name);
      if (field == nullptr) {
        refuse("the record has no field `" + name + "`" + fields_of(record));
      }
      return *field;
    };
  }

  static Value element(const Value& of, const std::string& name) {
    if (const Value* found = of.find(name)) {
      return *found;
    }
    const auto* list = of.as<List>();
    if (list == nullptr) {
      refuse("no `" + name + "` in " + of.kind());
    }
    const Value index = integer_in(name);
    const int64_t at = *index.as<int64_t>();
    if (at < 0 || at >= static_cast<int64_t>(list->size())) {
      refuse("[" + name + "] of a list of " + std::to_string(list->size()));
    }
    return (*list)[static_cast<size_t>(at)];
  }

  static Node member(Node of, const std::string& name) {
    return [of = std::move(of), name](const Value& r) { return element(of(r), name); };
  }

  // Calls the method `name`; it must have exactly the arguments that it takes.
  static Node method(Node of, const std::string& name, Arguments given) {
    struct Known {
      size_t least;
      size_t most;
    };
    static const std::map<std::string, Known> kKnown = {
        {"strip", {0, 1}},   {"lstrip", {0, 1}},     {"rstrip", {0, 1}},  {"lower", {0, 0}},
        {"upper", {0, 0}},   {"capitalize", {0, 0}}, {"replace", {2, 2}}, {"sub", {2, 2}},
        {"findall", {1, 1}}, {"from", {1, 1}},       {"before", {1, 1}},  {"after", {1, 1}},
        {"int", {0, 0}},     {"index", {1, 1}},      {"join", {1, 1}},    {"length", {0, 0}}};
    const auto known = kKnown.find(name);
    if (known == kKnown.end()) {
      refuse("unknown method `" + name + "`");
    }
    if (given.size() < known->second.least || given.size() > known->second.most) {
      refuse("`" + name + "`: got " + std::to_string(given.size()) + " arguments, wanted " +
             std::to_string(known->second.most));
    }
    return [of = std::move(of), name, given = std::move(given)](const Value& r) {
      List arguments;
      for (const Node& argument : given) {
        arguments.push_back(argument(r));
      }
      return call(of(r), name, arguments);
    };
  }

  static Value call(const Value& of, const std::string& name, const List& given) {
    if (name == "index") {
      return index_of(of, given[0]);
    }
    if (name == "join") {
      return joined(of, text_of(given[0], name));
    }
    if (name == "length") {
      return length_in(of);
    }
    if (name == "int" && of.as<int64_t>() != nullptr) {
      return of;
    }
    if (name == "from") {
      const int64_t first = std::max<int64_t>(0, integer_of(given[0], name));
      return on_each(of, name, [&](const std::string& text) -> Value {
        return from(text, static_cast<size_t>(first));
      });
    }
    if (name == "sub" || name == "findall") {
      const Pattern pattern(text_of(given[0], name));
      return on_each(of, name, [&](const std::string& text) -> Value {
        if (name == "sub") {
          return pattern.substitute(text, text_of(given[1], name));
        }
        List list;
        for (std::string& found : pattern.find_all(text)) {
          list.emplace_back(std::move(found));
        }
        return list;
      });
    }
    const std::string first = given.empty() ? "" : text_of(given[0], name);
    const std::string second = given.size() < 2 ? "" : text_of(given[1], name);
    return on_each(of, name, [&](const std::string& text) -> Value {
      return name == "strip"        ? strip(text, first)
             : name == "lstrip"     ? strip_left(text, first)
             : name == "rstrip"     ? strip_right(text, first)
             : name == "lower"      ? lower(text)
             : name == "upper"      ? upper(text)
             : name == "capitalize" ? capitalize(text)
             : name == "replace"    ? Value(replace(text, first, second))
             : name == "int"        ? integer_in(text)
                                    : part_of(text, first, name == "before");
    });
  }

  // Expressions up to `close`, which is consumed.
  Arguments arguments(char close) {
    Arguments out;
    if (eat(close)) {
      return out;
    }
    do {
      out.push_back(expression());
    } while (eat(','));
    expect(close);
    return out;
  }

  std::string word() {
    skip();
    size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_')) {
      ++end;
    }
    if (end == at_) {
      refuse("unexpected `" + text_.substr(at_) + "`");
    }
    const std::string out = text_.substr(at_, end - at_);
    at_ = end;
    return out;
  }

  // A quoted text. A backslash escapes n, t, \ and the quote; other pairs stay unchanged.
  std::string literal() {
    const char quote = text_[at_++];
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        const char next = text_[at_++];
        if (next != 'n' && next != 't' && next != '\\' && next != quote) {
          out += c;
        }
        c = next == 'n' ? '\n' : next == 't' ? '\t' : next;
      }
      out += c;
    }
    if (at_ == text_.size()) {
      refuse("a quoted text does not end");
    }
    ++at_;
    return out;
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) {
      ++at_;
    }
  }
  bool eat(char c) {
    skip();
    const bool there = at_ < text_.size() && text_[at_] == c;
    at_ += there ? 1 : 0;
    return there;
  }
  void expect(char c) {
    if (!eat(c)) {
      refuse(std::string("`") + c + "` is missing");
    }
  }

  const std::string& text_;
  size_t at_ = 0;
  int depth_ = 0;
  int steps_ = 0;
};

}  // namespace

struct Template::Part {
  std::string text;  // if there is no node
  Node node;
};

Template::Template(const std::string& text) : source_(text) {
  std::vector<Part> parts;
  try {
    for (size_t at = 0; at < text.size();) {
      const size_t open = text.find("{{", at);
      if (open != at) {
        parts.push_back({text.substr(at, open - at), {}});
      }
      if (open == std::string::npos) {
        break;
      }
      const size_t close = text.find("}}", open);
      if (close == std::string::npos) {
        refuse("`}}` is missing");
      }
      parts.push_back({"", Parser(text.substr(open + 2, close - open - 2)).whole()});
      at = close + 2;
    }
  } catch (const kit::Error& error) {
    refuse("template `" + shown(source_) + "`: " + error.what());
  }
  parts_ = std::make_shared<const std::vector<Part>>(std::move(parts));
}

Value Template::value(const Value& record) const {
  try {
    if (parts_->size() == 1 && parts_->front().node) {
      return parts_->front().node(record);
    }
    std::string out;
    for (const Part& part : *parts_) {
      out += part.node ? part.node(record).text() : part.text;
    }
    return out;
  } catch (const kit::Error& error) {
    refuse("template `" + shown(source_) + "`: " + error.what());
  }
}

}  // namespace quench::tasks
