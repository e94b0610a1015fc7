// The other process, and what this one shows to it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/plugin/wire/channel.hpp"
#include "core/plugin/wire/remote.hpp"
#include "quench/abi/tensor.h"

namespace quench::wire {

struct Served;
class Receiving;
class Sending;

// A table or an interface of the ABI: how it crosses. Made from sdk/abi.json.
struct TableType {
  const char* name;
  const char* kind;       // nullptr, or of a plugin's table
  const char* extension;  // its id, or nullptr
  uint64_t bytes;
  uint16_t functions;
  const char* const* names;  // [functions]
  // Bit i: function i is there.
  uint64_t (*mask)(const void* table);
  void (*put_fields)(Sending& out, const void* table);
  // A table of this process whose functions call the other one: of an interface, of the tables of
  // objects (`interface` nullptr), or of an item.
  void* (*make)(uint64_t mask, RemoteInterface* interface, RemoteItem* item, Receiving& in);
  void (*const* serve)(Served& served);  // [functions]
  // Bits of the functions that one who was lent the table may call: none that opens or closes.
  uint64_t lendable;
  // Whether it has anything besides functions.
  bool has_fields;
};

// In the order of the description; extensions are named by their place, + 1.
extern const TableType* const kTables[];
extern const uint16_t kTableCount;
// nullptr where the description has none.
const TableType* table_of_kind(const std::string& kind);
const TableType* table_of_extension(const char* id);
// The services of the host that a plugin elsewhere calls, as one table.
extern const TableType kServices;
// SHA-256 of the description, in hex.
extern const char* const kDescriptionHash;

// What a call may write after it has come back: the memory that was handed out meanwhile.
struct HandedOut {
  uint64_t exported;
  uint64_t index;
  quench_tensor tensor{};  // or, where `memory` is not nullptr, plain bytes
  void* memory = nullptr;
  uint64_t bytes = 0;
};

// Tables and objects of this process that the other one may use, by number. What one thread takes
// back is still there for the calls that others are serving: it is waited for. [thread-safe]
class Exports {
  // What is in use, and by which thread; numbers of tables and objects are never the same.
  using Uses = std::list<std::pair<uint64_t, std::thread::id>>;

 public:
  // A table or object that a call of this thread works with. It must end before the exports.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept : of_(std::exchange(other.of_, nullptr)), entry_(other.entry_) {}
    Use& operator=(Use&&) = delete;
    ~Use() {
      if (of_ != nullptr) {
        of_->end_use(entry_);
      }
    }

   private:
    friend class Exports;
    Use(Exports& of, Uses::iterator entry) : of_(&of), entry_(entry) {}
    Exports* of_ = nullptr;
    Uses::iterator entry_;
  };

  struct Table {
    const TableType* type = nullptr;
    const void* table = nullptr;
    std::shared_ptr<void> copy;                    // of an interface that outlives its call
    std::vector<HandedOut>* handed_out = nullptr;  // the outer call's
    uint64_t handed = 0;
    uint64_t allowed = ~uint64_t{0};  // functions that the other side may call
  };

  // The same number for the same table. The address alone does not tell: another table may lie
  // there later. A table must stay as long as the other process can name its number.
  uint64_t add_table(const TableType& type, const void* table, uint64_t allowed = ~uint64_t{0});
  void add_table_as(uint64_t number, const TableType& type, const void* table);
  uint64_t add_interface(const TableType& type, const void* interface, bool copy,
                         std::vector<HandedOut>* handed_out);
  void drop_table(uint64_t number);
  // Throws Error(DATA_LOSS) for a number that was not given.
  Table table(uint64_t number) const;
  std::pair<Table, Use> use_table(uint64_t number);
  // The number of the next output of this interface that is filled later, and where it goes.
  void hand_out(uint64_t number, HandedOut what);

  uint64_t add_object(int kind, void* object);
  // The object, of this kind; nullptr for 0. Throws Error(DATA_LOSS).
  void* object(int kind, uint64_t number) const;
  std::pair<void*, Use> use_object(int kind, uint64_t number);
  void drop_object(uint64_t number);
  // What must live as long as the object.
  void attach(uint64_t number, std::shared_ptr<void> companion);
  size_t size() const;

 private:
  struct Object {
    int kind;
    void* pointer;
    std::vector<std::shared_ptr<void>> companions;
  };
  Use begin_use(uint64_t number);
  void end_use(Uses::iterator entry);
  void wait_for_others(std::unique_lock<std::mutex>& lock, uint64_t number);

  mutable std::mutex mutex_;
  std::condition_variable use_ended_;
  Uses in_use_;
  std::unordered_map<uint64_t, Table> tables_;
  std::map<std::tuple<const void*, const TableType*, uint64_t>, uint64_t> numbers_;
  std::unordered_map<uint64_t, Object> objects_;
  uint64_t last_number_ = uint64_t{1} << 20;  // items have the numbers below
};

class Peer : public std::enable_shared_from_this<Peer> {
 public:
  virtual ~Peer() = default;
  // This thread's. Throws Error where the other process has ended.
  virtual Channel& channel() = 0;
  // Held while a call is made on it: threads that have no channel of their own share one.
  virtual std::unique_lock<std::recursive_mutex> turn(Channel& channel) = 0;
  // For messages.
  virtual std::string name() const = 0;
  // What it sent was not what it should be: it must not be listened to any more.
  virtual void distrust(const char* why) noexcept = 0;

  Exports& exports() { return exports_; }
  // An interface of the other process that stays; the same one for the same target.
  void* kept(const TableType& type, uint64_t target, uint64_t mask, Receiving& in);
  // Serves a call of the other process.
  void serve(Channel& channel, const Header& header, Reader& in, Writer& out);

 private:
  struct Kept {
    RemoteInterface interface;
    Keep keep;
    void* table = nullptr;
  };
  Exports exports_;
  std::mutex kept_mutex_;
  std::map<uint64_t, std::unique_ptr<Kept>> kept_;
};

}  // namespace quench::wire
