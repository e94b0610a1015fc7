#include "core/plugin/wire/remote.hpp"

#include <cstring>

#include "core/error.hpp"
#include "core/plugin/wire/peer.hpp"

namespace quench::wire {

namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Remote::~Remote() {
  for (const uint64_t exported : held_) {
    peer_->exports().drop_table(exported);
  }
}

uint64_t Remote::target_of(const TableType& type) const {
  if (type.extension == nullptr || &type == through_) {
    return target_;
  }
  const std::lock_guard lock(mutex_);
  const auto found = targets_.find(&type);
  if (found == targets_.end()) {
    fail(QUENCH_INTERNAL, "{} was not asked for before it is called", type.extension);
  }
  return found->second;
}

const Remote::Extension* Remote::extension(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = extensions_.find(id);
  return found == extensions_.end() ? nullptr : &found->second;
}

const void* Remote::add_extension(const std::string& id, const TableType* type,
                                  Extension extension) {
  const std::lock_guard lock(mutex_);
  if (type != nullptr) {
    targets_[type] = extension.target;
  }
  return extensions_.try_emplace(id, extension).first->second.table;
}

bool Known::recall(uint64_t function, std::span<const std::byte> call,
                   std::initializer_list<Output> outputs) const {
  const std::lock_guard lock(mutex_);
  const auto found = values_.find({function, text_of(call)});
  if (found == values_.end()) {
    return false;
  }
  auto value = found->second.begin();
  for (const Output& output : outputs) {
    std::memcpy(output.at, value->data(), output.bytes);
    ++value;
  }
  return true;
}

void Known::remember(uint64_t function, std::span<const std::byte> call,
                     std::initializer_list<Output> outputs) {
  std::vector<std::string> values;
  for (const Output& output : outputs) {
    values.emplace_back(static_cast<const char*>(output.at), output.bytes);
  }
  const std::lock_guard lock(mutex_);
  values_.try_emplace({function, text_of(call)}, std::move(values));
}

Keep& Known::renew(uint64_t function) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Keep>& keep = renewed_[function];
  keep = std::make_unique<Keep>();
  return *keep;
}

}  // namespace quench::wire
