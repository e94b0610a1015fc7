// The keys of a section of the manifest, each said once. Its schema for editors, its reading with
// places and ranges, and what an error calls it follow from one line:
//
//   const Fields<ManifestCalibration> kFields([](Fields<ManifestCalibration>& f) {
//     f.name("corpus", &ManifestCalibration::corpus, "A name in `corpora`").required();
//     f.integer("length", &ManifestCalibration::length, 2, kMost, "Ids per sequence");
//   });
//
// The default of a key is its member's initializer. A wrong value is an error and counts as not
// given. A Written member also learns where its value is written. A member may be a function that
// finds it, such as `[](ManifestFork& fork) -> auto& { return fork.schedule.steps; }`. Errors name
// a section of the document by its name alone.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/config/problems.hpp"
#include "core/base/config/written.hpp"
#include "core/error.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "run/manifest/manifest_schema.hpp"

namespace quench {

// The largest seed of a manifest.
inline constexpr long long kMaxSeed = 1LL << 62;

namespace detail {

template <typename T>
T& value_in(T& member) {
  return member;
}
template <typename T>
T& value_in(Written<T>& member) {
  return member.value;
}
template <typename T>
void set_place(T&, const Place&) {}
template <typename T>
void set_place(Written<T>& member, const Place& place) {
  member.place = place;
}
template <typename T>
T or_zero(const T& value) {
  return value;
}
template <typename T>
T or_zero(const std::optional<T>& value) {
  return value.value_or(T{});
}
inline long long or_zero(const nlohmann::json& value) {
  return value.is_null() ? 0 : value.get<long long>();
}

// Words as an error lists them; what they stand for is of no interest there.
inline const std::string& word_of(const std::string& word) {
  return word;
}
template <typename T>
const std::string& word_of(const std::pair<std::string, T>& choice) {
  return choice.first;
}
inline const std::string& meant_by(const std::string& word) {
  return word;
}
template <typename T>
const T& meant_by(const std::pair<std::string, T>& choice) {
  return choice.second;
}

// What a section begins with: its member's initializer.
template <typename Inner>
Inner begun(const Inner& member) {
  return member;
}
template <typename Inner>
Inner begun(const std::optional<Inner>& member) {
  return member.value_or(Inner{});
}

template <typename T>
void begin_list(std::vector<T>&) {}
inline void begin_list(nlohmann::json& list) {
  list = nlohmann::json::array();
}

}  // namespace detail

// Where the errors about the document's own keys begin.
inline constexpr const char* kDocumentName = "manifest";

// "got a list, wanted a name"
inline std::string unlike(const YamlNode& node, const std::string& wanted) {
  return fmt::format("got {}, wanted {}", node.described(), wanted);
}

// Where several seeds belong: "under `sweep`, as `train.seed: [0, 1, 2]`"
inline std::string home_of_seeds(const char* path) {
  return fmt::format("under `sweep`, as `{}: [0, 1, 2]`", path);
}

// Adds the name to a list that has none of them twice; what is wrong with it, or "".
inline std::string take_name(const YamlNode& item, std::vector<Written<std::string>>& names) {
  if (!item.is_scalar()) {
    return unlike(item, "a name");
  }
  if (std::any_of(names.begin(), names.end(),
                  [&](const auto& earlier) { return earlier.value == item.scalar; })) {
    return fmt::format("\"{}\" is given twice", printable(item.scalar));
  }
  names.push_back({item.scalar, item.place});
  return "";
}

template <typename Section>
class Fields {
 public:
  using Read = std::function<void(MappingReader& reader, Section& out)>;
  using SchemaOf = nlohmann::json (*)(const Catalog& catalog);
  using Homes = std::vector<std::pair<std::string, std::string>>;

  // One key; its functions refine what its line knows.
  class Field {
   public:
    // A section without it is an error.
    Field& required() {
      required_ = true;
      return *this;
    }
    // More words of its schema, or other values of them.
    Field& schema(const nlohmann::json& words) {
      schema_.update(words);
      return *this;
    }
    // Its schema where that depends on what is installed.
    Field& schema(SchemaOf of) {
      schema_of_ = of;
      return *this;
    }
    // An earlier name of the key `now`: it still works, with a warning.
    Field& renamed_to(const char* now) {
      now_ = now;
      schema_["deprecated"] = true;
      return *this;
    }
    // Checks or completes what was read, whether the key is given or not.
    Field& then(Read check) {
      then_ = std::move(check);
      return *this;
    }
    // null counts as not given.
    Field& or_null() {
      or_null_ = true;
      return *this;
    }
    // A word of its schema fewer.
    Field& without(const char* word) {
      schema_.erase(word);
      return *this;
    }

