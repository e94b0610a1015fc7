#include "core/plugin/worker/worker_main.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "core/base/io/tensor_memory.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/process_state.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/describe.hpp"
#include "core/plugin/library/library.hpp"
#include "core/plugin/library/links.hpp"
#include "core/plugin/library/module_reader.hpp"
#include "core/plugin/process/control_socket.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/plugin/services/task_arena.hpp"
#include "core/plugin/wire/copy.hpp"
#include "core/plugin/wire/services.hpp"
#include "core/plugin/worker/confined.hpp"
#include "core/plugin/worker/host_peer.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr int kControl = 3;

// The host's page; its first number becomes 1 when the user asks to stop.
const int32_t* flags = nullptr;

HostPeer* the_host = nullptr;

int32_t cancel_requested(const quench_host*) noexcept {
  if (the_host != nullptr) {
    the_host->give_sign();  // who asks is at work
  }
  return flags == nullptr ? 0 : __atomic_load_n(flags, __ATOMIC_RELAXED);
}

// Services that the host must answer; all others are this process's own.
const void* service_of_host(const char* id) noexcept {
  static constexpr quench_cancel kCancel = {sizeof(quench_cancel), cancel_requested};
  return std::strcmp(id, QUENCH_SERVICE_CANCEL) == 0 ? &kCancel : wire::remote_service(id);
}

void check_version(const json& hello) {
  if (hello.at("description") != wire::kDescriptionHash) {
    fail(QUENCH_FAILED_PRECONDITION, "the worker's program is of another version than the host's");
  }
}

void set_up(const json& hello) {
  HostServices& services = HostServices::instance();
  services.set_seed(hello.at("seed").get<uint64_t>());
  services.set_threads(hello.at("threads").get<uint32_t>());
  const auto wanted = hello.at("instructions").get<int32_t>();
  for (const InstructionSet set : available_instruction_sets()) {
    if (static_cast<int32_t>(set) == wanted) {
      services.set_instructions(set);
    }
  }
  services.set_remote(service_of_host);
  wire::set_copy(copy_on_all_threads);
  tune_allocators();
  prepare_libraries();
  keep_process_state();
}

json mapped_libraries() {
  json out = json::array();
  for (const LinkedLibrary& library : loaded_libraries()) {
    out.push_back({{"soname", library.soname},
                   {"path", library.path.string()},
                   {"build_id", library.build_id}});
  }
  return out;
}

// Loads the module and shows its tables to the host, as numbers 1, 2, ...
json load_module(const std::string& path, HostPeer& host) {
  const quench_module* module = open_library(path);
  const std::vector<PluginDescription> items = read_module(*module);
  quench_error error{sizeof(quench_error), 0, {}};
  const quench_status status = module->init(HostServices::instance().host_for(module->id), &error);
  if (status != QUENCH_OK) {
    fail(status, "init: {}", printable(error.message, sizeof error.message));
  }
  std::vector<std::string> labels;
  json described = json::array();
  for (uint32_t i = 0; i < items.size(); ++i) {
    const wire::TableType* type = wire::table_of_kind(items[i].kind);
    const void* table = item_of(*module, i).table;
    host.exports().add_table_as(i + 1, *type, table);
    json functions = json::array();
    const uint64_t mask = type->mask(table);
    for (uint16_t f = 0; f < type->functions; ++f) {
      if ((mask >> f & 1) != 0) {
        functions.push_back(type->names[f]);
      }
    }
    labels.push_back(plugin_label(items[i]));
    described.push_back({{"kind", items[i].kind}, {"id", items[i].id}, {"functions", functions}});
  }
  host.set_labels(std::move(labels), module->id);
  return {{"module", {{"id", module->id}, {"version", module->version}, {"build", module->build}}},
          {"items", described},
          {"libraries", mapped_libraries()}};
}

// Says what the module is, and ends: nothing of it is served.
[[noreturn]] void describe_module(const json& hello) {
  const pid_t asked = getpid();
  const auto say = [asked](const json& message) {
    if (getpid() != asked) {
      _exit(0);  // a process that the plugin forked off
    }
    send_packet(kControl, message.dump(), {});
  };
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // what the plugin forks off is seen
  try {
    check_version(hello);
    prepare_libraries();
    enter_sandbox_of(hello.at("sandbox"));
    say({{"ready", describe_library(
                       hello.at("module").get<std::string>(),
                       [&](const std::string& phase) {
                         say({{"phase", phase}});
                       },
                       hello.at("instances").get<bool>())}});
  } catch (const std::exception& failure) {
    say({{"failed", printable(failure.what(), 1000)}});
  } catch (...) {
    say({{"failed", "throws an exception when it is loaded"}});
  }
  _exit(0);  // without the destructors of the library, which is not needed any more
}

void map_flags(const Packet& packet) {
  if (packet.descriptors.size() != 1) {
    fail(QUENCH_DATA_LOSS, "hello came with {} descriptors, wanted 1", packet.descriptors.size());
  }
  void* page = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, packet.descriptors[0].get(), 0);
  if (page != MAP_FAILED) {
    flags = static_cast<const int32_t*>(page);
  }
}

void take_channel(const std::shared_ptr<HostPeer>& host, Packet packet) {
  const json message = parse_json(packet.text, "the host");
  if (packet.descriptors.size() != 3) {
    fail(QUENCH_DATA_LOSS, "a channel came with {} descriptors, wanted 3",
         packet.descriptors.size());
  }
  Descriptor socket(packet.descriptors[0].release());
  Descriptor host_memory(packet.descriptors[1].release());
  Descriptor worker_memory(packet.descriptors[2].release());
  if (message.at("channel").get<int>() == 2) {
    host->set_aside(std::move(socket), std::move(host_memory), std::move(worker_memory));
    return;
  }
  std::thread([host, a = std::move(socket), b = std::move(host_memory),
               c = std::move(worker_memory)]() mutable {
    host->serve_on(std::move(a), std::move(b), std::move(c));
  }).detach();
}

Packet next_packet() {
  std::optional<Packet> packet = receive_packet(kControl, -1);
  if (!packet) {
    _exit(0);  // the host needs this process no more
  }
  return std::move(*packet);
}

}  // namespace

int worker_main(const std::vector<std::string>& arguments) {
  if (!arguments.empty() || fcntl(kControl, F_GETFD) < 0) {
    std::fputs("quench __worker is run by quench itself, with descriptor 3 open\n", stderr);
    return 2;
  }
  const auto host = std::make_shared<HostPeer>();
  wire::set_host_peer(host);
  the_host = host.get();
  json answer;
  try {
    const Packet first = next_packet();
    const json hello = parse_json(first.text, "the host").at("hello");
    if (hello.value("describe", false)) {
      describe_module(hello);
    }
    map_flags(first);
    check_version(hello);
    set_up(hello);
    if (hello.value("debug", false)) {
      prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
      raise(SIGSTOP);
    }
    const std::string box = enter_sandbox_of(hello.at("sandbox"));
    answer["ready"] = load_module(hello.at("module").get<std::string>(), *host);
    answer["ready"]["sandbox"] = box;
  } catch (const std::exception& failure) {
    answer = {{"failed", printable(failure.what(), 2000)}};
  }
  send_packet(kControl, answer.dump(), {});
  if (answer.contains("failed")) {
    return 1;
  }
  while (true) {
    try {
      take_channel(host, next_packet());
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "quench worker: %s\n", failure.what());
      _exit(4);
    }
  }
}

}  // namespace quench
