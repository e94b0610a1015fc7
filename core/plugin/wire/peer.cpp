#include "core/plugin/wire/peer.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"
#include "core/plugin/wire/served.hpp"

namespace quench::wire {

namespace {

[[noreturn]] void refuse(const char* what, uint64_t number) {
  fail(QUENCH_DATA_LOSS, "a message between processes: there is no {} {}", what, number);
}

}  // namespace

const TableType* table_of_kind(const std::string& kind) {
  for (uint16_t i = 0; i < kTableCount; ++i) {
    if (kTables[i]->kind != nullptr && kTables[i]->kind == kind) {
      return kTables[i];
    }
  }
  return nullptr;
}

const TableType* table_of_extension(const char* id) {
  for (uint16_t i = 0; i < kTableCount; ++i) {
    if (kTables[i]->extension != nullptr && std::strcmp(kTables[i]->extension, id) == 0) {
      return kTables[i];
    }
  }
  return nullptr;
}

uint64_t Exports::add_table(const TableType& type, const void* table, uint64_t allowed) {
  const std::lock_guard lock(mutex_);
  const auto [known, is_new] = numbers_.try_emplace({table, &type, allowed}, last_number_ + 1);
  if (is_new) {
    ++last_number_;
    tables_[known->second] = {&type, table, nullptr, nullptr, 0, allowed};
  }
  return known->second;
}

void Exports::add_table_as(uint64_t number, const TableType& type, const void* table) {
  const std::lock_guard lock(mutex_);
  tables_[number] = {&type, table, nullptr, nullptr, 0, ~uint64_t{0}};
}

uint64_t Exports::add_interface(const TableType& type, const void* interface, bool copy,
                                std::vector<HandedOut>* handed_out) {
  Table entry{&type, interface, nullptr, handed_out, 0, ~uint64_t{0}};
  if (copy) {
    auto bytes = std::make_shared<std::vector<std::byte>>(type.bytes);
    std::memcpy(bytes->data(), interface, type.bytes);
    entry.table = bytes->data();
    entry.copy = std::move(bytes);
  }
  const std::lock_guard lock(mutex_);
  tables_[++last_number_] = std::move(entry);
  return last_number_;
}

void Exports::drop_table(uint64_t number) {
  std::unique_lock lock(mutex_);
  wait_for_others(lock, number);
  tables_.erase(number);
}

Exports::Table Exports::table(uint64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(number);
  if (found == tables_.end()) {
    refuse("table", number);
  }
  return found->second;
}

std::pair<Exports::Table, Exports::Use> Exports::use_table(uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(number);
  if (found == tables_.end()) {
    refuse("table", number);
  }
  return {found->second, begin_use(number)};
}

Exports::Use Exports::begin_use(uint64_t number) {
  in_use_.emplace_front(number, std::this_thread::get_id());
  return Use(*this, in_use_.begin());
}

void Exports::end_use(Uses::iterator entry) {
  {
    const std::lock_guard lock(mutex_);
    in_use_.erase(entry);
  }
  use_ended_.notify_all();
}

// A call that closes what it was called on does not wait for itself.
void Exports::wait_for_others(std::unique_lock<std::mutex>& lock, uint64_t number) {
  const std::thread::id self = std::this_thread::get_id();
  use_ended_.wait(lock, [&] {
    return std::none_of(in_use_.begin(), in_use_.end(),
                        [&](const auto& use) { return use.first == number && use.second != self; });
  });
}

void Exports::hand_out(uint64_t number, HandedOut what) {
  const std::lock_guard lock(mutex_);
  const auto found = tables_.find(number);
  if (found == tables_.end() || found->second.handed_out == nullptr) {
    refuse("table", number);
  }
  what.exported = number;
  what.index = found->second.handed++;
  found->second.handed_out->push_back(what);
}

uint64_t Exports::add_object(int kind, void* object) {
  if (object == nullptr) {
    return 0;
  }
  const std::lock_guard lock(mutex_);
  objects_[++last_number_] = {kind, object, {}};
  return last_number_;
}

void* Exports::object(int kind, uint64_t number) const {
  if (number == 0) {
    return nullptr;
  }
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(number);
  if (found == objects_.end() || found->second.kind != kind) {
    refuse("such object", number);
  }
  return found->second.pointer;
}

std::pair<void*, Exports::Use> Exports::use_object(int kind, uint64_t number) {
  if (number == 0) {
    return {nullptr, Use()};
  }
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(number);
  if (found == objects_.end() || found->second.kind != kind) {
    refuse("such object", number);
  }
  return {found->second.pointer, begin_use(number)};
}

void Exports::drop_object(uint64_t number) {
  std::vector<std::shared_ptr<void>> companions;  // destroyed without the lock
  std::unique_lock lock(mutex_);
  wait_for_others(lock, number);
  if (const auto found = objects_.find(number); found != objects_.end()) {
    companions = std::move(found->second.companions);
    objects_.erase(found);
  }
}

void Exports::attach(uint64_t number, std::shared_ptr<void> companion) {
  const std::lock_guard lock(mutex_);
  if (const auto found = objects_.find(number); found != objects_.end()) {
    found->second.companions.push_back(std::move(companion));
  }
}

size_t Exports::size() const {
  const std::lock_guard lock(mutex_);
  return objects_.size() + tables_.size();
}

void* Peer::kept(const TableType& type, uint64_t target, uint64_t mask, Receiving& in) {
  const std::lock_guard lock(kept_mutex_);
  std::unique_ptr<Kept>& entry = kept_[target];
  if (entry != nullptr) {
    return entry->table;  // what it has besides functions came with it the first time
  }
  auto made = std::make_unique<Kept>();
  made->interface.peer = shared_from_this();
  made->interface.target = target;
  Receiving fields(shared_from_this(), in.reader(), made->keep, nullptr);
  made->table = type.make(mask, &made->interface, nullptr, fields);
  entry = std::move(made);
  return entry->table;
}

void Peer::serve(Channel& channel, const Header& header, Reader& in, Writer& out) {
  auto [entry, use] = header.target == 0 ? std::pair<Exports::Table, Exports::Use>()
                                         : exports_.use_table(header.target);
  if (header.target == 0) {
    entry.type = &kServices;
  }
  const bool crosses =
      header.function < entry.type->functions && entry.type->serve[header.function] != nullptr;
  const bool there =
      crosses && (header.target == 0 ||
                  ((entry.type->mask(entry.table) & entry.allowed) >> header.function & 1) != 0);
  if (!there) {
    refuse("function", header.function);
  }
  Served served(*this, channel, entry, header.target, in, out);
  entry.type->serve[header.function](served);
}

}  // namespace quench::wire
