// Data sets published in pieces: NAME-00000-of-00003.parquet, or 0000.parquet,
// 0001.parquet.
#pragma once

#include <string>
#include <vector>

namespace quench {

// Checks that the numbered files among `paths` (all in one folder) form one complete data set, so
// that a piece that was not downloaded is noticed. Files that name a count must share one name and
// one count and have each index once; files that are only a number must count up from 0. Throws
// DATA_LOSS that names the folder and the first missing piece.
void check_shards(const std::vector<std::string>& paths);

}  // namespace quench
