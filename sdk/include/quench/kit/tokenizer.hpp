// A tokenizer as a C++ class. Derive Tokenizer, say how to encode one text, end with QUENCH_MODULE.
// Batches, threads and the order of errors are the kit's.
//
//   static int32_t probe(const FileHead& file);   see quench_tokenizer_table; may throw to say what
//                                                 hinders (then it is 0)
//   struct Params;
//   Plugin(const Params&, std::string_view file, const std::string& name);
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quench/abi/kind/tokenizer.h"
#include "quench/kit/module.hpp"

namespace quench::kit {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // One more than the largest id.
  virtual size_t vocabulary_size() const = 0;
  // The ids of one text. Throws Error with the offset of the byte at fault. [thread-safe]
  virtual std::vector<int32_t> encode(std::string_view text, bool add_special) const = 0;
};

// The beginning of a file, of which the tokenizer says whether it is one of its own.
struct FileHead {
  std::string_view name;   // without its folder
  std::string_view bytes;  // the first ones
  uint64_t size;           // of the whole file
};

namespace detail {

// Text that one thread encodes at a time. The ranges follow from the batch alone.
inline constexpr uint64_t kRangeBytes = uint64_t{1} << 16;

inline const Tokenizer& self(const quench_encoder* encoder) {
  return *reinterpret_cast<const Tokenizer*>(encoder);
}

template <typename Plugin>
int32_t probe_tokenizer(const quench_file_head* file, quench_error* error) noexcept {
  int32_t score = 0;
  guard(error, [&] {
    score = Plugin::probe({file->name, {file->bytes, file->count}, file->size});
  });
  return score;
}
template <typename Plugin>
quench_status open_tokenizer(const char* file, uint64_t file_bytes, const char* name,
                             const char* json, uint64_t bytes, quench_encoder** out,
                             quench_error* error) noexcept {
  return guard(error, [&] {
    Tokenizer* made = new Plugin(fields_of<typename Plugin::Params>().parse(json, bytes),
                                 {file, file_bytes}, name);
    *out = reinterpret_cast<quench_encoder*>(made);
  });
}
inline void close_tokenizer(quench_encoder* encoder) noexcept {
  delete &self(encoder);
}
inline uint64_t tokenizer_vocabulary_size(const quench_encoder* encoder) noexcept {
  return self(encoder).vocabulary_size();
}

// The first document of each range, and the number of documents behind the last.
inline std::vector<uint64_t> document_ranges(const quench_text_batch& batch) {
  std::vector<uint64_t> first = {0};
  for (uint64_t d = 1; d < batch.count; ++d) {
    if (batch.offsets[d] - batch.offsets[first.back()] >= kRangeBytes) {
      first.push_back(d);
    }
  }
  first.push_back(batch.count);
  return first;
}

// The ids of some documents, in order, or why one of them has none.
struct EncodedRange {
  std::vector<int32_t> ids;
  std::optional<Error> error;
};

// Writes the number of ids of each document of the range to `counts`, which is [batch.count].
inline EncodedRange encode_range(const Tokenizer& tokenizer, const quench_text_batch& batch,
                                 uint64_t begin, uint64_t end, uint64_t* counts) {
  EncodedRange out;
  for (uint64_t d = begin; d < end; ++d) {
    const std::string_view text(batch.text + batch.offsets[d],
                                batch.offsets[d + 1] - batch.offsets[d]);
    try {
      std::vector<int32_t> ids =
          tokenizer.encode(text, (batch.flags & QUENCH_ENCODE_ADD_SPECIAL) != 0);
      counts[d] = ids.size();
      if (out.ids.empty()) {
        out.ids = std::move(ids);
      } else {
        out.ids.insert(out.ids.end(), ids.begin(), ids.end());
      }
    } catch (const Error& error) {
      const std::string where = batch.count > 1 ? "document " + std::to_string(d) + ": " : "";
      out.error.emplace(error.code(), where + error.what());
      break;
    }
  }
  return out;
}

inline void encode_batch(const Tokenizer& tokenizer, const quench_text_batch& batch,
                         const quench_id_sink& sink) {
  std::vector<uint64_t> counts(batch.count);
  const std::vector<uint64_t> first = document_ranges(batch);
  std::vector<EncodedRange> ranges(first.size() - 1);
  const auto encode = [&](uint64_t range) {
    check_cancelled();
    ranges[range] = encode_range(tokenizer, batch, first[range], first[range + 1], counts.data());
  };
  if (ranges.size() == 1) {
    encode(0);
  } else {
    parallel_for(ranges.size(), 1, [&](uint64_t begin, uint64_t end) {
      for (uint64_t range = begin; range < end; ++range) {
        encode(range);
      }
    });
  }
  for (const EncodedRange& range : ranges) {
    if (range.error) {
      throw *range.error;
    }
  }
  int32_t* to = sink.allocate(sink.context, counts.data(), counts.size());
  if (to == nullptr) {
    throw Error(QUENCH_RESOURCE_EXHAUSTED, "no memory for the ids of a batch");
  }
  for (const EncodedRange& range : ranges) {
    to = std::copy(range.ids.begin(), range.ids.end(), to);
  }
}

inline quench_status encode_texts(quench_encoder* encoder, const quench_text_batch* batch,
                                  const quench_id_sink* sink, quench_error* error) noexcept {
  return guard(error, [&] { encode_batch(self(encoder), *batch, *sink); });
}

}  // namespace detail

// The item of a tokenizer class as described above.
template <typename Plugin>
quench_item tokenizer(const About& about) {
  static constexpr quench_tokenizer_table kTable = {
      sizeof(quench_tokenizer_table),    detail::probe_tokenizer<Plugin>,
      detail::open_tokenizer<Plugin>,    detail::close_tokenizer,
      detail::tokenizer_vocabulary_size, detail::encode_texts};
  return make_item<typename Plugin::Params>(QUENCH_KIND_TOKENIZER, about, &kTable);
}

}  // namespace quench::kit