    const std::string& name() const { return name_; }
    const std::string& now() const { return now_; }  // or ""
    nlohmann::json schema(const Catalog& catalog) const {
      return schema_of_ != nullptr ? finished(schema_of_(catalog)) : schema();
    }
    // The same where it does not depend on what is installed.
    nlohmann::json schema() const { return finished(schema_); }
    void read(MappingReader& reader, Section& out) const {
      if (required_) {
        reader.require(name_);
      }
      const YamlNode* node = or_null_ ? reader.get(name_) : nullptr;
      if (node == nullptr || !node->is_null()) {
        read_(reader, out);
      }
      if (then_) {
        then_(reader, out);
      }
    }

   private:
    friend class Fields;
    nlohmann::json finished(nlohmann::json schema) const {
      if (or_null_) {
        schema["type"] = nlohmann::json::array({schema.at("type"), "null"});
      }
      return *meaning_ == '\0' ? schema : described(std::move(schema), meaning_);
    }

    std::string name_;
    const char* meaning_ = "";
    std::string now_;
    nlohmann::json schema_;
    SchemaOf schema_of_ = nullptr;
    Read read_;
    Read then_;
    bool required_ = false;
    bool or_null_ = false;
  };

  // `describe` adds the keys; it runs when they are first asked for.
  explicit Fields(void (*describe)(Fields& fields)) : describe_(describe) {}

  // ---- kinds of keys

  template <typename Member>
  Field& text(const char* name, Member member, const char* meaning = "") {
    return add(name, {{"type", "string"}}, meaning, read_text(name, member));
  }

  // The name of something: numbers and booleans are names too.
  template <typename Member>
  Field& name(const char* name, Member member, const char* meaning = "") {
    return add(name, reference("name"), meaning, read_text(name, member));
  }

  template <typename Member>
  Field& integer(const char* name, Member member, long long least, long long most,
                 const char* meaning = "") {
    return add(name, {{"type", "integer"}, {"minimum", least}, {"maximum", most}}, meaning,
               given(name, member, [name, least, most](MappingReader& reader, auto& value) {
                 using Value = std::remove_reference_t<decltype(value)>;
                 const auto otherwise = static_cast<long long>(detail::or_zero(value));
                 value = static_cast<Value>(reader.integer(name, otherwise, least, most));
               }));
  }

  // The seed; several are points of a sweep over `path`.
  template <typename Member>
  Field& seed(Member member, const char* path) {
    Field& field = integer("seed", member, 0, kMaxSeed);
    field.read_ = [path, read = field.read_](MappingReader& reader, Section& out) {
      const YamlNode* node = reader.get("seed");
      if (node == nullptr || !node->is_sequence()) {
        read(reader, out);
        return;
      }
      reader.add(node->place, fmt::format("`seed`: {}; several go {}",
                                          unlike(*node, "a whole number"), home_of_seeds(path)));
    };
    return field;
  }

  // A count that may have a unit: 20k, 4000B.
  template <typename Member>
  Field& amount(const char* name, Member member, const char* meaning = "") {
    return add(name, reference("amount"), meaning,
               given(name, member, [name](MappingReader& reader, auto& value) {
                 if (const auto amount = reader.amount(name)) {
                   value = *amount;
                 }
               }));
  }

  // At least 0.
  template <typename Member>
  Field& number(const char* name, Member member, const char* meaning = "") {
    return add(name, {{"type", "number"}, {"minimum", 0}}, meaning,
               given(name, member, [name](MappingReader& reader, auto& value) {
                 value = reader.number(name, value, 0);
               }));
  }

  template <typename Member>
  Field& flag(const char* name, Member member, const char* meaning = "") {
    return add(name, {{"type", "boolean"}}, meaning,
               given(name, member, [name](MappingReader& reader, auto& value) {
                 value = reader.flag(name, value);
               }));
  }

  // One of some words, or what a word of {word, value} stands for.
  template <typename Member, typename Word>
  Field& choice(const char* name, Member member, std::vector<Word> words,
                const char* meaning = "") {
    return add(name, {{"enum", listed(words)}}, meaning,
               given(name, member, [name, words](MappingReader& reader, auto& value) {
                 read_word(reader, name, words, value, [&](const std::string& got) {
                   const std::vector<std::string> all = listed(words);
                   const std::string near = nearest(got, all);
                   return fmt::format("wanted one of {}{}", fmt::join(all, ", "),
                                      near.empty() ? "" : fmt::format("; did you mean {}?", near));
                 });
               }));
  }

  // The same of two, as "wanted a or b".
  template <typename Member>
  Field& either(const char* name, Member member, const char* one, const char* other,
                const char* meaning = "") {
    const std::vector<std::string> words = {one, other};
    return add(name, {{"enum", words}}, meaning,
               given(name, member, [name, words](MappingReader& reader, auto& value) {
                 read_word(reader, name, words, value, [&](const std::string& got) {
                   value = got;  // not the default, on which other keys may rest
                   return fmt::format("wanted {} or {}", words[0], words[1]);
                 });
               }));
  }

