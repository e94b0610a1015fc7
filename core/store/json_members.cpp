#include "core/store/json_members.hpp"

#include <cstring>

namespace quench {

namespace {

// Returns the position after the closing quote of the text that opens at `at`; nullptr without one.
const char* skip_text(const char* at, const char* end) {
  for (const char* from = at + 1; from < end;) {
    const char* quote =
        static_cast<const char*>(std::memchr(from, '"', static_cast<size_t>(end - from)));
    if (quote == nullptr) {
      return nullptr;
    }
    size_t escapes = 0;
    while (quote[-1 - static_cast<std::ptrdiff_t>(escapes)] == '\\') {
      ++escapes;  // the opening quote ends the loop at the latest
    }
    if (escapes % 2 == 0) {
      return quote + 1;
    }
    from = quote + 1;
  }
  return nullptr;
}

// Returns the position after the object or array that begins at `at`; nullptr if it does not end.
const char* skip_container(const char* at, const char* end) {
  int depth = 0;
  while (at < end) {
    switch (*at) {
      case '"':
        at = skip_text(at, end);
        if (at == nullptr) {
          return nullptr;
        }
        continue;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (--depth == 0) {
          return at + 1;
        }
        break;
      default:
        break;
    }
    ++at;
  }
  return nullptr;
}

const char* skip_value(const char* at, const char* end) {
  if (at == end) {
    return nullptr;
  }
  if (*at == '"') {
    return skip_text(at, end);
  }
  if (*at == '{' || *at == '[') {
    return skip_container(at, end);
  }
  while (at < end && *at != ',' && *at != '}' && *at != ']') {
    ++at;
  }
  return at;
}

}  // namespace

JsonMembers::JsonMembers(std::string_view object)
    : at_(object.data()), end_(object.data() + object.size()) {}

bool JsonMembers::stop() {
  malformed_ = true;
  at_ = end_;
  return false;
}

bool JsonMembers::next() {
  if (at_ == end_) {
    malformed_ = malformed_ || first_;
    return false;
  }
  if (*at_ == '}' || (first_ && end_ - at_ == 2 && at_[0] == '{' && at_[1] == '}')) {
    const bool last = first_ || at_ + 1 == end_;
    first_ = false;
    at_ = end_;
    return last ? false : stop();
  }
  if (*at_ != (first_ ? '{' : ',') || end_ - at_ < 2 || at_[1] != '"') {
    return stop();
  }
  first_ = false;
  const char* name = at_ + 1;
  const char* colon = skip_text(name, end_);
  if (colon == nullptr || colon == end_ || *colon != ':') {
    return stop();
  }
  name_ = {name + 1, static_cast<size_t>(colon - name - 2)};
  const char* after = skip_value(colon + 1, end_);
  if (after == nullptr || after == end_ || after == colon + 1) {
    return stop();
  }
  value_ = {colon + 1, static_cast<size_t>(after - colon - 1)};
  at_ = after;
  return true;
}

std::string_view json_member(std::string_view object, std::string_view name) {
  if (object.empty() || object[0] != '{') {
    return {};
  }
  JsonMembers members(object);
  while (members.next()) {
    if (members.name() == name) {
      return members.value();
    }
  }
  return {};
}

std::string_view json_at(std::string_view value, std::string_view path) {
  if (path.empty()) {
    return value;
  }
  if (value.empty() || value[0] != '{') {
    return {};
  }
  JsonMembers members(value);
  while (members.next()) {
    const std::string_view name = members.name();
    if (name == path) {
      return members.value();
    }
    if (path.starts_with(name) && path[name.size()] == '.') {
      const std::string_view found = json_at(members.value(), path.substr(name.size() + 1));
      if (!found.empty()) {
        return found;
      }
    }
  }
  return {};
}

std::string_view plain_text(std::string_view value) {
  const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
  if (!quoted || value.find('\\') != std::string_view::npos) {
    return {};
  }
  return value.substr(1, value.size() - 2);
}

}  // namespace quench
