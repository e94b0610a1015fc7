#include "core/plugin/library/elf_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "core/base/io/passing_fault.hpp"
#include "core/error.hpp"
#include "core/parse_text.hpp"

namespace quench {

namespace {

constexpr size_t kMaxHeaders = 1024;
constexpr size_t kMaxDynamic = 8192;
constexpr size_t kMaxString = 4096;
constexpr size_t kMaxNote = 64 << 10;
constexpr size_t kMaxSymbols = 1 << 20;
constexpr uint64_t kMaxStrings = uint64_t{256} << 20;
#if defined(__x86_64__)
constexpr int kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kMachine = EM_AARCH64;
#else
#error "name the ELF machine of this processor"
#endif

[[noreturn]] void corrupt(const char* what) {
  fail(QUENCH_DATA_LOSS, "broken ELF file: {}", what);
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) {
      const int error = errno;
      close_file();
      fail(status_of_fault(error, QUENCH_NOT_FOUND), "cannot be opened: {}", std::strerror(error));
    }
    if (!S_ISREG(status.st_mode)) {
      close_file();
      fail(QUENCH_INVALID_ARGUMENT, "not a regular file");
    }
    size_ = static_cast<uint64_t>(status.st_size);
  }
  ~Reader() { close_file(); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  uint64_t size() const { return size_; }
  bool holds(uint64_t offset, uint64_t bytes) const {
    return offset <= size_ && bytes <= size_ - offset;
  }

  void read(uint64_t offset, void* to, uint64_t bytes) const {
    if (!holds(offset, bytes)) {
      corrupt("an offset past the end of the file");
    }
    for (uint64_t done = 0; done < bytes;) {
      const ssize_t got = pread(descriptor_, static_cast<char*>(to) + done, bytes - done,
                                static_cast<off_t>(offset + done));
      if (got < 0) {
        fail(QUENCH_UNAVAILABLE, "cannot be read: {}", std::strerror(errno));
      }
      if (got == 0) {
        corrupt("it was cut while it was read");
      }
      done += static_cast<uint64_t>(got);
    }
  }
  template <typename T>
  T get(uint64_t offset) const {
    T value;
    read(offset, &value, sizeof value);
    return value;
  }
  template <typename T>
  std::vector<T> array(uint64_t offset, uint64_t count) const {
    std::vector<T> values(count);
    if (count != 0) {
      read(offset, values.data(), count * sizeof(T));
    }
    return values;
  }
  std::string string(uint64_t offset) const {
    char text[kMaxString];
    const uint64_t bytes = offset < size_ ? std::min<uint64_t>(sizeof text, size_ - offset) : 0;
    read(offset, text, bytes);
    const size_t length = strnlen(text, bytes);
    if (length == bytes) {
      corrupt("a name without an end");
    }
    return {text, length};
  }

 private:
  void close_file() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
    descriptor_ = -1;
  }
  int descriptor_;
  uint64_t size_ = 0;
};

Elf64_Ehdr read_header(const Reader& file, bool or_program = false) {
  unsigned char magic[EI_NIDENT] = {};
  file.read(0, magic, std::min<uint64_t>(sizeof magic, file.size()));
  if (std::memcmp(magic, ELFMAG, SELFMAG) != 0) {
    fail(QUENCH_INVALID_ARGUMENT, "not an ELF file");
  }
  if (!file.holds(0, sizeof(Elf64_Ehdr))) {
    fail(QUENCH_DATA_LOSS, "truncated: {} bytes are no ELF header", file.size());
  }
  const auto header = file.get<Elf64_Ehdr>(0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine) {
    fail(QUENCH_INVALID_ARGUMENT, "built for another machine (ELF machine {}, wanted {}, 64 bit)",
         header.e_machine, kMachine);
  }
  if (header.e_type != ET_DYN && !(or_program && header.e_type == ET_EXEC)) {
    fail(QUENCH_INVALID_ARGUMENT, "an ELF file, but not a shared library");
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMaxHeaders) {
    corrupt("its program headers");
  }
  const uint64_t sections = uint64_t{header.e_shnum} * header.e_shentsize;
  if (header.e_shoff != 0 && !file.holds(header.e_shoff, sections)) {
    fail(QUENCH_DATA_LOSS, "truncated: its section headers lie at byte {}, the file has {}",
         header.e_shoff, file.size());
  }
  return header;
}

// The program headers; checks that all loaded segments are inside the file.
std::vector<Elf64_Phdr> read_segments(const Reader& file, const Elf64_Ehdr& header) {
  auto segments = file.array<Elf64_Phdr>(header.e_phoff, header.e_phnum);
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && !file.holds(segment.p_offset, segment.p_filesz)) {
      fail(QUENCH_DATA_LOSS, "truncated: a segment of {} bytes lies at byte {}, the file has {}",
           segment.p_filesz, segment.p_offset, file.size());
    }
  }
  return segments;
}

