// int8 codes of the rows of a matrix: code = rint(x * (127 / a)), a the largest magnitude of the
// row (Dettmers et al. 2022, LLM.int8, section 2.1), in float32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quench::quantizers {

// A matrix in int8, one factor per row: value = code * maximum / 127.
struct Int8Rows {
  int64_t columns = 0;
  std::vector<int8_t> codes;  // [rows, columns]
  std::vector<float> maxima;  // [rows]; 0 for a row of zeros, whose codes are 0
};

// Which values stay out of the codes: those with |x| >= threshold (0: none).
enum class OutlierScope {
  kBatch,  // with their whole column, found over all rows: results depend on what goes in together
  kRow     // each value for itself
};

struct Outliers {
  double threshold = 0;
  OutlierScope scope = OutlierScope::kBatch;
};

// The codes, and the columns that have outliers, ascending. A row's maximum is taken over its
// values below the threshold, also those in columns of outliers. Codes of outliers are 0; with
// kBatch so are all codes of their columns. Throws NUMERICAL with row and column for a value that
// is not finite.
struct CodedRows {
  Int8Rows rows;
  std::vector<int64_t> outlier_columns;
};
CodedRows code_rows(std::span<const float> values, int64_t columns, const Outliers& outliers,
                    const char* what);

}  // namespace quench::quantizers
