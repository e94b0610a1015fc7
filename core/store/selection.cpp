#include "core/store/selection.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/error.hpp"
#include "core/parse_number.hpp"
#include "core/store/json_members.hpp"
#include "core/store/record_columns.hpp"

namespace quench {

namespace {

constexpr int kDeepest = 100;

// The content of a JSON text; the spelling of any other value.
std::string text_of(std::string_view value) {
  const std::string_view plain = plain_text(value);
  if (!plain.empty() || !value.starts_with('"')) {
    return std::string(value.starts_with('"') ? plain : value);
  }
  const nlohmann::json parsed = nlohmann::json::parse(value, nullptr, false);
  return parsed.is_string() ? parsed.get<std::string>() : std::string();
}

bool holds_object(const RecordField& field) {
  return field.type == FieldType::kObject || field.type == FieldType::kObjectOrNull;
}

void add_members(const std::string& path, std::string_view object, std::set<std::string>& out) {
  for (JsonMembers members(object); members.next();) {
    const std::string name = path + "." + std::string(members.name());
    if (members.value().starts_with('{')) {
      add_members(name, members.value(), out);
    } else {
      out.insert(name);
    }
  }
}

// Every field of the run's first records by its dotted name, and the short names.
std::vector<std::string> known_fields(const RunScan& scan) {
  constexpr size_t kEnough = 1000;
  std::set<std::string> out;
  for (const RecordColumn& column : record_columns()) {
    out.insert(column.name);
    out.insert(column.path);
  }
  std::set<std::string_view> seen;
  for (size_t i = 0; i < std::min(kEnough, scan.lines.size()); ++i) {
    for (size_t f = 0; f < kRecordFields; ++f) {
      const std::string_view text = scan.lines[i].fields[f];
      if (text.starts_with('{') && seen.insert(text).second) {
        add_members(std::string(record_fields()[f].name), text, out);
      }
    }
    if (const std::string_view point = json_member(scan.lines[i].field("environment"), "sweep");
        point.starts_with('{') && seen.insert(point).second) {
      add_members("sweep", point, out);
    }
  }
  return {out.begin(), out.end()};
}

}  // namespace

FieldPath::FieldPath(const std::string& text) : text_(text) {
  std::string full = text.starts_with("sweep.") ? "environment." + text : text;
  for (const RecordColumn& column : record_columns()) {
    if (column.name == text || column.path == text) {
      full = column.path;
      is_column_ = true;
    }
  }
  if (text == "bits") {
    full = "quantizer.params.bits";
  }
  const size_t dot = std::min(full.find('.'), full.size());
  const std::string first = full.substr(0, dot);
  const auto fields = record_fields();
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == first; });
  if (found == fields.end()) {
    std::set<std::string> names = {"sweep", "bits"};
    for (const RecordField& field : fields) {
      names.emplace(field.name);
    }
    for (const RecordColumn& column : record_columns()) {
      names.insert(column.name);
    }
    const std::string near = nearest(first, {names.begin(), names.end()});
    fail(QUENCH_INVALID_ARGUMENT, "a record has no field '{}'{}", printable(first),
         near.empty() ? fmt::format("; it has {}", fmt::join(names, ", "))
                      : "; did you mean " + near + "?");
  }
  field_ = static_cast<size_t>(found - fields.begin());
  members_ = dot < full.size() ? full.substr(dot + 1) : "";
}

std::string_view FieldPath::of(const RecordLine& line) const {
  return json_at(line.fields[field_], members_);
}

bool FieldPath::is_known(const RunScan& scan) const {
  if (members_.empty() || is_column_) {
    return true;
  }
  bool could_be = !holds_object(record_fields()[field_]);
  for (const RecordLine& line : scan.lines) {
    could_be = could_be || line.fields[field_].starts_with('{');
    if (!of(line).empty()) {
      return true;
    }
  }
  return !could_be;
}

bool FieldPath::is_object() const {
  return members_.empty() && holds_object(record_fields()[field_]);
}

struct Selection::Node {
  enum class Kind { kAnd, kOr, kNot, kCompare };
  Kind kind = Kind::kCompare;
  std::unique_ptr<const Node> left;
  std::unique_ptr<const Node> right;
  std::optional<FieldPath> path;
  size_t place = 0;  // of the path in the expression, from 0
  std::string op;
  std::string wanted;
  std::optional<double> number;

