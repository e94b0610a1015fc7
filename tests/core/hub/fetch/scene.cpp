#include "tests/core/hub/fetch/scene.hpp"

#include "core/hub/blob.hpp"
#include "core/hub/resolve.hpp"
#include "tests/support/throws.hpp"

namespace quench::test {

FetchScene::FetchScene() {
  policy.first_seconds = 0.01;
  policy.longest_seconds = 0.1;
  policy.cancel = &cancel;
  access.silence_seconds = 2;
}

FetchPlan FetchScene::fetch(const std::string& spec, Purpose purpose) {
  access.endpoint = server.endpoint();
  policy.on_wait = [&](const std::string& line) { waits.push_back(line); };
  HubApi api(access, policy);
  const FetchPlan out = plan_fetch({{parse_hub_spec(spec), purpose}}, api, cache());
  quench::fetch(out, api);
  return out;
}

FetchPlan FetchScene::plan(const std::vector<std::string>& specs, Purpose purpose) {
  access.endpoint = server.endpoint();
  HubApi api(access, policy);
  std::vector<FetchRequest> requests;
  for (const std::string& spec : specs) {
    requests.push_back({parse_hub_spec(spec), purpose});
  }
  return plan_fetch(requests, api, cache());
}

std::string FetchScene::failure(const std::string& spec) {
  std::string message = message_of([&] { fetch(spec); }, cache());
  for (size_t at = 0; (at = message.find(server.endpoint())) != std::string::npos;) {
    message.replace(at, server.endpoint().size(), "HUB");
  }
  return message;
}

HubEnvironment FetchScene::environment() const {
  HubEnvironment out;
  out.hf_hub_cache = cache().string();
  return out;
}

bool FetchScene::has_weights(const std::string& spec) const {
  const ResolvedModel found = resolve(spec, environment());
  return std::filesystem::exists(found.folder / "model.safetensors") &&
         verify_blobs(found.folder, environment()).faults.empty();
}

}  // namespace quench::test
