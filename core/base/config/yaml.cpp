#include "core/base/config/yaml.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_map>

#include "core/base/config/yaml_fault.hpp"
#include "core/error.hpp"

namespace quench {

std::string Place::text() const {
  return line > 0 ? fmt::format("{}:{}:{}", file, line, column) : file;
}

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const Member& member : members) {
    if (member.key == key) {
      return &member.value;
    }
  }
  return nullptr;
}

std::string YamlNode::described() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kSequence:
      return items.empty() ? "an empty list" : "a list";
    case Kind::kMapping:
      return members.empty() ? "an empty mapping" : "a mapping";
    case Kind::kScalar:
      break;
  }
  const nlohmann::json value = yaml_to_json(*this);
  if (value.is_string()) {
    return fmt::format("the text \"{}\"", printable(scalar, 60));
  }
  return fmt::format("{} {}", value.is_boolean() ? "the word" : "the number", scalar);
}

namespace {

// The escapes \N and \_ of a quoted text are U+0085 and U+00A0; yaml-cpp writes one byte for each.
std::string with_whole_escapes(std::string_view text) {
  std::string out;
  for (size_t at = first_invalid_utf8(text); at != std::string_view::npos;
       at = first_invalid_utf8(text)) {
    out.append(text.substr(0, at)).append(1, '\xC2').append(1, text[at]);
    text.remove_prefix(at + 1);
  }
  return out.append(text);
}

// Builds the tree from the parser's events and refuses what this reader does not support.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string file) : file_(std::move(file)) {}

  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    add(YamlNode{YamlNode::Kind::kNull, place(mark), {}, false, {}, {}});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse(mark, "aliases (*name) are not supported here; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    if (tag != "?" && tag != "!" && !tag.empty()) {
      refuse(mark, fmt::format("the tag {} is not supported here", printable(tag)));
    }
    const bool quoted = tag == "!";
    if (!quoted && (value == "~" || value == "null" || value.empty())) {
      add(YamlNode{YamlNode::Kind::kNull, place(mark), value, false, {}, {}});
      return;
    }
    add(YamlNode{YamlNode::Kind::kScalar,
                 place(mark),
                 quoted ? with_whole_escapes(value) : value,
                 quoted,
                 {},
                 {}});
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, YamlNode::Kind::kMapping);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    YamlNode node;
    std::string key;  // key of the member whose value comes next
    Place key_place;
    bool has_key = false;
    std::unordered_map<std::string, int> lines;  // line of each key so far
  };

  Place place(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }
  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& why) const {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}", place(mark).text(), why);
  }
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (anchor != 0) {
      refuse(mark, "anchors (&name) are not supported here; write the value out");
    }
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    refuse_anchor(mark, anchor);
    if (tag != "?" && tag != "!" && !tag.empty()) {
      refuse(mark, fmt::format("the tag {} is not supported here", printable(tag)));
    }
    if (!stack_.empty() && stack_.back().node.is_mapping() && !stack_.back().has_key) {
      refuse(mark, "a key must be a word or a number (or a bracket is not closed)");
    }
    if (stack_.size() >= kYamlMaxDepth) {
      refuse(mark, fmt::format("nested deeper than {} levels", kYamlMaxDepth));
    }
    stack_.push_back({YamlNode{kind, place(mark), {}, false, {}, {}}, {}, {}, false, {}});
  }

  void close() {
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(node));
  }

  void add(YamlNode node) {
    if (++count_ > kYamlMaxNodes) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: more than {} values", node.place.text(), kYamlMaxNodes);
    }
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = stack_.back();
    if (parent.node.is_sequence()) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    if (!parent.has_key) {
      take_key(parent, node);
      return;
    }
    parent.node.members.push_back({parent.key, parent.key_place, std::move(node)});
    parent.has_key = false;
  }

  void take_key(Open& parent, const YamlNode& node) const {
    if (!node.is_scalar()) {
      fail(QUENCH_INVALID_ARGUMENT,
           "{}: a key must be a word or a number (or a bracket is not closed)", node.place.text());
    }
    if (node.scalar == "<<" && !node.quoted) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: merge keys (<<) are not supported here",
           node.place.text());
    }
    const auto [first, added] = parent.lines.emplace(node.scalar, node.place.line);
    if (!added) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: key `{}` is given twice, first in line {}",
           node.place.text(), printable(node.scalar), first->second);
    }
    parent.key = node.scalar;
    parent.key_place = node.place;
    parent.has_key = true;
  }

  std::string file_;
  YamlNode root_;
  std::vector<Open> stack_;
  size_t count_ = 0;
};

