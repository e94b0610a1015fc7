#include "tokenizers/tokenizer_json/limits.hpp"
#include "tokenizers/tokenizer_json/post_processors/post_processor.hpp"

namespace quench::tokenizers {

namespace {

void check_count(const Entry& entry, size_t ids) {
  if (ids > kTemplateLimitIds) {
    entry.reject("{} ids or more, wanted at most {}", ids, kTemplateLimitIds);
  }
}

// The ids of a special token that the template names, out of the table `special_tokens`.
std::vector<int32_t> special_ids(const Entry& entry, const Entry& token, int32_t id_count) {
  const Entry name = token.member("id");
  const Entry table = entry.member("special_tokens");
  const auto special = table.optional_member(name.string());
  if (!special) {
    name.reject("\"{}\" is not in special_tokens", printable(name.string()));
  }
  std::vector<int32_t> ids;
  const Entry list = special->member("ids");
  check_count(list, list.value().size());
  for (const Entry& id : list.elements()) {
    if (id.id() >= id_count) {
      id.reject("id {} is not in the vocabulary, whose last id is {}", id.id(), id_count - 1);
    }
    ids.push_back(id.id());
  }
  return ids;
}

}  // namespace

// Only the template for single texts is read: there are no pairs here.
Frame make_template(const Entry& entry, int32_t id_count) {
  Frame frame;
  bool text_seen = false;
  const Entry single = entry.member("single");
  check_count(single, single.value().size());
  for (const Entry& part : single.elements()) {
    if (const auto sequence = part.optional_member("Sequence")) {
      const Entry name = sequence->member("id");
      if (name.string() != "A" || text_seen) {
        name.reject("wanted the text \"A\" once, got \"{}\"{}", printable(name.string()),
                    text_seen ? " as a second text" : "");
      }
      text_seen = true;
      continue;
    }
    const auto token = part.optional_member("SpecialToken");
    if (!token) {
      part.reject("wanted a Sequence or a SpecialToken");
    }
    const std::vector<int32_t> ids = special_ids(entry, *token, id_count);
    std::vector<int32_t>& side = text_seen ? frame.after : frame.before;
    check_count(single, side.size() + ids.size());
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (!text_seen) {
    single.reject("wanted the text \"A\" once, got none");
  }
  return frame;
}

}  // namespace quench::tokenizers
