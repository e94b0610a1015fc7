#include "run/owed_folders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/plugin_call.hpp"
#include "run/export_row.hpp"
#include "run/keep_row.hpp"

namespace quench {

void OwedFolders::find(size_t weights) {
  for (const RowFolder& row : row_folders(job_.experiment, job_.run.options.places)) {
    if (row.weights != weights) {
      continue;
    }
    try {
      if (auto owed = job_.run.history.owed(job_.experiment, row)) {
        owed_.push_back(std::move(*owed));
      }
    } catch (...) {
      const Error error = current_error();
      job_.run.keeper.throw_if_final(error);
      tell_unwritten(row, error);
    }
  }
}

bool OwedFolders::need_model() const {
  return std::any_of(owed_.begin(), owed_.end(),
                     [](const OwedFolder& owed) { return owed.needs_model; });
}

const OwedFolder* OwedFolders::of(const Variant& variant) const {
  const auto found = std::find_if(owed_.begin(), owed_.end(), [&](const OwedFolder& each) {
    return each.row.variant == variant && variant.quantizer;
  });
  return found != owed_.end() ? &*found : nullptr;
}

void OwedFolders::write_quantized(const OwedFolder& owed, OpenWeights& open,
                                  FormatWriter& stored) const {
  write(owed, [&] { export_row(open, stored, owed, job_.experiment.tokenizer); });
}

void OwedFolders::write_averages(const std::optional<OpenWeights>& open,
                                 const std::optional<Error>& not_open) const {
  for (const OwedFolder& owed : owed_) {
    if (owed.needs_model && not_open) {
      tell_unwritten(owed.row, *not_open);
    } else if (!owed.row.variant.quantizer) {
      write(owed, [&] {
        keep_row(job_.run.catalog, job_.experiment, owed,
                 open ? open->found : std::vector<double>(), job_.run.options.manifest,
                 job_.run.options.hub);
      });
    }
  }
}

void OwedFolders::tell_unwritten(const RowFolder& row, const Error& error) const {
  if (job_.run.options.on_unwritten) {
    job_.run.options.on_unwritten(
        fmt::format("{} is not written: {}", printable(folder_row_name(job_.experiment, row), 4096),
                    error.what()));
  }
}

template <typename Body>
void OwedFolders::write(const OwedFolder& owed, Body body) const {
  try {
    body();
  } catch (...) {
    const Error error = current_error();
    job_.run.keeper.throw_if_final(error);
    tell_unwritten(owed.row, error);
  }
}

}  // namespace quench