// The file offset of the byte that is loaded at `address`.
std::optional<uint64_t> file_offset(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

std::vector<std::string> folders_of(const std::string& list) {
  std::vector<std::string> folders;
  for (const std::string_view part : split(list, ':')) {
    if (!part.empty()) {
      folders.emplace_back(part);
    }
  }
  return folders;
}

// The build id (name "GNU", type NT_GNU_BUILD_ID) and the SDK's note (name "quench", type 1).
void read_notes(const Reader& file, const Elf64_Phdr& segment, ElfFile& out) {
  if (segment.p_filesz > kMaxNote || !file.holds(segment.p_offset, segment.p_filesz)) {
    return;
  }
  const uint64_t end = segment.p_offset + segment.p_filesz;
  for (uint64_t at = segment.p_offset; at + sizeof(Elf64_Nhdr) <= end;) {
    const auto note = file.get<Elf64_Nhdr>(at);
    const uint64_t name = at + sizeof note;
    const uint64_t content = name + (uint64_t{note.n_namesz} + 3) / 4 * 4;
    at = content + (uint64_t{note.n_descsz} + 3) / 4 * 4;
    if (at > end) {
      return;
    }
    const auto is_called = [&](std::string_view word) {
      return note.n_namesz == word.size() + 1 && note.n_descsz <= 64 &&
             std::memcmp(file.array<char>(name, word.size()).data(), word.data(), word.size()) == 0;
    };
    if (note.n_type == NT_GNU_BUILD_ID && out.build_id.empty() && is_called("GNU")) {
      for (const unsigned char byte : file.array<unsigned char>(content, note.n_descsz)) {
        out.build_id += fmt::format("{:02x}", byte);
      }
    } else if (note.n_type == 1 && out.torch.empty() && is_called("quench")) {
      const auto said = file.array<char>(content, note.n_descsz);
      out.torch = printable({said.data(), strnlen(said.data(), said.size())});
    }
  }
}

void read_dynamic(const Reader& file, const std::vector<Elf64_Phdr>& segments,
                  const Elf64_Phdr& dynamic, ElfFile& out) {
  const uint64_t count = dynamic.p_filesz / sizeof(Elf64_Dyn);
  if (count > kMaxDynamic) {
    corrupt("its dynamic section is too large");
  }
  auto entries = file.array<Elf64_Dyn>(dynamic.p_offset, count);
  std::optional<uint64_t> strings;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_STRTAB) {
      strings = file_offset(segments, entry.d_un.d_ptr);
    }
  }
  const auto name = [&](const Elf64_Dyn& entry) {
    if (!strings || entry.d_un.d_val > file.size()) {
      corrupt("a name outside its string table");
    }
    return file.string(*strings + entry.d_un.d_val);
  };
  for (const Elf64_Dyn& entry : entries) {
    switch (entry.d_tag) {
      case DT_NULL:
        return;
      case DT_SONAME:
        out.soname = name(entry);
        break;
      case DT_NEEDED:
        out.needed.push_back(name(entry));
        break;
      case DT_RUNPATH:
        out.runpath = folders_of(name(entry));
        break;
      case DT_RPATH:
        out.rpath = folders_of(name(entry));
        break;
      case DT_TEXTREL:
        out.text_relocations = true;
        break;
      case DT_FLAGS:
        out.text_relocations |= (entry.d_un.d_val & DF_TEXTREL) != 0;
        out.bind_now |= (entry.d_un.d_val & DF_BIND_NOW) != 0;
        break;
      case DT_FLAGS_1:
        out.bind_now |= (entry.d_un.d_val & DF_1_NOW) != 0;
        break;
      default:
        break;
    }
  }
}

// Calls take(symbol, name) for every symbol of the dynamic tables.
template <typename Take>
void for_each_symbol(const Reader& file, const Elf64_Ehdr& header, const Take& take) {
  if (header.e_shnum > 0 && header.e_shentsize != sizeof(Elf64_Shdr)) {
    corrupt("its section headers");
  }
  const auto sections = file.array<Elf64_Shdr>(header.e_shoff, header.e_shnum);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM) {
      continue;
    }
    const uint64_t count = section.sh_size / sizeof(Elf64_Sym);
    if (count > kMaxSymbols || section.sh_link >= sections.size()) {
      corrupt("its symbol table");
    }
    const Elf64_Shdr& strings = sections[section.sh_link];
    if (strings.sh_size > kMaxStrings || !file.holds(strings.sh_offset, strings.sh_size)) {
      corrupt("its string table");
    }
    const auto names = file.array<char>(strings.sh_offset, strings.sh_size);
    for (const Elf64_Sym& symbol : file.array<Elf64_Sym>(section.sh_offset, count)) {
      if (symbol.st_name < names.size()) {
        const char* name = names.data() + symbol.st_name;
        take(symbol, std::string(name, strnlen(name, names.size() - symbol.st_name)));
      }
    }
  }
}

}  // namespace

ElfFile read_elf(const std::filesystem::path& path) {
  const Reader file(path);
  const Elf64_Ehdr header = read_header(file);
  const std::vector<Elf64_Phdr> segments = read_segments(file, header);
  ElfFile out;
  bool dynamic = false;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_DYNAMIC && !dynamic) {
      dynamic = true;
      read_dynamic(file, segments, segment, out);
    } else if (segment.p_type == PT_NOTE) {
      read_notes(file, segment, out);
    }
  }
  if (!dynamic) {
    fail(QUENCH_INVALID_ARGUMENT, "an ELF file, but not a shared library");
  }
  return out;
}

std::vector<ElfSymbol> exported_symbols(const std::filesystem::path& path) {
  const Reader file(path);
  std::vector<ElfSymbol> found;
  for_each_symbol(file, read_header(file), [&](const Elf64_Sym& symbol, std::string name) {
    const auto binding = ELF64_ST_BIND(symbol.st_info);
    const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
    if (symbol.st_shndx != SHN_UNDEF &&
        (binding == STB_GLOBAL || binding == STB_WEAK || binding == STB_GNU_UNIQUE) &&
        (visibility == STV_DEFAULT || visibility == STV_PROTECTED)) {
      found.push_back({std::move(name), binding == STB_GNU_UNIQUE});
    }
  });
  return found;
}

bool names_symbol(const std::filesystem::path& path, std::string_view name) {
  const Reader file(path);
  bool found = false;
  for_each_symbol(file, read_header(file, true),
                  [&](const Elf64_Sym&, const std::string& symbol) { found |= symbol == name; });
  return found;
}

}  // namespace quench
