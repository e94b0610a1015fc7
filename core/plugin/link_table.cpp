#include "core/plugin/link_table.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"

namespace quench {

namespace {

FileIdentity look_at(const std::filesystem::path& path) {
  try {
    return File(path).identity();
  } catch (const Error&) {
    return {};  // gone
  }
}

}  // namespace

LinkTable::Rows LinkTable::rows_of(const std::vector<LinkedLibrary>& libraries) {
  Rows rows;
  for (const LinkedLibrary& library : libraries) {
    rows.push_back(row_of(library));
  }
  return rows;
}

std::vector<LinkedLibrary> LinkTable::libraries(const Rows& rows) const {
  std::vector<LinkedLibrary> out;
  out.reserve(rows.size());
  for (const size_t row : rows) {
    out.push_back(at(row).library);
  }
  return out;
}

bool LinkTable::are_current(const Rows& rows) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](size_t row) { return is_current(rows_.at(row)); });
}

bool LinkTable::is_current(Watched& watched) {
  if (!watched.now) {
    watched.now = look_at(watched.row.library.path);
  }
  return *watched.now == watched.row.stamp;
}

size_t LinkTable::row_of(const LinkedLibrary& library) {
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].row.library == library && is_current(rows_[i])) {
      return i;
    }
  }
  const FileIdentity now = look_at(library.path);
  rows_.push_back({{library, now}, now});
  return rows_.size() - 1;
}

}  // namespace quench
