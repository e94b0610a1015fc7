#include "core/plugin/wire/crossing.hpp"

#include <map>
#include <mutex>
#include <utility>

#include "core/error.hpp"

namespace quench::wire {

namespace {

// Tables of nothing but functions are the same for all objects of all processes, and stay: one that
// lay in an object's memory could still be called by a third process, which knows its number, when
// the object is gone.
const void* table_of_functions(const TableType& type, uint64_t mask, Receiving& from) {
  static std::mutex mutex;
  static auto* keep = new Keep;
  static auto* tables = new std::map<std::pair<const TableType*, uint64_t>, const void*>;
  const uint64_t known = type.functions >= 64 ? mask : mask & ((uint64_t{1} << type.functions) - 1);
  const std::lock_guard lock(mutex);
  const void*& table = (*tables)[{&type, known}];
  if (table == nullptr) {
    Receiving in(from.peer(), from.reader(), *keep, nullptr);
    table = type.make(known, nullptr, nullptr, in);
  }
  return table;
}

}  // namespace

void refuse_message(const char* what) {
  fail(QUENCH_DATA_LOSS, "a message between processes: {}", what);
}

void require_count(uint64_t got, uint64_t wanted) {
  if (got != wanted) {
    refuse_message("an array has more or fewer elements than its function says");
  }
}

uint64_t one_more(uint64_t count) {
  if (count == UINT64_MAX) {
    refuse_message("an array of no possible length");
  }
  return count + 1;
}

Sending::~Sending() {
  end_lending();
  for (const uint64_t table : lasting_) {  // no object was made
    peer_.exports().drop_table(table);
  }
}

void Sending::end_lending() {
  for (const uint64_t table : std::exchange(tables_, {})) {
    peer_.exports().drop_table(table);
  }
  for (const uint64_t object : std::exchange(objects_, {})) {
    peer_.exports().drop_object(object);
  }
}

void Sending::dtype(quench_dtype dtype) {
  u64(dtype.code + 256u * dtype.bits + 65536u * dtype.lanes);
}

void Sending::device(quench_device device) {
  i64(device.type);
  i64(device.index);
}

void Sending::interface(const TableType& type, const void* interface, Life life) {
  if (interface == nullptr) {
    u64(0);
    return;
  }
  if (life == Life::kKept) {
    // A number of its own each time: another interface may lie at the same address later.
    u64(peer_.exports().add_interface(type, interface, false, nullptr));
    u64(type.mask(interface));
    type.put_fields(*this, interface);
    return;
  }
  const uint64_t number = peer_.exports().add_interface(
      type, interface, life == Life::kOwned, life == Life::kCall ? &handed_out_ : nullptr);
  (life == Life::kCall ? tables_ : life == Life::kObject ? lasting_ : owned_).push_back(number);
  u64(number);
  u64(type.mask(interface));
  type.put_fields(*this, interface);
}

void Sending::table(const TableType& type, const void* table) {
  u64(peer_.exports().add_table(type, table));
  u64(type.mask(table));
  type.put_fields(*this, table);
}

void Sending::lent_table(const TableType& type, const void* table) {
  u64(peer_.exports().add_table(type, table, type.lendable));
  u64(type.mask(table) & type.lendable);
  type.put_fields(*this, table);
}

void Sending::lent_object(int kind, const void* object) {
  const uint64_t number = peer_.exports().add_object(kind, const_cast<void*>(object));
  objects_.push_back(number);
  u64(number);
}

void Sending::new_object(int kind, void* object) {
  made_ = peer_.exports().add_object(kind, object);
  u64(made_);
}

void Sending::their_object(const void* object) {
  if (object != nullptr && remote(object)->peer().get() != &peer_) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: an object of another process, or of one that has ended",
         peer_.name());
  }
  u64(object == nullptr ? 0 : remote(object)->number());
}

void Sending::keep_owned() {
  for (const uint64_t number : owned_) {
    peer_.exports().drop_table(number);
  }
  owned_.clear();
}

const char* Receiving::required_text() {
  const char* out = text();
  if (out == nullptr) {
    refuse_message("a text is NULL");
  }
  return out;
}

quench_dtype Receiving::dtype() {
  const uint64_t value = u64();
  if (value >> 32 != 0) {
    refuse_message("an element type that is none");
  }
  return {static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8),
          static_cast<uint16_t>(value >> 16)};
}

quench_device Receiving::device() {
  const int32_t type = reader_.i32();
  return {type, reader_.i32()};
}

void* Receiving::bytes(const Blob& blob, uint64_t element_bytes) {
  if (blob.data == nullptr) {
    return nullptr;
  }
  if (blob.bytes % element_bytes != 0) {
    refuse_message("an array ends within an element");
  }
  reader_.copies(blob);
  // Outputs of a reply outlive it, and what another process can still change is never used.
  return keep_.copy_of(blob.data, blob.bytes);
}

void* Receiving::room(uint64_t count, uint64_t element_bytes) {
  if (room_ == nullptr || count > kMemoryBytes / element_bytes) {
    refuse_message("an output larger than the shared memory");
  }
  return room_->take(count * element_bytes);
}

void* Receiving::interface(const TableType& type, Life life) {
  const uint64_t target = u64();
  if (target == 0) {
    return nullptr;
  }
  const uint64_t mask = u64();
  if (life == Life::kKept) {
    return peer_->kept(type, target, mask, *this);
  }
  auto made = std::make_unique<RemoteInterface>();
  made->peer = peer_;
  made->target = target;
  RemoteInterface* out = made.get();
  interfaces_.push_back(out);
  if (life == Life::kCall) {
    borrowed_.interfaces.push_back(std::move(made));
    return type.make(mask, out, nullptr, *this);
  }
  if (life == Life::kObject) {
    if (lasting_ == nullptr) {
      lasting_ = std::make_shared<Borrowed>();
    }
    lasting_->interfaces.push_back(std::move(made));
    Receiving in(peer_, reader_, lasting_->keep, room_);
    return type.make(mask, out, nullptr, in);
  }
  out->own = std::make_unique<Keep>();
  owned_.push_back(std::move(made));
  Receiving in(peer_, reader_, *out->own, room_);
  return type.make(mask, out, nullptr, in);
}

const void* Receiving::table(const TableType& type, uint64_t& target) {
  target = u64();
  const uint64_t mask = u64();
  return type.has_fields ? type.make(mask, nullptr, nullptr, *this)
                         : table_of_functions(type, mask, *this);
}

void* Receiving::lent_object(uint64_t target) {
  const uint64_t number = u64();
  if (number == 0) {
    return nullptr;
  }
  borrowed_.objects.push_back(std::make_unique<Remote>(peer_, number, target, nullptr));
  return borrowed_.objects.back().get();
}

void* Receiving::new_object(const TableType& through, uint64_t target,
                            const std::vector<uint64_t>& lasting) {
  const uint64_t number = u64();
  if (number == 0) {
    refuse_message("a function that succeeded has made no object");
  }
  Remote& made = *made_.emplace_back(std::make_unique<Remote>(peer_, number, target, &through));
  for (const uint64_t exported : lasting) {
    made.hold(exported);
  }
  return &made;
}

void Receiving::give_made() {
  for (std::unique_ptr<Remote>& made : made_) {
    static_cast<void>(made.release());  // its `close` frees it
  }
  made_.clear();
}

void Receiving::hand_over() {
  for (std::unique_ptr<RemoteInterface>& interface : owned_) {
    static_cast<void>(interface.release());  // its `release` frees it
  }
  owned_.clear();
}

}  // namespace quench::wire
