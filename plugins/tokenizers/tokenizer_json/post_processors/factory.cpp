#include "tokenizers/tokenizer_json/limits.hpp"
#include "tokenizers/tokenizer_json/post_processors/post_processor.hpp"

namespace quench::tokenizers {

namespace {

// Nothing where the processor leaves ids alone.
std::optional<Frame> make(const Entry& entry, int32_t id_count, int depth) {
  check_depth(entry, depth);
  const std::string type = entry.type();
  if (type == "ByteLevel") {
    return std::nullopt;  // It moves offsets, which do not exist here.
  }
  if (type == "TemplateProcessing") {
    return make_template(entry, id_count);
  }
  if (type == "Sequence") {
    std::optional<Frame> only;
    for (const Entry& part : sequence_parts(entry.member("processors"))) {
      std::optional<Frame> frame = make(part, id_count, depth + 1);
      if (frame && only) {
        part.unsupported("a second TemplateProcessing is not supported");
      }
      if (frame) {
        only = std::move(frame);
      }
    }
    return only;
  }
  entry.unknown_type(type, "ByteLevel, Sequence, TemplateProcessing");
}

}  // namespace

Frame make_post_processor(const Entry& entry, int32_t id_count) {
  return make(entry, id_count, 0).value_or(Frame{});
}

}  // namespace quench::tokenizers
