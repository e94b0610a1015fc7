// Facts from Python's pickletools: the instructions of protocols 2 to 5.
#include "formats/torch_archive/pickle.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "formats/shared/failure.hpp"
#include "formats/torch_archive/pickle_tensor.hpp"

namespace quench::formats {

namespace {

constexpr size_t kMaxValues = size_t{1} << 21;
constexpr size_t kMaxItems = size_t{1} << 22;
constexpr size_t kMaxStack = size_t{1} << 20;
constexpr const char* kCastAdvice =
    "cast such tensors in Python where you trust the file, value.to(torch.bfloat16), and save "
    "again";

struct Instruction {
  unsigned char code;
  const char* name;
};

// Refused instructions with a name worth telling.
constexpr Instruction kRefused[] = {
    {'0', "POP"},
    {'1', "POP_MARK"},
    {'2', "DUP"},
    {'F', "FLOAT"},
    {'I', "INT"},
    {'L', "LONG"},
    {'P', "PERSID"},
    {'S', "STRING"},
    {'T', "BINSTRING"},
    {'V', "UNICODE"},
    {'d', "DICT"},
    {'g', "GET"},
    {'i', "INST"},
    {'l', "LIST"},
    {'o', "OBJ"},
    {'p', "PUT"},
    {0x81, "NEWOBJ"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {0x8B, "LONG4"},
    {0x8C, "SHORT_BINUNICODE"},
    {0x8F, "EMPTY_SET"},
    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},
    {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"},
    {0x94, "MEMOIZE"},
    {0x95, "FRAME"},
    {'B', "BINBYTES"},
    {'C', "SHORT_BINBYTES"},
};

class Interpreter {
 public:
  // Without classes: what torch.save writes.
  Interpreter(std::string_view pickle, const std::string& name,
              std::span<const PickleClass> classes)
      : pickle_(pickle), name_(name), classes_(classes) {}

  PickleGraph run() {
    if (take() != 0x80) {
      refuse("does not begin with a protocol");
    }
    const unsigned protocol = take();
    if (classes_.empty() && protocol != 2) {
      refuse(fmt::format("pickle protocol {}, wanted 2, which torch.save writes", protocol));
    }
    if (protocol < 2 || protocol > 5) {
      refuse(fmt::format("pickle protocol {}, wanted 2 to 5", protocol));
    }
    for (;;) {
      start_ = at_;
      const unsigned char code = take();
      if (code == '.') {
        break;
      }
      try {
        execute(code);
      } catch (const PickleFault& fault) {
        refuse(fault.what);
      }
    }
    if (stack_.size() != 1 || !marks_.empty()) {
      refuse(fmt::format("ends with {} values on the stack, wanted 1", stack_.size()));
    }
    if (at_ != pickle_.size()) {
      refuse(fmt::format("{} bytes after the end of the pickle", pickle_.size() - at_));
    }
    graph_.root = stack_.back();
    return std::move(graph_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(QUENCH_INVALID_ARGUMENT, "{}: byte {}: {}", name_, start_, what);
  }

  unsigned char take() { return static_cast<unsigned char>(take(1)[0]); }

  std::string_view take(uint64_t bytes) {
    if (bytes > pickle_.size() - at_) {
      refuse("truncated");
    }
    const std::string_view out = pickle_.substr(at_, bytes);
    at_ += bytes;
    return out;
  }

  uint64_t take_number(size_t bytes) {
    const std::string_view raw = take(bytes);
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;) {
      value = value << 8 | static_cast<unsigned char>(raw[i]);
    }
    return value;
  }

  std::string_view take_line() {
    const size_t end = pickle_.find('\n', at_);
    if (end == std::string_view::npos) {
      refuse("truncated");
    }
    const std::string_view line = pickle_.substr(at_, end - at_);
    at_ = end + 1;
    return line;
  }

  PickleValue& value(PickleId id) { return graph_.values[id]; }

  void push_id(PickleId id) {
    if (stack_.size() == kMaxStack) {
      refuse(fmt::format("more than {} values on the stack", kMaxStack));
    }
    stack_.push_back(id);
  }

  void push(PickleValue made) {
    if (graph_.values.size() == kMaxValues) {
      refuse(fmt::format("more than {} values", kMaxValues));
    }
    graph_.values.push_back(std::move(made));
    push_id(static_cast<PickleId>(graph_.values.size() - 1));
  }

  void push(PickleKind kind, int64_t integer = 0) {
    PickleValue made;
    made.kind = kind;
    made.integer = integer;
    push(std::move(made));
  }

  void push_text(std::string_view text) {
    PickleValue made;
    made.kind = PickleKind::kText;
    made.text = text;
    push(std::move(made));
  }

  // The top of the stack above the last mark.
  PickleId top() const {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
      refuse("stack underflow");
    }
    return stack_.back();
  }

  PickleId pop() {
    const PickleId id = top();
    stack_.pop_back();
    return id;
  }

  void count_items(size_t more) {
    items_ += more;
    if (items_ > kMaxItems) {
      refuse(fmt::format("more than {} references", kMaxItems));
    }
  }

  void mark() {
    if (marks_.size() == kMaxStack) {
      refuse(fmt::format("more than {} marks", kMaxStack));
    }
    marks_.push_back(stack_.size());
  }

  std::vector<PickleId> pop_to_mark() {
    if (marks_.empty()) {
      refuse("no mark on the stack");
    }
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleId> out(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return out;
  }

  void push_tuple(std::vector<PickleId> items) {
    count_items(items.size());
    PickleValue made;
    made.kind = PickleKind::kTuple;
    made.items = std::move(items);
    push(std::move(made));
  }

  void push_tuple(size_t size) {
    std::vector<PickleId> items(size);
    for (size_t i = size; i-- > 0;) {
      items[i] = pop();
    }
    push_tuple(std::move(items));
  }

  // APPEND(S) on lists and SETITEM(S) on dicts, and on nothing else.
  void extend(PickleKind kind, const std::vector<PickleId>& items, const char* instruction) {
    PickleValue& target = value(top());
    if (target.kind != kind) {
      refuse(fmt::format("{} on {}, wanted {}", instruction, pickle_kind_name(target.kind),
                         pickle_kind_name(kind)));
    }
    if (kind == PickleKind::kDict && items.size() % 2 != 0) {
      refuse(fmt::format("{} with a key that has no value", instruction));
    }
    count_items(items.size());
    target.items.insert(target.items.end(), items.begin(), items.end());
  }

  void put(uint64_t slot) {
    if (memo_.size() == kMaxValues) {
      refuse(fmt::format("more than {} memo entries", kMaxValues));
    }
    memo_[static_cast<uint32_t>(slot)] = top();
  }

  void get(uint64_t slot) {
    const auto found = memo_.find(static_cast<uint32_t>(slot));
    if (found == memo_.end()) {
      refuse(fmt::format("memo entry {} does not exist", slot));
    }
    push_id(found->second);
  }

  // LONG1: little-endian two's complement. Longer than 64 bits (random states) is carried as None.
  void push_long(size_t bytes) {
    if (bytes > 8) {
      take(bytes);
      push(PickleKind::kOther);
      return;
    }
    uint64_t bits = take_number(bytes);
    if (bytes > 0 && bytes < 8 && (bits >> (8 * bytes - 1)) != 0) {
      bits |= ~uint64_t{0} << (8 * bytes);
    }
    push(PickleKind::kInteger, static_cast<int64_t>(bits));
  }

  void push_global() {
    const std::string_view module = take_line();
    push_name(module, take_line());
  }

  void push_stack_global() {
    const PickleId name = pop();
    const PickleId module = pop();
    if (value(name).kind != PickleKind::kText || value(module).kind != PickleKind::kText) {
      refuse("STACK_GLOBAL of something that is not two strings");
    }
    push_name(value(module).text, value(name).text);
  }

  bool push_class(std::string_view module, std::string_view name) {
    const auto found = std::find_if(classes_.begin(), classes_.end(), [&](const PickleClass& one) {
      return one.module == module && one.name == name;
    });
    if (found == classes_.end()) {
      return false;
    }
    push(PickleKind::kGlobal, found - classes_.begin());
    graph_.values.back().name.global = PickleGlobal::kClass;
    return true;
  }

  void push_name(std::string_view module, std::string_view name) {
    if (push_class(module, name)) {
      return;
    }
    const std::optional<PickleName> known = pickle_name(module, name);
    if (!known) {
      const std::string full = printable(std::string(module) + "." + std::string(name));
      if (is_unsupported_storage(module, name)) {
        fail(QUENCH_UNSUPPORTED, "{}: byte {}: unsupported storage type '{}': {}", name_, start_,
             full, kCastAdvice);
      }
      if (module == "torch._utils" && name.starts_with("_rebuild_")) {
        fail(QUENCH_UNSUPPORTED,
             "{}: byte {}: '{}' makes a tensor of a kind that is not read (float8, quantized, "
             "sparse, ...): {}",
             name_, start_, full, kCastAdvice);
      }
      refuse(fmt::format(
          "names '{}', refused: a checkpoint may name only {}, and nothing in it is executed", full,
          classes_.empty() ? "tensors, storages, dtypes and OrderedDict"
                           : "dtypes and the classes of its metadata"));
    }
    PickleValue made;
    made.kind = PickleKind::kGlobal;
    made.name = *known;
    push(std::move(made));
  }

  void push_persistent() { push(storage_of(graph_, value(pop()))); }

  void push_tensor(const std::vector<PickleId>& arguments) {
    graph_.tensors.push_back(tensor_of(graph_, arguments));
    push(PickleKind::kTensor, static_cast<int64_t>(graph_.tensors.size() - 1));
  }

  void push_object(int64_t which, PickleId arguments) {
    count_items(1);
    PickleValue made;
    made.kind = PickleKind::kObject;
    made.integer = which;
    made.items = {arguments};
    push(std::move(made));
  }

  void new_object() {
    const PickleId arguments = pop();
    const PickleId which = pop();
    if (value(which).kind != PickleKind::kGlobal ||
        value(which).name.global != PickleGlobal::kClass ||
        value(arguments).kind != PickleKind::kTuple) {
      refuse("NEWOBJ of something that is not a class with a tuple of arguments");
    }
    push_object(value(which).integer, arguments);
  }

  // A call of one of the few names; each makes plain data.
  void reduce() {
    const PickleId arguments_id = pop();
    const PickleId callable_id = pop();
    const PickleValue& callable = value(callable_id);
    if (callable.kind != PickleKind::kGlobal || value(arguments_id).kind != PickleKind::kTuple) {
      refuse("REDUCE of something that is not a name with a tuple of arguments");
    }
    const std::vector<PickleId>& arguments = value(arguments_id).items;
    const auto only = [&](PickleKind kind) {
      return arguments.size() == 1 && value(arguments[0]).kind == kind;
    };
    switch (callable.name.global) {
      case PickleGlobal::kRebuildTensor:
        return push_tensor(arguments);
      case PickleGlobal::kRebuildParameter:
        if (arguments.empty() || value(arguments[0]).kind != PickleKind::kTensor) {
          refuse("_rebuild_parameter of something that is not a tensor");
        }
        return push_id(arguments[0]);
      case PickleGlobal::kOrderedDict:
      case PickleGlobal::kCounter:
        if (only(PickleKind::kDict) && callable.name.global == PickleGlobal::kCounter) {
          return push_id(arguments[0]);
        }
        if (!arguments.empty()) {
          refuse("a dict made with arguments");
        }
        return push(PickleKind::kDict);
      case PickleGlobal::kSize:
        if (!only(PickleKind::kTuple)) {
          refuse("torch.Size of something that is not a tuple");
        }
        return push_id(arguments[0]);
      case PickleGlobal::kClass:
        return push_object(callable.integer, arguments_id);
      case PickleGlobal::kStorage:
      case PickleGlobal::kDtype:
        break;
    }
    refuse("REDUCE of a name that cannot be called");
  }

  // Attributes of an OrderedDict (`_metadata` of a state dict) are dropped; those of an object are
  // its state.
  void build() {
    const PickleId state = pop();
    PickleValue& target = value(top());
    if (target.kind == PickleKind::kObject) {
      if (target.items.size() != 1) {
        refuse("BUILD on an object that has its state");
      }
      count_items(1);
      target.items.push_back(state);
    } else if (target.kind != PickleKind::kDict) {
      refuse(fmt::format("BUILD on {}, wanted a dict", pickle_kind_name(target.kind)));
    }
  }

  void execute(unsigned char code) {
    switch (code) {
      case '(':
        return mark();
      case ')':
        return push(PickleKind::kTuple);
      case ']':
        return push(PickleKind::kList);
      case '}':
        return push(PickleKind::kDict);
      case 't':
        return push_tuple(pop_to_mark());
      case 0x85:
      case 0x86:
      case 0x87:
        return push_tuple(size_t{code} - 0x84U);
      case 'N':
        return push(PickleKind::kOther);
      case 0x88:
      case 0x89:
        return push(PickleKind::kBoolean, code == 0x88 ? 1 : 0);
      case 'K':
        return push(PickleKind::kInteger, static_cast<int64_t>(take_number(1)));
      case 'M':
        return push(PickleKind::kInteger, static_cast<int64_t>(take_number(2)));
      case 'J':
        return push(PickleKind::kInteger, static_cast<int32_t>(take_number(4)));
      case 0x8A:
        return push_long(take_number(1));
      case 'G':
        take(8);
        return push(PickleKind::kFloat);
      case 'X':
        return push_text(take(take_number(4)));
      case 'U':
        return push_text(take(take_number(1)));
      case 'a':
        return extend(PickleKind::kList, {pop()}, "APPEND");
      case 'e':
        return extend(PickleKind::kList, pop_to_mark(), "APPENDS");
      case 's': {
        const PickleId item = pop();
        const PickleId key = pop();
        return extend(PickleKind::kDict, {key, item}, "SETITEM");
      }
      case 'u':
        return extend(PickleKind::kDict, pop_to_mark(), "SETITEMS");
      case 'q':
        return put(take_number(1));
      case 'r':
        return put(take_number(4));
      case 'h':
        return get(take_number(1));
      case 'j':
        return get(take_number(4));
      case 'c':
        return push_global();
      case 'Q':
        return push_persistent();
      case 'R':
        return reduce();
      case 'b':
        return build();
      default:
        return classes_.empty() ? refuse_instruction(code) : execute_newer(code);
    }
  }

  // Objects, and what protocols 3 to 5 have for what protocol 2 can say.
  void execute_newer(unsigned char code) {
    switch (code) {
      case 0x81:
        return new_object();
      case 0x8C:
        return push_text(take(take_number(1)));
      case 0x8D:
        return push_text(take(take_number(8)));
      case 0x93:
        return push_stack_global();
      case 0x94:
        return put(memo_.size());
      case 0x95:
        return skip_frame(take_number(8));
      default:
        return refuse_instruction(code);
    }
  }

  // A frame only says how much can be read ahead.
  void skip_frame(uint64_t bytes) const {
    if (bytes > pickle_.size() - at_) {
      refuse(fmt::format("frame of {} bytes, {} are left", bytes, pickle_.size() - at_));
    }
  }

  [[noreturn]] void refuse_instruction(unsigned char code) const {
    const auto found = std::find_if(std::begin(kRefused), std::end(kRefused),
                                    [&](const Instruction& one) { return one.code == code; });
    refuse(fmt::format("instruction {} is refused, {} no use for it",
                       found == std::end(kRefused) ? fmt::format("0x{:02x}", code) : found->name,
                       classes_.empty() ? "torch.save has" : "metadata of a checkpoint have"));
  }

  std::string_view pickle_;
  const std::string& name_;
  std::span<const PickleClass> classes_;
  size_t at_ = 0;
  size_t start_ = 0;  // of the current instruction
  size_t items_ = 0;  // references held by containers
  PickleGraph graph_;
  std::vector<PickleId> stack_;
  std::vector<size_t> marks_;  // heights of the stack
  std::unordered_map<uint32_t, PickleId> memo_;
};

}  // namespace

PickleGraph read_pickle(std::string_view pickle, const std::string& name) {
  return read_objects(pickle, name, {});
}

PickleGraph read_objects(std::string_view pickle, const std::string& name,
                         std::span<const PickleClass> classes) {
  if (pickle.size() > kPickleMaxBytes) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} bytes, at most {} are read", name, pickle.size(),
         kPickleMaxBytes);
  }
  return Interpreter(pickle, name, classes).run();
}

}  // namespace quench::formats