  // A scalar of a form of its own; `parse` has nothing for another form.
  template <typename Member, typename Parse>
  Field& parsed(const char* name, Member member, Parse parse, const char* wanted,
                const nlohmann::json& schema, const char* meaning = "") {
    return add(name, schema, meaning, given(name, member, [=](MappingReader& reader, auto& value) {
                 const YamlNode& node = *reader.get(name);
                 if (auto got = node.is_scalar() ? parse(node.scalar) : std::nullopt) {
                   value = std::move(*got);
                 } else {
                   reader.add(node.place, fmt::format("`{}`: {}", name, unlike(node, wanted)));
                 }
               }));
  }

  // The path of a config.json, or its content as a mapping, which becomes JSON text.
  template <typename Member>
  Field& config(const char* name, Member member, const char* meaning = "") {
    return add(name, {{"type", nlohmann::json::array({"string", "object"})}}, meaning,
               given(name, member, [name](MappingReader& reader, std::string& value) {
                 const YamlNode& node = *reader.get(name);
                 value = node.is_mapping() ? yaml_to_json(node).dump() : reader.text(name, "");
               }));
  }

  // A list whose elements are like `of`. `take(item, list)` adds one, or says what is wrong with
  // it.
  template <typename Member, typename Take>
  Field& list(const char* name, Member member, const char* wanted, const nlohmann::json& of,
              Take take, const char* meaning, size_t least = 1) {
    nlohmann::json schema = {{"type", "array"}, {"items", of}};
    if (least > 0) {
      schema["minItems"] = least;
    }
    return add(name, schema, meaning, given(name, member, [=](MappingReader& reader, auto& list) {
                 const YamlNode& node = *reader.get(name);
                 const auto refuse = [&](const YamlNode& at, const std::string& fault) {
                   reader.problems().add(at.place, key_in(reader, name) + ": " + fault);
                 };
                 if (!node.is_sequence() || node.items.size() < least) {
                   refuse(node, unlike(node, wanted));
                 }
                 detail::begin_list(list);
                 for (const YamlNode& item : node.items) {
                   if (const std::string fault = take(item, list); !fault.empty()) {
                     refuse(item, fault);
                   }
                 }
               }));
  }

  // Names, each given once.
  template <typename Member>
  Field& names(const char* name, Member member, const char* wanted, const char* meaning) {
    return list(name, member, wanted, reference("name"), take_name, meaning);
  }

  // A mapping of names to what is like `of`. `take(member, reader, section)` reads one of them.
  template <typename Take>
  Field& each(const char* name, const nlohmann::json& of, Take take, const char* meaning = "") {
    return add(name, {{"type", "object"}, {"additionalProperties", of}}, meaning,
               [name, take](MappingReader& reader, Section& out) {
                 const YamlNode* node = reader.get(name);
                 if (node == nullptr) {
                   return;
                 }
                 if (!node->is_mapping()) {
                   reader.problems().add(node->place, key_in(reader, name) + ": " +
                                                          unlike(*node, "a mapping of names"));
                 }
                 for (const YamlNode::Member& member : node->members) {
                   take(member, reader, out);
                 }
               });
  }

  // A mapping of names to entries with keys of their own, which have a name and a place. `where`
  // begins their errors, before the name.
  template <typename Member, typename Inner>
  Field& named(const char* name, Member member, const Fields<Inner>& fields,
               const std::string& where, const char* meaning = "") {
    return each(
        name, fields.schema(),
        [=, &fields](const YamlNode::Member& entry, MappingReader& reader, Section& out) {
          Inner inner;
          inner.name = entry.key;
          inner.place = entry.key_place;
          std::invoke(member, out)
              .push_back(fields.read(entry.value, where + printable(entry.key), reader.problems(),
                                     std::move(inner)));
        },
        meaning);
  }

  // A mapping with keys of its own.
  template <typename Member, typename Inner>
  Field& section(const char* name, Member member, const Fields<Inner>& fields,
                 const char* meaning = "") {
    return add(name, fields.schema(), meaning,
               [name, member, &fields](MappingReader& reader, Section& out) {
                 if (const YamlNode* node = reader.get(name)) {
                   const bool of_document = reader.where() == kDocumentName;
                   auto& target = std::invoke(member, out);
                   Inner inner =
                       fields.read(*node, of_document ? name : reader.where() + ": " + name,
                                   reader.problems(), detail::begun<Inner>(target));
                   if constexpr (requires { inner.place; }) {
                     inner.place = node->place;
                   }
                   target = std::move(inner);
                 }
               });
  }

