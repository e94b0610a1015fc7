// What this process holds of things that live in the other one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/plugin/wire/body.hpp"

namespace quench::wire {

class Peer;
struct TableType;

// An output of a function whose result stays the same: where it was written, and its size.
struct Output {
  void* at;
  size_t bytes;
};

// Memory that the other side fills before its call returns, and that this side reads then.
struct Deferred {
  const void* from = nullptr;  // here, in the process that fills it
  uint64_t bytes = 0;
};

// Results that stay what they are as long as something lives.
class Known {
 public:
  // Whether the outputs of this call are known; they are copied back then.
  bool recall(uint64_t function, std::span<const std::byte> call,
              std::initializer_list<Output> outputs) const;
  void remember(uint64_t function, std::span<const std::byte> call,
                std::initializer_list<Output> outputs);
  // Memory for a result that lives until the next call of the same function.
  Keep& renew(uint64_t function);
  // What results lie in, and its lock while something is put there.
  Keep& keep() { return keep_; }
  std::mutex& keep_mutex() { return keep_mutex_; }

 private:
  std::map<std::pair<uint64_t, std::string>, std::vector<std::string>> values_;
  std::map<uint64_t, std::unique_ptr<Keep>> renewed_;
  Keep keep_;
  std::mutex keep_mutex_;
  mutable std::mutex mutex_;
};

// A struct of functions that the other process serves, behind its `context`.
struct RemoteInterface {
  std::shared_ptr<Peer> peer;
  uint64_t target = 0;
  std::vector<Deferred> deferred;
  std::unique_ptr<Keep> own;  // what it is made of, or has lent
  Known known;
};

// A table of the other process that makes objects. It outlives the process: after a crash, `peer`
// gives a fresh one.
class RemoteItem {
 public:
  virtual ~RemoteItem() = default;
  // Starts the other process where there is none. Throws Error.
  virtual std::shared_ptr<Peer> peer() = 0;
  uint64_t target = 0;
};

// An object of the other process. A pointer to it stands for the plugin's own type in the tables.
class Remote {
 public:
  // `through`: the table whose function made it, which is `target`; nullptr: that of its kind.
  Remote(std::shared_ptr<Peer> peer, uint64_t number, uint64_t target, const TableType* through)
      : peer_(std::move(peer)), number_(number), target_(target), through_(through) {}
  ~Remote();
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  const std::shared_ptr<Peer>& peer() const { return peer_; }
  uint64_t number() const { return number_; }
  // The target of a function of this table that is called on the object. Throws where the object
  // has no such extension.
  uint64_t target_of(const TableType& type) const;
  uint64_t item_target() const { return target_; }

  struct Extension {
    uint64_t target = 0;
    const void* table = nullptr;  // nullptr: the object has none of this id
  };
  // nullptr where it was not asked for yet.
  const Extension* extension(const std::string& id) const;
  const void* add_extension(const std::string& id, const TableType* type, Extension extension);
  // Tables and descriptions that live as long as the object.
  Known& known() { return known_; }
  // An interface of this process that the object may call as long as it lives.
  void hold(uint64_t exported) { held_.push_back(exported); }

 private:
  std::shared_ptr<Peer> peer_;
  uint64_t number_;
  uint64_t target_;
  const TableType* through_;
  std::map<std::string, Extension> extensions_;
  std::map<const TableType*, uint64_t> targets_;
  std::vector<uint64_t> held_;
  Known known_;
  mutable std::mutex mutex_;
};

}  // namespace quench::wire
