#include "core/inputs/averaging/average_pass.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "core/arithmetic/convert_float.hpp"
#include "core/checkpoint/content_hash.hpp"
#include "core/error.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

// Elements per piece: few enough that pieces stay in the last-level cache; fewer with many members,
// so that memory does not grow with their number.
constexpr uint64_t kPieceElements = uint64_t{1} << 18;
constexpr uint64_t kLeastElements = uint64_t{1} << 14;
constexpr uint64_t kAllElements = uint64_t{1} << 21;
// Pieces between the one being written and the newest one being read.
constexpr size_t kPieces = 4;

// A range of a tensor. An empty tensor also has one piece, because the hash covers it.
struct Piece {
  uint64_t index;
  uint64_t first;
  uint64_t elements;
};

struct Slot {
  std::vector<std::vector<char>> stored;  // [member]
  std::vector<char> averaged;
  size_t reads = 0;  // members read so far
  bool claimed = false;
  bool done = false;  // average is computed
};

// Splits a pass into steps that any thread may take: read a piece of one member (a member's pieces
// in order, for its hash), average a piece that all members have read, emit the oldest one.
class Pipeline {
 public:
  Pipeline(const AverageSource& average, const AveragePass& pass)
      : average_(average), pass_(pass), slots_(kPieces), next_read_(average.members().size()) {
    const size_t members = average.members().size();
    for (Slot& slot : slots_) {
      slot.stored.resize(members);
    }
    reading_.assign(members, 0);
    const uint64_t elements = std::clamp(kAllElements / members, kLeastElements, kPieceElements);
    for (const uint64_t index : name_order(average)) {
      const TensorInfo& tensor = average.info(index);
      const uint64_t count = *element_count(tensor.shape);
      total_bytes_ += count * dtype_size(tensor.dtype);
      for (uint64_t first = 0; first == 0 || first < count; first += elements) {
        pieces_.push_back({index, first, std::min(elements, count - first)});
      }
    }
    for (size_t m = 0; m < members; ++m) {
      hashes_.push_back(std::make_unique<ContentHash>(average.count()));
    }
  }

  std::vector<std::string> run() {
    std::vector<std::thread> threads;
    try {
      for (uint32_t i = 1; i < pass_.threads; ++i) {
        threads.emplace_back([this] { work(); });
      }
    } catch (const std::system_error&) {
      // The threads that started suffice.
    }
    work();
    for (std::thread& thread : threads) {
      thread.join();
    }
    if (thrown_) {
      std::rethrow_exception(thrown_);
    }
    std::vector<std::string> hashes;
    for (const auto& hash : hashes_) {
      hashes.push_back(hash->hex_digest());
    }
    return hashes;
  }

 private:
  Slot& slot_of(size_t piece) { return slots_[piece % kPieces]; }

  void work() {
    std::unique_lock lock(mutex_);
    while (!thrown_ && written_ < pieces_.size()) {
      try {
        stop_if_asked();
        if (!step(lock)) {
          changed_.wait(lock);
        }
      } catch (...) {
        if (!lock.owns_lock()) {
          lock.lock();
        }
        if (!thrown_) {
          thrown_ = std::current_exception();
        }
        changed_.notify_all();
      }
    }
  }

  // Takes the oldest pending step; returns false if none is left to take.
  bool step(std::unique_lock<std::mutex>& lock) {
    if (!writing_ && slot_of(written_).done) {
      write(lock);
      return true;
    }
    for (size_t piece = written_; piece < std::min(written_ + kPieces, pieces_.size()); ++piece) {
      Slot& slot = slot_of(piece);
      if (!slot.claimed && slot.reads == average_.members().size()) {
        slot.claimed = true;
        average(piece, lock);
        return true;
      }
    }
    size_t member = next_read_.size();
    for (size_t m = 0; m < next_read_.size(); ++m) {
      if (reading_[m] == 0 && (member == next_read_.size() || next_read_[m] < next_read_[member])) {
        member = m;
      }
    }
    if (member == next_read_.size() || next_read_[member] >= pieces_.size() ||
        next_read_[member] >= written_ + kPieces) {
      return false;
    }
    read(member, lock);
    return true;
  }

  void read(size_t member, std::unique_lock<std::mutex>& lock) {
    const size_t at = next_read_[member];
    reading_[member] = 1;
    lock.unlock();
    const Piece& piece = pieces_[at];
    const TensorSource& source = *average_.members()[member].source;
    const uint64_t index = average_.index_in(member, piece.index);
    const TensorInfo& info = source.info(index);
    std::vector<char>& stored = slot_of(at).stored[member];
    stored.resize(piece.elements * dtype_size(info.dtype));
    source.read(index, piece.first, piece.elements, stored.data());
    if (piece.first == 0) {
      hashes_[member]->tensor(info);
    }
    hashes_[member]->content(stored.data(), stored.size());
    lock.lock();
    reading_[member] = 0;
    ++next_read_[member];
    ++slot_of(at).reads;
    changed_.notify_all();
  }

  void average(size_t at, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const Piece& piece = pieces_[at];
    Slot& slot = slot_of(at);
    const quench_dtype dtype = average_.info(piece.index).dtype;
    slot.averaged.resize(piece.elements * dtype_size(dtype));
    if (is_floating(dtype)) {
      std::vector<const char*> stored;
      for (const std::vector<char>& member : slot.stored) {
        stored.push_back(member.data());
      }
      average_.average_stored(piece.index, stored, piece.elements, slot.averaged.data());
    } else {
      average_.read(piece.index, piece.first, piece.elements, slot.averaged.data());
    }
    lock.lock();
    slot.done = true;
    changed_.notify_all();
  }

  void write(std::unique_lock<std::mutex>& lock) {
    writing_ = true;
    Slot& slot = slot_of(written_);
    const uint64_t index = pieces_[written_].index;
    lock.unlock();
    pass_.take(index, slot.averaged.data(), slot.averaged.size());
    lock.lock();
    written_bytes_ += slot.averaged.size();
    if (pass_.on_progress) {
      pass_.on_progress(written_bytes_, total_bytes_);
    }
    writing_ = false;
    slot.reads = 0;
    slot.claimed = false;
    slot.done = false;
    ++written_;
    changed_.notify_all();
  }

  const AverageSource& average_;
  const AveragePass& pass_;
  std::vector<Piece> pieces_;
  uint64_t total_bytes_ = 0;
  std::vector<std::unique_ptr<ContentHash>> hashes_;  // [member]

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::vector<size_t> next_read_;  // [member]: its next piece
  std::vector<char> reading_;      // [member]: whether a thread reads it now
  bool writing_ = false;
  size_t written_ = 0;  // pieces
  uint64_t written_bytes_ = 0;
  std::exception_ptr thrown_;
};

}  // namespace

std::vector<std::string> run_average_pass(const AverageSource& average, const AveragePass& pass) {
  return Pipeline(average, pass).run();
}

}  // namespace quench
