#include <fmt/format.h>

#include <limits>

#include "cli/table.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/parse_number.hpp"
#include "core/store/json_members.hpp"
#include "core/store/metric_text.hpp"
#include "core/store/record_columns.hpp"

namespace quench {

namespace {

nlohmann::json scalar(std::string_view text, const std::string& where) {
  const std::string_view plain = plain_text(text);
  if (plain.size() + 2 == text.size()) {
    return plain;
  }
  return text.empty() || text == "null" ? nlohmann::json() : parse_json(text, where);
}

double number(std::string_view text) {
  if (const auto out = parse_number<double>(text)) {
    return *out;
  }
  // Null, or a number that JSON cannot express.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return text == R"("Infinity")"    ? kInfinity
         : text == R"("-Infinity")" ? -kInfinity
                                    : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

TableEntry TableReader::read(const RecordLine& line, const std::string& where) {
  TableEntry out;
  out.checkpoint = name(line.field("checkpoint"), line.field("averaging"), where);
  const nlohmann::json& quantizer = shared(line.field("quantizer"), where);
  const nlohmann::json& checkpoint = shared(line.field("checkpoint"), where);
  out.quantizer = quantizer_name(quantizer, scalar(line.field("draw"), where),
                                 scalar(line.field("jitter"), where), checkpoint);
  out.bits = bits_text(quantizer, checkpoint);
  out.metric = scalar(line.field("metric"), where).get<std::string>();
  out.job = line.field("job");
  out.point = sweep_values(shared(json_member(line.field("environment"), "sweep"), where));
  out.label = line.field("label");
  out.value = number(line.field("value"));
  out.standard_error = number(line.field("stderr"));
  if (line.failed) {
    out.error = scalar(line.field("error"), where).get<std::string>();
  } else if (out.metric == "quantization_error") {
    const std::string_view details = line.field("details");
    out.of_metric = scalar(json_member(details, "metric"), where).get<std::string>();
    out.of_value = number(json_member(details, "quantized"));
  }
  return out;
}

std::shared_ptr<const MeasuredOn> TableReader::measured_on(const RecordLine& line,
                                                           const std::string& where) {
  const std::string_view metric = json_member(line.field("parts"), "metric");
  const std::string_view corpora = json_member(line.field("details"), "corpora");
  const std::string_view params = json_member(line.field("details"), "params");
  const auto [found, is_new] =
      texts_.try_emplace(fmt::format("{}\n{}\n{}", metric, corpora, params));
  if (is_new) {
    const auto parsed = [&](std::string_view text) {
      return text.empty() ? nlohmann::json() : parse_json(text, where);
    };
    const nlohmann::json details = {{"corpora", parsed(corpora)}, {"params", parsed(params)}};
    nlohmann::json text = metric_text({{"metric", parsed(metric)}}, details);
    if (!text.is_null()) {
      found->second = std::make_shared<MeasuredOn>(MeasuredOn{std::move(text), details});
    }
  }
  return found->second;
}

const std::string& TableReader::name(std::string_view checkpoint, std::string_view averaging,
                                     const std::string& where) {
  if (checkpoint != last_checkpoint_ || averaging != last_averaging_ || name_.empty()) {
    last_checkpoint_ = checkpoint;
    last_averaging_ = averaging;
    name_ = checkpoint_name(parse_json(checkpoint, where), shared(averaging, where));
  }
  return name_;
}

const nlohmann::json& TableReader::shared(std::string_view text, const std::string& where) {
  const auto [found, fresh] = known_.try_emplace(text);
  if (fresh && !text.empty()) {
    found->second = parse_json(text, where);
  }
  return found->second;
}

}  // namespace quench
