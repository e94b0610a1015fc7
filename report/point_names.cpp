#include "report/point_names.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "report/dimension.hpp"

namespace quench {

namespace {

// A value at one path, and the point that has it.
struct Value {
  size_t point;
  const nlohmann::json* value;
};

// Whether each value chooses a plugin by name, {adamw: {...}}, and not all the same one.
bool chooses_plugins(const std::vector<Value>& values) {
  const auto is_choice = [](const Value& at) {
    return at.value->is_object() && at.value->size() == 1 && at.value->front().is_object();
  };
  return std::all_of(values.begin(), values.end(), is_choice) &&
         std::any_of(values.begin(), values.end(), [&](const Value& at) {
           return at.value->begin().key() != values.front().value->begin().key();
         });
}

class Namer {
 public:
  // `whole`: values go by their whole paths, not by the last word.
  Namer(size_t points, bool whole) : words_(points), whole_(whole) {}

  // `by_all`: whether all points that are compared have a value here.
  void compare(const std::string& path, const std::vector<Value>& values, bool by_all) {
    const bool same = std::all_of(values.begin(), values.end(), [&](const Value& at) {
      return *at.value == *values.front().value;
    });
    if (same && by_all) {
      return;
    }
    if (chooses_plugins(values)) {
      for (const Value& at : values) {
        words_[at.point].push_back(at.value->begin().key());
      }
    }
    const bool objects = std::all_of(values.begin(), values.end(), [](const Value& at) {
      return at.value->is_object() && !at.value->empty();
    });
    if (objects) {
      compare_members(path, values);
      return;
    }
    const size_t dot = whole_ ? std::string::npos : path.rfind('.');
    const std::string name = dot == std::string::npos ? path : path.substr(dot + 1);
    for (const Value& at : values) {
      words_[at.point].push_back(name + " " + value_text(*at.value));
    }
  }

  std::string text(size_t point) const { return fmt::format("{}", fmt::join(words_[point], ", ")); }

 private:
  void compare_members(const std::string& path, const std::vector<Value>& values) {
    const bool apart = chooses_plugins(values);  // each plugin's parameters among its own points
    std::map<std::string, std::vector<Value>> members;
    for (const Value& at : values) {
      for (const auto& item : at.value->items()) {
        members[item.key()].push_back({at.point, &item.value()});
      }
    }
    for (const auto& [name, of_member] : members) {
      compare(path.empty() ? name : path + "." + name, of_member,
              apart || of_member.size() == values.size());
    }
  }

  std::vector<std::vector<std::string>> words_;
  bool whole_;
};

}  // namespace

std::map<nlohmann::json, std::string> point_names(const std::set<nlohmann::json>& points) {
  std::vector<Value> values;
  for (const nlohmann::json& point : points) {
    values.push_back({values.size(), &point});
  }
  std::map<nlohmann::json, std::string> out;
  for (const bool whole : {false, true}) {
    Namer namer(values.size(), whole);
    if (std::all_of(points.begin(), points.end(), [](const auto& at) { return at.is_object(); })) {
      namer.compare("", values, true);
    }
    std::set<std::string> names;
    for (const Value& at : values) {
      const std::string text = namer.text(at.point);
      out[*at.value] =
          text.empty() && !at.value->is_object() ? "job " + value_text(*at.value) : text;
      names.insert(out[*at.value]);
    }
    if (names.size() == values.size()) {
      break;  // else two values go by one word
    }
  }
  return out;
}

}  // namespace quench
