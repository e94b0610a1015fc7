// What crosses in one message beside plain values: objects, tables, interfaces, and memory that one
// side lends to the other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/plugin/wire/body.hpp"
#include "core/plugin/wire/peer.hpp"
#include "core/plugin/wire/remote.hpp"

namespace quench::wire {

enum class Life {
  kCall,    // until the function returns
  kObject,  // until the object that the function makes is closed
  kOwned,   // until the receiver calls `release`
  kKept,    // as long as what gave it, at the latest until the processes part
};

// The values of a call or a reply, as this process writes them.
class Sending {
 public:
  Sending(Peer& peer, Writer& writer) : peer_(peer), writer_(writer) {}
  ~Sending();
  Sending(const Sending&) = delete;
  Sending& operator=(const Sending&) = delete;

  Writer& writer() { return writer_; }
  void u64(uint64_t value) { writer_.u64(value); }
  void i64(int64_t value) { writer_.i64(value); }
  void f64(double value) { writer_.f64(value); }
  void text(const char* text) { writer_.text(text); }
  void blob(const void* data, uint64_t bytes) { writer_.blob(data, bytes); }
  void dtype(quench_dtype dtype);
  void device(quench_device device);

  // Structs of functions of this process.
  void interface(const TableType& type, const void* interface, Life life);
  void table(const TableType& type, const void* table);
  // Of an object that is lent, which the other side neither opens nor closes.
  void lent_table(const TableType& type, const void* table);
  // An object of this process, lent for the call.
  void lent_object(int kind, const void* object);
  // One that the other process is to close.
  void new_object(int kind, void* object);
  // One of the other process.
  void their_object(const void* remote);

  // Where what interfaces of this message hand out is noted.
  std::vector<HandedOut>& handed_out() { return handed_out_; }
  // The call is over: what was lent for it is taken back.
  void end_lending();
  // The interfaces that must live as long as the object that the call made.
  std::vector<uint64_t> take_lasting() { return std::move(lasting_); }
  // The other side has not taken over what it was to own.
  void keep_owned();
  uint64_t made() const { return made_; }  // the last new object
  // A count that members of structs in an array share.
  uint64_t outer = 0;

 private:
  Peer& peer_;
  Writer& writer_;
  std::vector<uint64_t> tables_;   // for the call
  std::vector<uint64_t> objects_;  // for the call
  std::vector<uint64_t> lasting_;
  std::vector<uint64_t> owned_;
  std::vector<HandedOut> handed_out_;
  uint64_t made_ = 0;
};

// Interfaces and objects of the other process, as long as they are lent.
struct Borrowed {
  Keep keep;
  std::vector<std::unique_ptr<RemoteInterface>> interfaces;
  std::vector<std::unique_ptr<Remote>> objects;
};

// The values of a call or a reply, as the other process wrote them. Throws Error(DATA_LOSS) for
// what they cannot be.
class Receiving {
 public:
  // `keep`: where values lie; `room`: memory for outputs that the reply carries, or nullptr.
  Receiving(std::shared_ptr<Peer> peer, Reader& reader, Keep& keep, OwnMemory* room)
      : peer_(std::move(peer)), reader_(reader), keep_(keep), room_(room) {}

  Reader& reader() { return reader_; }
  Keep& keep() { return keep_; }
  const std::shared_ptr<Peer>& peer() const { return peer_; }
  uint64_t u64() { return reader_.u64(); }
  int64_t i64() { return reader_.i64(); }
  double f64() { return reader_.f64(); }
  const char* text() {
    const Blob blob = reader_.blob();
    reader_.copies(blob);
    return keep_.text(blob);
  }
  // A parameter that is never NULL.
  const char* required_text();
  quench_dtype dtype();
  quench_device device();
  // Elements of a type; their number goes to `count`. nullptr: NULL.
  template <typename T>
  T* elements(uint64_t& count) {
    const Blob blob = reader_.blob();
    count = blob.bytes / sizeof(T);
    return static_cast<T*>(bytes(blob, sizeof(T)));
  }
  void* room(uint64_t count, uint64_t element_bytes);

  // Structs of functions of the other process.
  void* interface(const TableType& type, Life life);
  const void* table(const TableType& type, uint64_t& target);
  // An object of the other process, which serves `target` of it.
  void* lent_object(uint64_t target);
  // One of this process.
  template <typename T>
  T* own_object(int kind) {
    return static_cast<T*>(own_object(kind, reader_.u64()));
  }
  // In use until all of the message was: for a number that was read before.
  void* own_object(int kind, uint64_t number) {
    auto [object, use] = peer_->exports().use_object(kind, number);
    uses_.push_back(std::move(use));
    return object;
  }
  // One that this process is to close, once give_made() was called; before, it ends with this.
  void* new_object(const TableType& through, uint64_t target, const std::vector<uint64_t>& lasting);
  // The message is whole: what it made is the caller's.
  void give_made();

  // Of this message, for outputs that are filled until the call returns.
  const std::vector<RemoteInterface*>& interfaces() const { return interfaces_; }
  // What lives as long as the object that the function makes; nullptr if nothing does.
  std::shared_ptr<Borrowed> lasting() { return lasting_; }
  // The callee has taken over what it was given for good.
  void hand_over();
  uint64_t outer = 0;

 private:
  void* bytes(const Blob& blob, uint64_t element_bytes);

  std::shared_ptr<Peer> peer_;
  Reader& reader_;
  Keep& keep_;
  OwnMemory* room_;
  Borrowed borrowed_;
  std::shared_ptr<Borrowed> lasting_;
  std::vector<std::unique_ptr<RemoteInterface>> owned_;
  std::vector<std::unique_ptr<Remote>> made_;
  std::vector<RemoteInterface*> interfaces_;
  std::vector<Exports::Use> uses_;
};

[[noreturn]] void refuse_message(const char* what);
// Throws unless an array has as many elements as its function says; one that is NULL has none.
void require_count(uint64_t got, uint64_t wanted);
// count + 1, for arrays that begin with 0 and end with the whole.
uint64_t one_more(uint64_t count);

// ---- structs of the plugin interface ---------------------------------------------------------

// Element `index` of an array, whose distances follow its writer's header.
template <typename S>
const S* element(const S* first, uint64_t index) {
  return reinterpret_cast<const S*>(reinterpret_cast<const std::byte*>(first) +
                                    index * first->struct_size);
}

inline Remote* remote(const void* object) {
  return static_cast<Remote*>(const_cast<void*>(object));
}

}  // namespace quench::wire