// Refuses bytes that no manifest needs and that can hide text from a reader.
void refuse_odd_bytes(std::string_view text, const std::string& name) {
  const auto control = std::find_if(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\n' && c != '\r' && c != '\t';
  });
  const size_t at =
      std::min<size_t>(static_cast<size_t>(control - text.begin()), first_invalid_utf8(text));
  if (at >= text.size()) {
    return;
  }
  const std::string_view before = text.substr(0, at);
  const auto byte = static_cast<unsigned char>(text[at]);
  fail(QUENCH_INVALID_ARGUMENT, "{}:{}:{}: {} 0x{:02x}; wanted UTF-8 text", name,
       1 + std::count(before.begin(), before.end(), '\n'), at - (before.rfind('\n') + 1) + 1,
       byte < 0x20 ? "control character" : "byte", byte);
}

// Length of the number in JSON's form at the start of `text`; `integer` tells which kind it is.
size_t number_length(std::string_view text, bool& integer) {
  size_t i = 0;
  const auto digits = [&] {
    const size_t start = i;
    while (i < text.size() && text[i] >= '0' && text[i] <= '9') {
      ++i;
    }
    return i - start;
  };
  integer = true;
  if (i < text.size() && text[i] == '-') {
    ++i;
  }
  const size_t first = i;
  const size_t count = digits();
  if (count == 0 || (count > 1 && text[first] == '0')) {
    return 0;
  }
  if (i < text.size() && text[i] == '.') {
    integer = false;
    ++i;
    if (digits() == 0) {
      return 0;
    }
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    integer = false;
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) {
      ++i;
    }
    if (digits() == 0) {
      return 0;
    }
  }
  return i;
}

nlohmann::json scalar_to_json(const YamlNode& node) {
  const std::string& text = node.scalar;
  if (node.quoted) {
    return text;
  }
  if (text == "true" || text == "false") {
    return text == "true";
  }
  bool integer = false;
  if (number_length(text, integer) != text.size()) {
    return text;
  }
  if (integer) {
    errno = 0;
    const long long value = std::strtoll(text.c_str(), nullptr, 10);
    if (errno == 0) {
      return value;
    }
    return text;  // beyond 64 bits: treat it as text rather than round it silently
  }
  const double value = std::strtod(text.c_str(), nullptr);
  return value <= std::numeric_limits<double>::max() &&
                 value >= std::numeric_limits<double>::lowest()
             ? nlohmann::json(value)
             : nlohmann::json(text);
}

}  // namespace

YamlNode parse_yaml(std::string_view text, const std::string& name) {
  if (text.size() > kYamlMaxBytes) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} bytes, wanted at most {}", name, text.size(),
         kYamlMaxBytes);
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF" || text.substr(0, 2) == "\xFF\xFE" ||
      text.substr(0, 2) == "\xFE\xFF") {
    fail(QUENCH_INVALID_ARGUMENT, "{}:1:1: starts with a byte order mark; wanted plain UTF-8",
         name);
  }
  refuse_odd_bytes(text, name);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    TreeBuilder builder(name);
    if (!parser.HandleNextDocument(builder)) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: empty; wanted a mapping", name);
    }
    YamlNode root = builder.take();
    TreeBuilder second(name);
    if (parser.HandleNextDocument(second)) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: more than one document (---)", name);
    }
    return root;
  } catch (const YAML::Exception& error) {
    fail(QUENCH_INVALID_ARGUMENT, "{}:{}", name, yaml_fault(text, error));
  }
}

nlohmann::json yaml_to_json(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return nullptr;
    case YamlNode::Kind::kScalar:
      return scalar_to_json(node);
    case YamlNode::Kind::kSequence: {
      nlohmann::json list = nlohmann::json::array();
      for (const YamlNode& item : node.items) {
        list.push_back(yaml_to_json(item));
      }
      return list;
    }
    case YamlNode::Kind::kMapping: {
      nlohmann::json object = nlohmann::json::object();
      for (const YamlNode::Member& member : node.members) {
        object[member.key] = yaml_to_json(member.value);
      }
      return object;
    }
  }
  return nullptr;
}

}  // namespace quench
