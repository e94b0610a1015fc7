#include "core/text/encode_documents.hpp"

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <optional>

#include "core/error.hpp"

namespace quench::text {

std::vector<std::vector<int32_t>> encode_documents(const Tokenizer& tokenizer,
                                                   std::span<const std::string> documents,
                                                   bool add_special_tokens, int threads) {
  std::vector<std::vector<int32_t>> ids(documents.size());
  // Kept by document, so that the first one is reported and not the one that failed first.
  std::vector<std::optional<Error>> errors(documents.size());
  const auto encode = [&](size_t i) {
    try {
      ids[i] = tokenizer.encode(documents[i], add_special_tokens);
    } catch (const Error& error) {
      errors[i] = Error(error.code(), fmt::format("document {}: {}", i, error.what()));
    }
  };
  tbb::task_arena arena(std::clamp(threads, 1, tbb::info::default_concurrency()));
  arena.execute([&] { tbb::parallel_for(size_t{0}, documents.size(), encode); });
  for (const auto& error : errors) {
    if (error) {
      throw *error;
    }
  }
  return ids;
}

}  // namespace quench::text
