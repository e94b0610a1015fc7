#include "core/arithmetic/calibration_rows.hpp"

#include <algorithm>

#include "core/arithmetic/philox.hpp"

namespace quench {

namespace {

void append(CalibrationRows& rows, std::span<const int32_t> ids) {
  rows.ids.insert(rows.ids.end(), ids.begin(), ids.end());
  rows.starts.push_back(rows.ids.size());
}

std::span<const int32_t> row_of(const CalibrationRows& rows, size_t row) {
  return std::span(rows.ids).subspan(rows.starts[row], rows.starts[row + 1] - rows.starts[row]);
}

}  // namespace

CalibrationRows rows_of_sequences(std::span<const int32_t> ids, uint64_t count, uint64_t length) {
  CalibrationRows rows;
  rows.starts = {0};
  for (uint64_t s = 0; s < count; ++s) {
    append(rows, ids.subspan(s * length, length));
  }
  return rows;
}

CalibrationRows rows_of_documents(std::span<const int32_t> ids, std::span<const uint64_t> offsets,
                                  uint64_t limit) {
  CalibrationRows rows;
  rows.starts = {0};
  for (size_t d = 0; d + 1 < offsets.size(); ++d) {
    const uint64_t length = std::min(limit, offsets[d + 1] - offsets[d]);
    if (length > 0) {
      append(rows, ids.subspan(offsets[d], length));
    }
  }
  return rows;
}

CalibrationRows padded_rows(const CalibrationRows& rows, uint64_t batch, int32_t pad_id) {
  CalibrationRows out;
  out.starts = {0};
  const size_t count = rows.starts.size() - 1;
  for (size_t first = 0; first < count; first += batch) {
    const size_t last = std::min<size_t>(count, first + batch);
    size_t longest = 0;
    for (size_t r = first; r < last; ++r) {
      longest = std::max(longest, row_of(rows, r).size());
    }
    for (size_t r = first; r < last; ++r) {
      const std::span<const int32_t> text = row_of(rows, r);
      out.texts.push_back(text.size());
      out.ids.insert(out.ids.end(), text.begin(), text.end());
      out.ids.resize(out.starts.back() + longest, pad_id);
      out.starts.push_back(out.ids.size());
    }
  }
  return out;
}

CalibrationRows shuffled_rows(const CalibrationRows& rows, uint64_t seed, uint32_t order) {
  std::vector<size_t> places(rows.starts.size() - 1);
  std::iota(places.begin(), places.end(), size_t{0});
  for (size_t i = places.size(); i > 1; --i) {
    const PhiloxCounter block =
        philox4x32({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), order, 0},
                   {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
    const uint64_t random = block[0] | static_cast<uint64_t>(block[1]) << 32;
    std::swap(places[i - 1], places[random % i]);
  }
  CalibrationRows out;
  out.starts = {0};
  for (const size_t row : places) {
    append(out, row_of(rows, row));
    if (!rows.texts.empty()) {
      out.texts.push_back(rows.texts[row]);
    }
  }
  return out;
}

}  // namespace quench