  // A key that is read in its own way. `read` is called whether the key is given or not.
  Field& own(const char* name, const nlohmann::json& schema, Read read, const char* meaning = "") {
    return add(name, schema, meaning, std::move(read));
  }
  Field& own(const char* name, SchemaOf of, Read read, const char* meaning = "") {
    return add(name, nullptr, meaning, std::move(read)).schema(of);
  }

  // ---- what follows

  const std::deque<Field>& all() const {
    std::call_once(described_, [this] { describe_(const_cast<Fields&>(*this)); });
    return fields_;
  }

  // The field of that name, or nullptr.
  const Field* find(std::string_view name) const {
    const auto found = std::find_if(all().begin(), all().end(),
                                    [&](const Field& field) { return field.name_ == name; });
    return found != all().end() ? &*found : nullptr;
  }

  // Adds the schema of each key to the properties of an object.
  void add_properties(const Catalog& catalog, nlohmann::json& properties) const {
    for (const Field& field : all()) {
      properties[field.name_] = field.schema(catalog);
    }
  }

  // The same where no key's schema depends on what is installed.
  void add_properties(nlohmann::json& properties) const {
    for (const Field& field : all()) {
      properties[field.name_] = field.schema();
    }
  }

  // An object with these keys and no others.
  nlohmann::json schema(const Catalog& catalog) const {
    nlohmann::json properties = nlohmann::json::object();
    add_properties(catalog, properties);
    return with_required(std::move(properties));
  }
  // The same where no key's schema depends on what is installed.
  nlohmann::json schema() const {
    nlohmann::json properties = nlohmann::json::object();
    add_properties(properties);
    return with_required(std::move(properties));
  }

  // Reads the keys in their order. A section of several tables is finished after the last one.
  void read_keys(MappingReader& reader, Section& out) const {
    for (const Field& field : all()) {
      field.read(reader, out);
    }
  }

  // Reads the whole section into `out`. `where` begins its errors; `homes`: as in
  // MappingReader::finish.
  Section read(const YamlNode& node, const std::string& where, Problems& problems, Section out = {},
               const Homes& homes = {}) const {
    MappingReader reader(node, where, problems);
    read_keys(reader, out);
    reader.finish(homes);
    return out;
  }

 private:
  Field& add(const char* name, const nlohmann::json& schema, const char* meaning, Read read) {
    Field& field = fields_.emplace_back();
    field.name_ = name;
    field.schema_ = schema;
    field.meaning_ = meaning;
    field.read_ = std::move(read);
    return field;
  }

  // How errors about a whole list or mapping begin.
  static std::string key_in(const MappingReader& reader, const char* name) {
    return reader.where() == kDocumentName ? name : fmt::format("{}: `{}`", reader.where(), name);
  }

  // Calls `read` with the member's value, if the key is given.
  template <typename Member, typename ReadValue>
  static Read given(const char* name, Member member, ReadValue read) {
    return [name, member, read](MappingReader& reader, Section& out) {
      if (const YamlNode* node = reader.get(name)) {
        auto& target = std::invoke(member, out);
        detail::set_place(target, node->place);
        read(reader, detail::value_in(target));
      }
    };
  }

  template <typename Member>
  static Read read_text(const char* name, Member member) {
    return given(name, member, [name, member](MappingReader& reader, std::string& value) {
      Section unread{};
      value = reader.text(name, detail::value_in(std::invoke(member, unread)));
    });
  }

  template <typename Words, typename Value, typename Expected>
  static void read_word(MappingReader& reader, const char* name, const Words& words, Value& value,
                        Expected expected) {
    const YamlNode& node = *reader.get(name);
    const std::string got = reader.text(name, "");
    if (!node.is_scalar()) {
      return;
    }
    for (const auto& word : words) {
      if (detail::word_of(word) == got) {
        value = detail::meant_by(word);
        return;
      }
    }
    reader.add(node.place,
               fmt::format("`{}`: got \"{}\", {}", name, printable(got), expected(got)));
  }

  template <typename Words>
  static std::vector<std::string> listed(const Words& words) {
    std::vector<std::string> out;
    out.reserve(std::size(words));
    for (const auto& word : words) {
      out.push_back(detail::word_of(word));
    }
    return out;
  }

  nlohmann::json with_required(nlohmann::json properties) const {
    nlohmann::json out = closed(std::move(properties));
    for (const Field& field : all()) {
      if (field.required_) {
        out["required"].push_back(field.name_);
      }
    }
    return out;
  }

  void (*describe_)(Fields& fields);
  mutable std::once_flag described_;
  std::deque<Field> fields_;  // a deque, so that its functions can return references
};

}  // namespace quench