  bool matches(const RecordLine& line) const {
    switch (kind) {
      case Kind::kAnd:
        return left->matches(line) && right->matches(line);
      case Kind::kOr:
        return left->matches(line) || right->matches(line);
      case Kind::kNot:
        return !left->matches(line);
      case Kind::kCompare:
        return compare(path->of(line));
    }
    return false;
  }

  void check_fields(const RunScan& scan) const {
    for (const Node* part : {left.get(), right.get()}) {
      if (part != nullptr) {
        part->check_fields(scan);
      }
    }
    if (path && !path->is_known(scan)) {
      const std::string near = nearest(path->text(), known_fields(scan));
      fail(QUENCH_INVALID_ARGUMENT,
           "selection at character {}: no record here has the field '{}'{}", place + 1,
           printable(path->text()), near.empty() ? "" : "; did you mean " + near + "?");
    }
  }

  std::string near_value(const RunScan& scan) const {
    for (const Node* part : {left.get(), right.get()}) {
      if (std::string near = part == nullptr ? "" : part->near_value(scan); !near.empty()) {
        return near;
      }
    }
    if (!path || op != "=" || number) {
      return "";
    }
    std::set<std::string> values;
    for (const RecordLine& line : scan.lines) {
      const std::string_view value = path->of(line);
      if (compare(value)) {
        return "";
      }
      for (const char* name : {"id", "label", "revision"}) {
        values.emplace(text_of(path->is_object() ? json_at(value, name) : value));
      }
    }
    values.erase("");
    return nearest(wanted, {values.begin(), values.end()});
  }

  // Of an object with a name: whether one of its names compares so, none for !=.
  bool compare(std::string_view value) const {
    if (!path->is_object() || wanted == "null") {
      return compare_value(value);
    }
    const bool differs = op == "!=";
    for (const char* name : {"id", "label", "revision"}) {
      const std::string_view member = json_at(value, name);
      if (!member.empty() && compare_value(member) != differs) {
        return !differs;
      }
    }
    return differs;
  }

  bool compare_value(std::string_view value) const {
    const bool absent = value.empty() || value == "null";
    if (wanted == "null" && (op == "=" || op == "!=")) {
      return absent == (op == "=");
    }
    if (op == "~") {
      return !absent && text_of(value).find(wanted) != std::string::npos;
    }
    const std::optional<double> have = absent ? std::nullopt : parse_number<double>(value);
    if (op == "=" || op == "!=") {
      const bool same = have && number ? *have == *number : !absent && text_of(value) == wanted;
      return same == (op == "=");
    }
    if (!have) {
      return false;
    }
    return op == "<"    ? *have < *number
           : op == "<=" ? *have <= *number
           : op == ">"  ? *have > *number
                        : *have >= *number;
  }
};

namespace {

using Node = Selection::Node;

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  std::unique_ptr<const Node> parse() {
    auto out = parse_or(0);
    skip_spaces();
    if (at_ < text_.size()) {
      refuse("wanted `and`, `or` or the end, got " + next_word());
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(QUENCH_INVALID_ARGUMENT, "selection at character {}: {}", at_ + 1, what);
  }

  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  std::string next_word() const {
    if (at_ >= text_.size()) {
      return "the end";
    }
    const size_t end = std::min(text_.find_first_of(" \t", at_), text_.size());
    return "'" + printable(text_.substr(at_, end - at_), 40) + "'";
  }

  // Takes a keyword if it stands alone.
  bool take(std::string_view word) {
    skip_spaces();
    const size_t end = at_ + word.size();
    const bool there = text_.compare(at_, word.size(), word) == 0 &&
                       (end == text_.size() || text_[end] == ' ' || text_[end] == '(' ||
                        text_[end] == ')' || text_[end] == '\t');
    at_ = there ? end : at_;
    return there;
  }

  using Parse = std::unique_ptr<const Node> (Parser::*)(int);

  std::unique_ptr<const Node> chain(Parse part, std::string_view word, Node::Kind kind, int depth) {
    auto left = (this->*part)(depth);
    while (take(word)) {
      auto node = std::make_unique<Node>();
      node->kind = kind;
      node->left = std::move(left);
      node->right = (this->*part)(depth);
      left = std::move(node);
    }
    return left;
  }

  std::unique_ptr<const Node> parse_or(int depth) {
    return chain(&Parser::parse_and, "or", Node::Kind::kOr, depth);
  }
  std::unique_ptr<const Node> parse_and(int depth) {
    return chain(&Parser::parse_not, "and", Node::Kind::kAnd, depth);
  }

  std::unique_ptr<const Node> parse_not(int depth) {
    if (depth > kDeepest) {
      refuse(fmt::format("nested deeper than {} levels", kDeepest));
    }
    if (take("not")) {
      auto node = std::make_unique<Node>();
      node->kind = Node::Kind::kNot;
      node->left = parse_not(depth + 1);
      return node;
    }
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == '(') {
      ++at_;
      auto inner = parse_or(depth + 1);
      skip_spaces();
      if (at_ >= text_.size() || text_[at_] != ')') {
        refuse("wanted ')', got " + next_word());
      }
      ++at_;
      return inner;
    }
    return parse_comparison();
  }

