// Members of a quantization_config that no weight depends on, and those that nothing is known of.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace quench::formats {

struct KnownMember {
  std::string_view name;
  std::string_view why;   // it is there and what it does not change
  bool only_off = false;  // that holds for null, false and what is empty alone
};

// What is read, and checked where it is read.
inline constexpr std::string_view kRead = "read";
inline constexpr std::string_view kHow =
    "how codes were found, which does not change what they mean";
inline constexpr std::string_view kNotes = "a note of the tool that wrote the file";
inline constexpr std::string_view kSpeed = "which kernel computes the same";
inline constexpr std::string_view kTensors = "what is packed; the names of the tensors decide";

// Collects over the objects of one config which members are in no table.
class UnknownMembers {
 public:
  explicit UnknownMembers(std::string where) : where_(std::move(where)) {}

  // The members of one object; `prefix` stands before their names: "config_groups.g.". Throws
  // kit::Error(UNSUPPORTED), by name, for an unknown one that speaks of what a weight or the
  // forward is made of and is not off.
  void look(const nlohmann::json& object, const std::string& prefix,
            std::span<const KnownMember> known);
  // One warning that names all that were found; nothing if there are none.
  void tell() const;

 private:
  std::string where_;
  std::string unknown_;
};

}  // namespace quench::formats
