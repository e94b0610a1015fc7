#include "cli/model_card.hpp"

#include "cli/python_verb.hpp"
#include "core/base/json/parse_json.hpp"

namespace quench {

namespace {

std::vector<std::string> texts_by(const std::vector<std::string>& packages,
                                  const nlohmann::json& requests, const Context& context) {
  MemoryFile input;
  input.write(requests.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  return parse_json(python_output({"card", {}, packages}, context, &input), "card")
      .get<std::vector<std::string>>();
}

}  // namespace

std::vector<std::string> card_texts(const nlohmann::json& requests, const Context& context) {
  try {
    return texts_by({"numpy", "scipy"}, requests, context);
  } catch (const NoInterpreter&) {
    return texts_by({}, requests, context);
  }
}

nlohmann::json card_of_quantizer(const QuantizerCell& cell) {
  return {{"id", cell.plugin->id},
          {"version", cell.plugin->version},
          {"sha256", cell.plugin->sha256},
          {"params", cell.parameters}};
}

}  // namespace quench
