#include "core/base/config/yaml_path.hpp"

#include <iterator>
#include <string_view>

#include "core/error.hpp"
#include "core/parse_number.hpp"

namespace quench {

namespace {

// The element with this index, or what the one entry `- key: value` has.
YamlNode& element_at(YamlNode& list, const std::string& key, const std::string& path) {
  const auto index = parse_number<size_t>(key);
  if (index && *index < list.items.size()) {
    return list.items[*index];
  }
  const size_t count = list.items.size();
  std::vector<size_t> called;
  std::vector<std::string> ids;
  for (size_t i = 0; i < count; ++i) {
    if (list.items[i].is_mapping() && !list.items[i].members.empty()) {
      ids.push_back(list.items[i].members.front().key);
      if (ids.back() == key) {
        called.push_back(i);
      }
    }
  }
  if (called.size() == 1) {
    return list.items[called.front()].members.front().value;
  }
  fail(QUENCH_INVALID_ARGUMENT, "`{}`: `{}` leads into {}", printable(path), printable(key),
       count == 0 ? std::string("an empty list")
       : called.size() > 1
           ? fmt::format("a list with {} of that name, wanted an index: {}", called.size(),
                         fmt::join(called, ", "))
           : fmt::format("a list of {}, wanted an index of 0..{}{}", count, count - 1,
                         ids.empty()
                             ? std::string()
                             : printable(fmt::format(" or one of {}", fmt::join(ids, ", ")))));
}

// A key may have dots, as those of a sweep have: the longest such member whose key the rest of the
// path begins with, or nothing.
YamlNode::Member* dotted_member(YamlNode& parent, std::string_view rest) {
  YamlNode::Member* out = nullptr;
  for (YamlNode::Member& member : parent.members) {
    const std::string& key = member.key;
    const bool begins =
        rest.starts_with(key) && (rest.size() == key.size() || rest[key.size()] == '.');
    if (begins && key.find('.') != std::string::npos &&
        (out == nullptr || key.size() > out->key.size())) {
      out = &member;
    }
  }
  return out;
}

YamlNode& member_at(YamlNode& parent, const std::string& key, const std::string& path,
                    const Place& place, bool may_make) {
  if (parent.is_null() && may_make) {
    parent.kind = YamlNode::Kind::kMapping;
  }
  if (!parent.is_mapping()) {
    fail(QUENCH_INVALID_ARGUMENT, "`{}` leads into {}; wanted a mapping", printable(path),
         parent.described());
  }
  std::vector<std::string> keys;
  for (YamlNode::Member& member : parent.members) {
    if (member.key == key) {
      return member.value;
    }
    keys.push_back(member.key);
  }
  if (!may_make) {
    const std::string near = nearest(key, keys);
    fail(QUENCH_INVALID_ARGUMENT, "`{}`: there is no `{}`; {}", printable(path), printable(key),
         near.empty() ? fmt::format("there are {}", fmt::join(keys, ", "))
                      : fmt::format("did you mean `{}`?", near));
  }
  parent.members.push_back({key, place, YamlNode{}});
  parent.members.back().value.place = place;
  return parent.members.back().value;
}

// A value from a command line has no line in a file.
void put_at(YamlNode& node, const Place& place) {
  node.place = place;
  for (YamlNode& item : node.items) {
    put_at(item, place);
  }
  for (YamlNode::Member& member : node.members) {
    member.key_place = place;
    put_at(member.value, place);
  }
}

void append(YamlNode& list, YamlNode value, const std::string& path) {
  if (list.is_null()) {
    list.kind = YamlNode::Kind::kSequence;
  }
  if (!list.is_sequence()) {
    fail(QUENCH_INVALID_ARGUMENT, "`{}` is {}; `+=` wants a list", printable(path),
         list.described());
  }
  if (value.is_sequence()) {
    std::move(value.items.begin(), value.items.end(), std::back_inserter(list.items));
  } else {
    list.items.push_back(std::move(value));
  }
}

}  // namespace

YamlNode& yaml_at(YamlNode& root, const std::string& path, const Place& place, bool make) {
  YamlNode* at = &root;
  size_t start = 0;
  while (true) {
    if (YamlNode::Member* dotted = dotted_member(*at, std::string_view(path).substr(start))) {
      at = &dotted->value;
      start += dotted->key.size() + 1;
      if (start > path.size()) {
        return *at;
      }
      continue;
    }
    const size_t dot = path.find('.', start);
    const bool last = dot == std::string::npos;
    const std::string key = path.substr(start, last ? dot : dot - start);
    if (key.empty()) {
      fail(QUENCH_INVALID_ARGUMENT, "empty key in `{}`; wanted keys with dots between",
           printable(path));
    }
    at = at->is_sequence() ? &element_at(*at, key, path)
                           : &member_at(*at, key, path, place, make || last);
    if (last) {
      return *at;
    }
    start = dot + 1;
  }
}

void yaml_change(YamlNode& root, const std::string& change, const std::string& origin) {
  const size_t equals = change.find('=');
  const bool appends = equals != std::string::npos && equals > 0 && change[equals - 1] == '+';
  const std::string path = change.substr(0, appends ? equals - 1 : equals);
  if (equals == std::string::npos || path.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: got `{}`, wanted a.b=value or a.b+=value", origin,
         printable(change));
  }
  const std::string text = change.substr(equals + 1);
  const Place place = {origin, 0, 0};
  YamlNode value{YamlNode::Kind::kNull, place, {}, false, {}, {}};
  if (text.find_first_not_of(" \t") != std::string::npos) {
    value = parse_yaml(text, origin);
    put_at(value, place);
  }
  try {
    YamlNode& node = yaml_at(root, path, place, true);
    if (appends) {
      append(node, std::move(value), path);
    } else {
      node = std::move(value);
    }
  } catch (const Error& error) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}", origin, error.what());
  }
}

}  // namespace quench
