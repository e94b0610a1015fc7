#include "quantizers/int8/vectorwise.hpp"

#include <algorithm>
#include <cmath>

#include "quench/kit/host.hpp"

namespace quench::quantizers {

namespace {

constexpr uint64_t kRowGrain = 16;

// The columns in which some value reaches the threshold.
std::vector<int64_t> columns_with_outliers(std::span<const float> values, int64_t columns,
                                           float threshold) {
  std::vector<uint8_t> found(static_cast<size_t>(columns));
  for (size_t first = 0; first < values.size(); first += static_cast<size_t>(columns)) {
    for (size_t c = 0; c < found.size(); ++c) {
      found[c] |= std::fabs(values[first + c]) >= threshold ? 1 : 0;
    }
  }
  std::vector<int64_t> out;
  for (int64_t c = 0; c < columns; ++c) {
    if (found[static_cast<size_t>(c)] != 0) {
      out.push_back(c);
    }
  }
  return out;
}

}  // namespace

CodedRows code_rows(std::span<const float> values, int64_t columns, const Outliers& outliers,
                    const char* what) {
  const auto width = static_cast<size_t>(columns);
  const size_t rows = values.size() / width;
  const bool splits = outliers.threshold > 0;
  const auto limit = splits ? static_cast<float>(outliers.threshold) : HUGE_VALF;
  CodedRows out;
  out.rows.columns = columns;
  out.rows.codes.resize(values.size());
  out.rows.maxima.resize(rows);
  kit::parallel_for(rows, kRowGrain, [&](uint64_t begin, uint64_t end) {
    for (size_t r = begin; r < end; ++r) {
      const float* row = values.data() + r * width;
      float largest = 0;
      for (size_t c = 0; c < width; ++c) {
        const float size = std::fabs(row[c]);
        if (!std::isfinite(size)) {
          kit::fail(QUENCH_NUMERICAL, "%s: row %zu, column %zu is %g", what, r, c,
                    static_cast<double>(row[c]));
        }
        largest = size < limit && size > largest ? size : largest;
      }
      out.rows.maxima[r] = largest;
      const float factor = largest > 0 ? 127.0F / largest : 0;
      int8_t* codes = out.rows.codes.data() + r * width;
      for (size_t c = 0; c < width; ++c) {
        const float kept = std::fabs(row[c]) < limit ? row[c] : 0;
        const float code = std::isfinite(factor) ? kept * factor : kept / largest * 127.0F;
        codes[c] = static_cast<int8_t>(std::rint(code));
      }
    }
  });
  if (splits) {
    out.outlier_columns = columns_with_outliers(values, columns, limit);
    if (outliers.scope == OutlierScope::kBatch) {
      for (size_t r = 0; r < rows; ++r) {
        for (const int64_t c : out.outlier_columns) {
          out.rows.codes[r * width + static_cast<size_t>(c)] = 0;
        }
      }
    }
  }
  return out;
}

}  // namespace quench::quantizers
