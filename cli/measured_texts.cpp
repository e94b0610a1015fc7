#include "cli/measured_texts.hpp"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/store/derived.hpp"
#include "core/store/json_members.hpp"

namespace quench {

std::vector<size_t> measured_lines(const RunScan& scan, const std::vector<size_t>& lines) {
  const auto is_derived_line = [&](size_t i) {
    return is_derived(plain_text(scan.lines[i].field("metric")));
  };
  std::vector<size_t> out = lines;
  if (std::none_of(lines.begin(), lines.end(), is_derived_line)) {
    return out;
  }
  const auto place_of = [&](size_t i) {
    return (uint64_t{scan.lines[i].file} << 40) + scan.lines[i].line;
  };
  std::unordered_map<uint64_t, size_t> measured;
  for (const size_t i : scan.counted) {
    if (!is_derived_line(i)) {
      measured[place_of(i)] = i;
    }
  }
  for (size_t& i : out) {
    if (is_derived_line(i)) {
      i = measured.at(place_of(i));
    }
  }
  return out;
}

MeasuredTexts::MeasuredTexts(const RunScan& scan, const std::vector<size_t>& lines)
    : on_(lines.size()), metrics_(lines.size()) {
  constexpr size_t kPiece = 8192;
  const std::vector<size_t> measured = measured_lines(scan, lines);
  tbb::parallel_for(tbb::blocked_range<size_t>(0, lines.size(), kPiece),
                    [&](const tbb::blocked_range<size_t>& range) {
                      TableReader reader;
                      for (size_t i = range.begin(); i < range.end(); ++i) {
                        const RecordLine& line = scan.lines[measured[i]];
                        const std::string_view name = plain_text(line.field("metric"));
                        metrics_[i] = name.substr(0, name.find('/'));
                        on_[i] = reader.measured_on(line, scan.files[line.file].string());
                      }
                    });
  std::set<std::pair<std::string_view, const MeasuredOn*>> seen;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (on_[i] != nullptr && seen.emplace(metrics_[i], on_[i].get()).second) {
      names_.add(std::string(metrics_[i]), on_[i]->text, on_[i]->details);
    }
  }
  titles_ = names_.differing();
}

std::vector<std::string> MeasuredTexts::of(size_t place) const {
  std::vector<std::string> out(titles_.size());
  for (size_t i = 0; on_[place] != nullptr && i < out.size(); ++i) {
    out[i] = names_.value(std::string(metrics_[place]), on_[place]->text, titles_[i]);
  }
  return out;
}

}  // namespace quench
