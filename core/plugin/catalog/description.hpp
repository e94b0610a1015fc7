// A plugin's description as host data: read from the library once, in a child process, and kept in
// the cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace quench {

struct ParameterSchema {
  std::string name;
  int32_t type = 0;                             // QUENCH_PARAMETER_* of quench/abi/parameter.h
  std::optional<nlohmann::json> default_value;  // nullopt: required; JSON null: optional, not set
  double minimum = 0;                           // inclusive; infinite without a bound
  double maximum = 0;
  std::vector<std::string> choices;
  std::string meaning;
};

// A shared library that a plugin runs on.
struct LinkedLibrary {
  std::string soname;
  std::filesystem::path path;
  std::string build_id;  // hex, "" if the file has none
  bool operator==(const LinkedLibrary&) const = default;
};

// What a quantizer with default parameters says of itself, if it can be made; what a format does.
struct DefaultInstance {
  uint32_t needs = 0;                  // QUENCH_NEEDS_* | ...; QUENCH_FORMAT_*
  std::vector<std::string> functions;  // the optional ones of its table that are there
};

struct PluginDescription {
  std::string kind;
  std::string id;
  std::string version;
  std::string summary;
  std::string reference;  // "" if there is none
  std::string example;    // "" if there is none
  std::vector<ParameterSchema> parameters;
  nlohmann::json presets = nlohmann::json::object();  // name -> object of parameters
  std::vector<std::string> model_types;               // that a family can fit; none: any
  std::filesystem::path library;                      // canonical; or a Python file
  std::filesystem::path interpreter;                  // that runs the Python file; "" for a library
  std::string sha256;   // of the library's bytes when they were probed
  nlohmann::json code;  // names the library in content keys (code_identity.hpp)
  // Files that it is known to read, with their hashes, which `code` holds: of a Python file itself,
  // what it imports from its folder, what it declares.
  std::map<std::string, std::string> declared;
  std::string module_id;
  std::string module_version;
  std::string build;
  std::vector<LinkedLibrary> links;         // its dependency closure, and what it loads by itself
  std::optional<DefaultInstance> instance;  // asked in the probing child
};

// The kinds of plugins, in the order of listings.
const std::vector<std::string>& plugin_kinds();

// "integer", "number list", ...; "" for a number that is no type.
std::string parameter_type_name(int32_t type);
bool is_list_type(int32_t type);

// What the item says of itself, without its module.
nlohmann::json description_to_json(const PluginDescription& item);

// The items of one library as JSON and back, with module and instances; `library`, `sha256`, `code`
// and the links are not in it. Without items there is no module. The reader throws
// Error(DATA_LOSS) for what the writer cannot have written.
nlohmann::json items_to_json(const std::vector<PluginDescription>& items);
std::vector<PluginDescription> items_from_json(const nlohmann::json& json);

// What is wrong with the items of one library, or "": unknown kind, bad id, two items of one name,
// a schema that contradicts itself or is too large. The message names item and parameter.
std::string find_fault(const std::vector<PluginDescription>& items);

}  // namespace quench
