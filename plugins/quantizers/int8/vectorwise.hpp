// int8 codes of the rows of a matrix: code = rint(x * (127 / a)), where a is the row's largest
// magnitude (Dettmers et al. 2022, LLM.int8, section 2.1), in float32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace quench::quantizers {

// A matrix in int8, one factor per row: value = code * maximum / 127.
struct Int8Rows {
  int64_t columns = 0;
  std::vector<int8_t> codes;  // [rows, columns]
  std::vector<float> maxima;  // [rows]; 0 for a row of zeros
};

// Which values are not coded: those with |x| >= threshold (0: none).
enum class OutlierScope {
  kBatch,  // their whole columns, over all rows: results depend on the batch
  kRow     // single values
};

struct Outliers {
  double threshold = 0;
  OutlierScope scope = OutlierScope::kBatch;
};

// The codes, and the columns with outliers in ascending order. A row's maximum is taken over its
// values below the threshold, including those in outlier columns. Codes of outliers are 0; with
// kBatch all codes of their columns are. Throws NUMERICAL with row and column for a value that is
// not finite.
struct CodedRows {
  Int8Rows rows;
  std::vector<int64_t> outlier_columns;
};
CodedRows code_rows(std::span<const float> values, int64_t columns, const Outliers& outliers,
                    const char* what);

}  // namespace quench::quantizers
