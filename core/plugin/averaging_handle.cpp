#include "core/plugin/averaging_handle.hpp"

#include <utility>

#include "core/plugin/instance.hpp"

namespace quench {

AveragingHandle::AveragingHandle(Catalog& catalog, const PluginDescription& description,
                                 const nlohmann::json& parameters)
    : id_(description.id),
      label_(plugin_label(description)),
      table_(load_table<quench_averaging_table>(catalog, description)),
      averaging_(create_instance(label_, "create", table_->create, parameters)) {}

AveragingHandle::~AveragingHandle() {
  if (averaging_ != nullptr) {
    table_->destroy(averaging_);
  }
}

AveragingHandle::AveragingHandle(AveragingHandle&& other) noexcept
    : id_(std::move(other.id_)),
      label_(std::move(other.label_)),
      table_(other.table_),
      averaging_(std::exchange(other.averaging_, nullptr)) {}

uint32_t AveragingHandle::needs() const {
  return table_->needs(averaging_);
}

std::vector<uint64_t> AveragingHandle::select(std::span<const quench_averaging_member> members,
                                              uint64_t last) {
  std::vector<uint64_t> selected(members.size());
  uint64_t count = 0;
  table_call(label_, "select", table_->select, averaging_, members.data(), uint64_t{members.size()},
             last, selected.data(), &count);
  if (count == 0 || count > members.size()) {
    fail(QUENCH_INTERNAL, "{}: selects {} of {} members", label_, count, members.size());
  }
  selected.resize(count);
  for (uint64_t i = 0; i < count; ++i) {
    if (selected[i] >= members.size() || (i > 0 && selected[i] <= selected[i - 1])) {
      fail(QUENCH_INTERNAL, "{}: selects member {} of {}, expected ascending indices", label_,
           selected[i], members.size());
    }
  }
  return selected;
}

void AveragingHandle::begin(std::span<const quench_averaging_member> members) {
  table_call(label_, "begin", table_->begin, averaging_, members.data(), uint64_t{members.size()});
}

void AveragingHandle::accumulate(uint64_t member, std::span<const double> values) {
  table_call(label_, "accumulate", table_->accumulate, averaging_, member, values.data(),
             uint64_t{values.size()});
}

void AveragingHandle::finish(std::span<double> values) {
  table_call(label_, "finish", table_->finish, averaging_, values.data(), uint64_t{values.size()});
}

const void* AveragingHandle::extension(const char* id) const {
  return table_->extension == nullptr ? nullptr : table_->extension(averaging_, id);
}

}  // namespace quench
