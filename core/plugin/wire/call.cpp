#include "core/plugin/wire/call.hpp"

#include <array>
#include <cstring>
#include <mutex>

#include "core/plugin/wire/copy.hpp"

namespace quench::wire {

Call::Call(std::shared_ptr<Peer> peer, uint64_t target, uint16_t function)
    : peer_(std::move(peer)),
      channel_(peer_->channel()),
      turn_(peer_->turn(channel_)),
      target_(target),
      function_(function),
      from_(channel_.own().top()),
      writer_(channel_.own()),
      out_(*peer_, writer_) {}

Call::~Call() {
  if (in_ && std::uncaught_exceptions() > exceptions_) {
    peer_->distrust("a reply that cannot be read");
  }
  channel_.own().reset(from_);
}

Receiving& Call::send(Keep& keep) {
  reply_ = channel_.call(target_, function_, writer_.bytes());
  out_.end_lending();  // other threads of the other process may still be calling
  reader_.emplace(reply_.body, &channel_.theirs());
  return in_.emplace(peer_, *reader_, keep, nullptr);
}

quench_status Call::status(quench_error* error) {
  const int64_t value = reader_->i64();
  if (value < QUENCH_OK || value > QUENCH_UNAVAILABLE) {
    refuse_message("a status that is none");
  }
  const auto status = static_cast<quench_status>(value);
  const Blob text = reader_->blob();
  if (status != QUENCH_OK) {
    report_error(error, status,
                 {reinterpret_cast<const char*>(text.data), text.data == nullptr ? 0 : text.bytes});
    out_.keep_owned();
  }
  return status;
}

void Call::message(quench_error* error) {
  const Blob text = reader_->blob();
  if (text.data != nullptr && text.bytes > 0) {
    report_error(error, QUENCH_OK, {reinterpret_cast<const char*>(text.data), text.bytes});
  }
}

void Call::take_handed_out() {
  const uint64_t count = reader_->count();
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t exported = reader_->u64();
    const uint64_t index = reader_->u64();
    const Blob value = reader_->blob();
    bool found = false;
    for (const HandedOut& to : out_.handed_out()) {
      if (to.exported != exported || to.index != index) {
        continue;
      }
      found = true;
      if (to.memory == nullptr) {
        copy_out(value, to.tensor);
      } else if (value.data == nullptr || value.bytes != to.bytes) {
        refuse_message("an output of another size than was asked for");
      } else if (value.bytes > 0) {
        copy(to.memory, value.data, value.bytes);
      }
    }
    if (!found) {
      refuse_message("an output that nobody asked for");
    }
  }
}

const void* call_extension(const void* object, const char* id, uint16_t function) noexcept {
  return value_of<const void*>(nullptr, [&]() -> const void* {
    Remote* self = remote(object);
    if (const Remote::Extension* known = self->extension(id)) {
      return known->table;
    }
    const TableType* type = table_of_extension(id);
    if (type == nullptr) {
      return nullptr;  // of third parties: within one process only
    }
    Call call(self->peer(), self->item_target(), function);
    call.out().their_object(object);
    call.out().text(id);
    const std::lock_guard lock(self->known().keep_mutex());
    Receiving& in = call.send(self->known().keep());
    const uint64_t number = in.u64();
    Remote::Extension found;
    if (number != 0) {
      if (number > kTableCount || kTables[number - 1] != type) {
        refuse_message("another extension than was asked for");
      }
      found.table = in.table(*type, found.target);
    }
    call.finish();
    return self->add_extension(id, type, found);
  });
}

namespace {

std::mutex slots_mutex;
std::array<RemoteItem*, kSlots> slots{};

}  // namespace

RemoteItem* item_in_slot(size_t slot) {
  return slots[slot];
}

size_t slot_of(RemoteItem* item) {
  const std::lock_guard lock(slots_mutex);
  for (size_t i = 0; i < kSlots; ++i) {
    if (slots[i] == nullptr || slots[i] == item) {
      slots[i] = item;
      return i;
    }
  }
  fail(QUENCH_RESOURCE_EXHAUSTED, "more than {} plugins in processes of their own", kSlots);
}

Known& known_of_services() {
  thread_local Known known;
  return known;
}

}  // namespace quench::wire
