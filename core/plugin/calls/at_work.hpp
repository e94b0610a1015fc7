// What this process is working on, in plain memory, so that a signal handler can report it when a
// plugin's code ends the process or when somebody waits for it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace quench {

// The command line that continues where this process ends.
void set_resume_command(std::string_view command);
// The current work, for people: "step600, gptq bits=3".
void set_work(std::string_view what);
// The file that tells the next attempt at a run which cells were at work when a plugin ended the
// process (core/store/death_note.hpp); "": none.
void set_death_note(std::string_view path);

// The content keys of the cells that the current work is for, while the object lives; then those of
// the outer object. Host's main thread only.
class CellsAtWork {
 public:
  explicit CellsAtWork(std::span<const std::string> keys) noexcept;
  ~CellsAtWork();
  CellsAtWork(const CellsAtWork&) = delete;
  CellsAtWork& operator=(const CellsAtWork&) = delete;

 private:
  std::span<const std::string> keys_;
  CellsAtWork* outer_;
  friend struct AtWork;
};

// ---- for signal handlers: nothing below allocates or locks

// Text of bounded length; drops what does not fit.
class SignalText {
 public:
  SignalText& operator<<(const char* text) noexcept;
  SignalText& operator<<(int64_t number) noexcept;
  const char* text() const { return text_; }
  size_t size() const { return size_; }
  // Writes the whole text to a descriptor.
  void write_to(int descriptor) const noexcept;

 private:
  char text_[6000] = {};
  size_t size_ = 0;
};

// Reports the calling thread's plugin call when another thread has none.
void watch_calls_of_this_thread() noexcept;
// "quantizer gptq: quantize (model.layers.0.mlp.up_proj.weight)"; false if no plugin is called.
bool describe_call(SignalText& text) noexcept;
// "; at work on step600, gptq bits=3; continue with: quench run m.yaml", as far as known.
void describe_work(SignalText& text) noexcept;
// Writes the note (`cause` and keys) if it has a path and there are cells at work.
void write_death_note(const SignalText& cause) noexcept;

}  // namespace quench
