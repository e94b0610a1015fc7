// Writes the model card of a stored average: README.md, for people and for the hub.
#pragma once

#include <string>
#include <vector>

#include "core/inputs/averaging/average_source.hpp"

namespace quench {

struct AverageCard {
  std::string name;  // name of the folder
  const AveragingCell* averaging = nullptr;
  quench_dtype dtype{};
  struct Member {
    std::string location;  // what the user wrote
    std::string commit;    // commit of a hub checkpoint, else empty
    std::optional<int64_t> step;
    std::optional<int64_t> tokens;
    double weight = 0;         // found by a search; 0: left out
    std::string content_hash;  // "" if left out
  };
  std::vector<Member> members;
  bool searched = false;
  std::string identity;  // see average_identity
  std::string manifest;  // text of the manifest that asked for the average, or empty
};

// Markdown with the hub's front matter. Escapes or fences all foreign text.
std::string average_card(const AverageCard& card);

}  // namespace quench
