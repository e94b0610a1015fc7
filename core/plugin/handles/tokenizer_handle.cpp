#include "core/plugin/handles/tokenizer_handle.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "core/plugin/handles/instance.hpp"
#include "core/plugin/services/heard_warnings.hpp"

namespace quench {

namespace {

// 2^40 ids are 4 TB; sums of their counts cannot overflow.
constexpr uint64_t kMostIds = uint64_t{1} << 40;

// What a plugin fills.
struct Ids {
  EncodedBatch batch;
  uint64_t documents;
  int calls = 0;

  int32_t* allocate(const uint64_t* counts, uint64_t count) {
    if (++calls > 1 || count != documents) {
      return nullptr;  // what was handed out may be in use
    }
    for (uint64_t d = 0; d < documents; ++d) {
      if (counts[d] > kMostIds - batch.offsets.back()) {
        return nullptr;
      }
      batch.offsets.push_back(batch.offsets.back() + counts[d]);
    }
    batch.ids.resize(batch.offsets.back() + 1);  // one more, so that no ids have an address too
    return batch.ids.data();
  }
};

int32_t* allocate_ids(void* context, const uint64_t* counts, uint64_t count) noexcept {
  try {
    return static_cast<Ids*>(context)->allocate(counts, count);
  } catch (...) {
    return nullptr;
  }
}

using Encoder = PluginObject<&quench_tokenizer_table::close>;

Encoder open_encoder(Catalog& catalog, const PluginDescription& description, std::string_view file,
                     const std::string& name, const nlohmann::json& parameters) {
  const std::string text = parameters.dump();
  const HeardWarnings heard;
  Encoder out = Encoder::make<&quench_tokenizer_table::open>(
      plugin_label(description), load_table<quench_tokenizer_table>(catalog, description),
      file.data(), uint64_t{file.size()}, name.c_str(), text.c_str(), uint64_t{text.size()});
  heard.check();
  return out;
}

}  // namespace

TokenizerHandle::TokenizerHandle(Catalog& catalog, const PluginDescription& description,
                                 std::string_view file, const std::string& name,
                                 const nlohmann::json& parameters)
    : id_(description.id),
      encoder_(open_encoder(catalog, description, file, name, parameters)),
      vocabulary_size_(encoder_.call<&quench_tokenizer_table::vocabulary_size>()) {}

EncodedBatch TokenizerHandle::encode(const TextBatch& batch, bool add_special) {
  if (batch.documents() == 0) {
    return {};
  }
  Ids ids{{}, batch.documents()};
  const quench_text_batch view = {sizeof view, add_special ? QUENCH_ENCODE_ADD_SPECIAL : 0u,
                                  batch.documents(), batch.text().data(), batch.offsets().data()};
  const quench_id_sink sink = {sizeof sink, &ids, allocate_ids};
  encoder_.call<&quench_tokenizer_table::encode>(&view, &sink);
  if (ids.calls != 1 || ids.batch.documents() != batch.documents()) {
    fail(QUENCH_INTERNAL, "{}: encode asked for the ids' memory {} times, wanted once",
         encoder_.label(), ids.calls);
  }
  EncodedBatch out = std::move(ids.batch);
  out.ids.pop_back();
  const auto outside = std::find_if(out.ids.begin(), out.ids.end(), [&](int32_t id) {
    return id < 0 || static_cast<uint64_t>(id) >= vocabulary_size_;
  });
  if (outside != out.ids.end()) {
    fail(QUENCH_INTERNAL, "{}: encode gave the id {}, and its vocabulary has {}", encoder_.label(),
         *outside, vocabulary_size_);
  }
  return out;
}

}  // namespace quench