  std::unique_ptr<const Node> parse_comparison() {
    auto node = std::make_unique<Node>();
    const size_t begin = at_;
    const size_t end = std::min(text_.find_first_of(" \t=!<>~()'\"", at_), text_.size());
    if (end == begin) {
      refuse("wanted a field, got " + next_word());
    }
    try {
      node->path.emplace(text_.substr(begin, end - begin));
    } catch (const Error& error) {
      refuse(error.what());
    }
    node->place = begin;
    at_ = end;
    skip_spaces();
    node->op = take_operator();
    skip_spaces();
    const size_t value_at = at_;
    node->wanted = take_value();
    node->number = parse_number<double>(node->wanted);
    if (!node->number && (node->op[0] == '<' || node->op[0] == '>')) {
      at_ = value_at;
      refuse(fmt::format("{} compares numbers, got '{}'", node->op, printable(node->wanted, 40)));
    }
    const std::string& field = node->path->text();
    if (field == "quantizer" && node->wanted == "float") {
      node->wanted = "null";  // as tables show it
    }
    const bool named = field == "quantizer" || field == "averaging" || field == "checkpoint";
    if (node->path->is_object() && node->wanted != "null" &&
        (!named || node->op[0] == '<' || node->op[0] == '>')) {
      at_ = begin;
      refuse(fmt::format("{} has members; compare one of them, as in {}", field,
                         field == "checkpoint" ? "checkpoint.step" : field + ".id"));
    }
    return node;
  }

  std::string take_operator() {
    for (const char* op : {"==", "!=", "<=", ">=", "=", "<", ">", "~"}) {
      if (text_.compare(at_, std::string_view(op).size(), op) == 0) {
        at_ += std::string_view(op).size();
        return op == std::string_view("==") ? "=" : op;
      }
    }
    refuse("wanted one of = != < <= > >= ~, got " + next_word());
  }

  std::string take_value() {
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      const size_t end = text_.find(text_[at_], at_ + 1);
      if (end == std::string::npos) {
        refuse("a quote is not closed");
      }
      const std::string out = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return out;
    }
    const size_t end = std::min(text_.find_first_of(" \t()", at_), text_.size());
    if (end == at_) {
      refuse("wanted a value, got " + next_word());
    }
    const std::string out = text_.substr(at_, end - at_);
    if (const size_t sign = out.find_first_of(";=<>"); sign != std::string::npos) {
      at_ += sign;
      refuse("wanted `and`, `or` or the end, got " + next_word() +
             "; a value that has this stands in quotes");
    }
    at_ = end;
    return out;
  }

  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

Selection::Selection(const std::string& expression) {
  if (expression.find_first_not_of(" \t") != std::string::npos) {
    root_ = Parser(expression).parse();
  }
}

Selection::~Selection() = default;
Selection::Selection(Selection&&) noexcept = default;

std::string Selection::near_value(const RunScan& scan) const {
  return root_ ? root_->near_value(scan) : "";
}

void Selection::check_fields(const RunScan& scan) const {
  if (root_ != nullptr) {
    root_->check_fields(scan);
  }
}

bool Selection::matches(const RecordLine& line) const {
  return root_ == nullptr || root_->matches(line);
}

}  // namespace quench
