// Data sets that are published in pieces: NAME-00000-of-00003.parquet, or 0000.parquet,
// 0001.parquet.
#pragma once

#include <string>
#include <vector>

namespace quench {

// Fails unless the numbered files among `paths` (all in one folder) are all there is of their data
// set: of those that name a count, all with one name and one count, and each index once; of those
// that are a number alone, each from 0 on. A piece that was not downloaded must not go unnoticed.
// DATA_LOSS names the folder and the first piece that is missing.
void check_shards(const std::vector<std::string>& paths);

}  // namespace quench
