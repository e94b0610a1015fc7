// The section `sweep`: a list of points, or axes whose product runs in key order, last key fastest.
// Points are made on demand, because a product may be large.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/base/config/problems.hpp"
#include "core/base/config/yaml.hpp"

namespace quench {

// Limit on the number of points, and of cells of a manifest.
inline constexpr size_t kMaxCells = 100'000;

class Sweep {
 public:
  struct Setting {
    std::string path;  // dotted
    Place place;
    YamlNode value;
  };

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // The settings of point `index` < size().
  std::vector<Setting> point(size_t index) const;
  const Place& place() const { return place_; }

 private:
  friend Sweep read_sweep(const YamlNode& node, Problems& problems);
  struct Axis {
    std::string path;
    Place place;
    std::vector<YamlNode> values;
  };
  std::vector<Axis> axes_;
  std::vector<std::vector<Setting>> points_;
  size_t size_ = 0;
  Place place_;
};

// Adds errors to `problems`; the sweep is then empty.
Sweep read_sweep(const YamlNode& node, Problems& problems);

nlohmann::json sweep_schema();

}  // namespace quench
