// Every case confines a copy of the test's process, which tries what it should and should not be
// able to do, and reports what went otherwise.
#include "core/plugin/sandbox/sandbox.hpp"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <system_error>
#include <thread>

#include "core/base/process/child_process.hpp"
#include "core/error.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary.hpp"

using quench::ChildProcess;
using quench::Command;
using quench::SandboxProfile;
using quench::SandboxRequest;
using quench::test::TemporaryDir;

namespace fs = std::filesystem;

namespace {

// What a confined process finds wrong, one line each.
class Complaints {
 public:
  explicit Complaints(int file) : file_(file) {}

  void add(const std::string& line) const {
    const std::string text = line + "\n";
    if (::write(file_, text.data(), text.size()) < 0) {
      ::_exit(1);
    }
  }
  void unless(bool right, const std::string& what) const {
    if (!right) {
      add(what + ": " + std::strerror(errno));
    }
  }
  // `result` is what a call returned: it must be −1, with one of these errors.
  void unless_refused(long result, const std::string& what,
                      std::initializer_list<int> errors) const {
    const int number = errno;
    const bool as_wanted = std::find(errors.begin(), errors.end(), number) != errors.end();
    if (result != -1) {
      add(what + ": it was allowed");
    } else if (!as_wanted) {
      add(what + ": refused with " + std::strerror(number));
    }
  }

 private:
  int file_;
};

// As ABI of Landlock: all that the kernel offers. The others are those of kernels in use, 2 that of
// Debian 12's own.
constexpr int kAll = 1000;

// "" when `body`, in a confined copy of this process, found nothing wrong.
std::string complaints_in(const SandboxRequest& request,
                          const std::function<void(const Complaints&)>& body,
                          int most_landlock = kAll) {
  const int file = ::memfd_create("complaints", MFD_CLOEXEC);
  REQUIRE(file >= 0);
  ChildProcess child = ChildProcess::start_copy([&] {
    const Complaints complaints(file);
    try {
      quench::enter_sandbox(request, quench::sandbox_abilities(most_landlock));
      body(complaints);
    } catch (const std::exception& error) {
      complaints.add(error.what());
    }
    return 0;
  });
  const int code = child.wait().code();
  std::string out(65536, '\0');
  const ssize_t got = ::pread(file, out.data(), out.size(), 0);
  out.resize(got > 0 ? static_cast<size_t>(got) : 0);
  ::close(file);
  return code == 0 ? out : out + "the process ended with " + std::to_string(code);
}

int opened(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (file >= 0) {
    ::close(file);
  }
  return file >= 0 ? 0 : -1;
}

void need_landlock(int abi) {
  const int offered = quench::sandbox_abilities().landlock_abi;
  quench::test::skip_unless(offered >= abi, "this kernel offers Landlock " +
                                                std::to_string(offered) + ", the case needs " +
                                                std::to_string(abi));
}

void need_seccomp() {
  quench::test::skip_unless(quench::sandbox_abilities().seccomp,
                            "this kernel filters no system calls");
}

struct Folders {
  TemporaryDir shown;
  TemporaryDir scratch;
  TemporaryDir other;
  SandboxRequest request;

  Folders() {
    shown.write("folder/file", "shown");
    other.write("file", "secret");
    request.readable = {shown.path()};
    request.writable = {scratch.path()};
  }
};

}  // namespace

TEST_CASE("sandbox: what is in force is what the kernel offers, in words", "[sandbox]") {
  const quench::SandboxAbilities abilities = quench::sandbox_abilities();
  CHECK((abilities.landlock_abi > 0) == (abilities.text.find("no landlock") == std::string::npos));
  CHECK(abilities.seccomp == (abilities.text.find("no seccomp") == std::string::npos));
  CHECK(complaints_in({}, [&](const Complaints& complaints) {
          complaints.add(quench::enter_sandbox({}));  // a second time: narrower, never wider
        }) == abilities.text + "\n");
}

TEST_CASE("sandbox: files are read where they are shown, and written in the scratch folder alone",
          "[sandbox]") {
  const int abi = GENERATE(2, 4, 6, kAll);
  CAPTURE(abi);
  need_landlock(1);
  const Folders folders;
  CHECK(
      complaints_in(
          folders.request,
          [&](const Complaints& it) {
            it.unless(opened(folders.shown / "folder/file", O_RDONLY) == 0,
                      "reading what is shown");
            it.unless_refused(opened(folders.shown / "folder/file", O_WRONLY),
                              "writing what is shown", {EACCES});
            it.unless_refused(opened(folders.shown / "new", O_WRONLY | O_CREAT),
                              "making a file in what is shown", {EACCES});
            it.unless(opened(folders.scratch / "new", O_RDWR | O_CREAT) == 0, "writing in scratch");
            it.unless(::mkdir((folders.scratch / "deep").c_str(), 0700) == 0,
                      "a folder in scratch");
            it.unless(opened(folders.scratch / "deep/new", O_RDWR | O_CREAT) == 0, "a file in it");
            it.unless(::rename((folders.scratch / "new").c_str(),
                               (folders.scratch / "newer").c_str()) == 0,
                      "renaming in scratch");
            it.unless(::unlink((folders.scratch / "newer").c_str()) == 0, "removing in scratch");
            it.unless_refused(opened(folders.other / "file", O_RDONLY), "reading elsewhere",
                              {EACCES});
            it.unless_refused(opened(folders.other / "new", O_WRONLY | O_CREAT),
                              "writing elsewhere", {EACCES});
            it.unless_refused(::unlink((folders.other / "file").c_str()), "removing elsewhere",
                              {EACCES});
            it.unless_refused(::symlink("/", (folders.other / "link").c_str()), "a link elsewhere",
                              {EACCES});
            it.unless(::symlink((folders.other / "file").c_str(),
                                (folders.scratch / "link").c_str()) == 0,
                      "a link in scratch");
            it.unless_refused(opened(folders.scratch / "link", O_RDONLY), "following it out",
                              {EACCES});
            it.unless_refused(opened("/etc/shadow", O_RDONLY), "/etc/shadow", {EACCES});
          },
          abi) == "");
  CHECK(quench::test::read_file(folders.other / "file") == "secret");
}

TEST_CASE("sandbox: a file elsewhere keeps its length, mode, times and owner", "[sandbox]") {
  const int abi = GENERATE(2, 4, 6, kAll);
  CAPTURE(abi);
  need_seccomp();
  need_landlock(1);
  const Folders folders;
  CHECK(complaints_in(
            folders.request,
            [&](const Complaints& it) {
              for (const fs::path& file : {folders.other / "file", folders.shown / "folder/file"}) {
                it.unless_refused(::truncate(file.c_str(), 1), "truncating", {EACCES, EPERM});
                it.unless_refused(::chmod(file.c_str(), 0777), "chmod", {EPERM});
                it.unless_refused(::chown(file.c_str(), ::getuid(), ::getgid()), "chown", {EPERM});
                it.unless_refused(::utimensat(AT_FDCWD, file.c_str(), nullptr, 0), "utimensat",
                                  {EPERM});
              }
            },
            abi) == "");
  CHECK(quench::test::read_file(folders.other / "file") == "secret");
}

TEST_CASE("sandbox: what is open already stays usable", "[sandbox]") {
  const int abi = GENERATE(0, 2, 4, 6, kAll);
  CAPTURE(abi);
  const Folders folders;
  const int file = ::open((folders.other / "file").c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(file >= 0);
  CHECK(complaints_in(
            folders.request,
            [&](const Complaints& it) {
              char byte = 0;
              it.unless(::pread(file, &byte, 1, 0) == 1 && byte == 's', "reading");
              it.unless(::pwrite(file, "S", 1, 0) == 1, "writing");
            },
            abi) == "");
  CHECK(quench::test::read_file(folders.other / "file") == "Secret");
  ::close(file);
}

TEST_CASE("sandbox: the network is out of reach, and so is whoever serves on a local socket",
          "[sandbox]") {
  const int abi = GENERATE(0, 2, 4, 6, kAll);
  CAPTURE(abi);
  need_seccomp();
  const Folders folders;
  const int before = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (folders.other / "socket").c_str(), sizeof address.sun_path - 1);
  const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(server, 1) == 0);
  CHECK(complaints_in(
            folders.request,
            [&](const Complaints& it) {
              for (const int family : {AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK}) {
                for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW}) {
                  it.unless_refused(::socket(family, type, 0),
                                    "a socket of family " + std::to_string(family), {EACCES});
                }
              }
              it.unless_refused(::socket(AF_UNIX, SOCK_DGRAM, 0), "a datagram socket", {EACCES});
              const int local = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
              it.unless(local >= 0, "a local socket");
              it.unless_refused(
                  ::connect(local, reinterpret_cast<const sockaddr*>(&address), sizeof address),
                  "connecting it", {EPERM});
              it.unless_refused(
                  ::connect(before, reinterpret_cast<const sockaddr*>(&address), sizeof address),
                  "connecting an older one", {EPERM});
              int pair[2];
              it.unless(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0,
                        "a pair");
              it.unless(::write(pair[0], "x", 1) == 1, "writing to it");
            },
            abi) == "");
  ::close(server);
  ::close(before);
}

TEST_CASE("sandbox: Landlock alone keeps an older socket from the network", "[sandbox]") {
  need_landlock(4);
  const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  quench::test::skip_unless(server >= 0 && client >= 0, "there is no network here");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  REQUIRE(::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(server, 1) == 0);
  REQUIRE(::getsockname(server, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  CHECK(complaints_in({}, [&](const Complaints& it) {
          it.unless_refused(
              ::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof address),
              "connecting to 127.0.0.1", {EACCES, EPERM});
        }) == "");
  ::close(server);
  ::close(client);
}

TEST_CASE("sandbox: no process and no program is started, and threads are", "[sandbox]") {
  const int abi = GENERATE(0, 2, 4, 6, kAll);
  CAPTURE(abi);
  need_seccomp();
  CHECK(complaints_in(
            {},
            [](const Complaints& it) {
              int ran = 0;
              std::thread([&] { ran = 1; }).join();
              it.unless(ran == 1, "a thread");
              try {
                ChildProcess::start_copy([] { return 0; }).wait();
                it.add("a copy of the process was made");
              } catch (const std::system_error& error) {
                it.unless(error.code() == std::errc::operation_not_permitted, "fork's error");
              }
              try {
                Command command;
                command.words = {"/bin/true"};
                ChildProcess::start(command).wait();
                it.add("a program was started");
              } catch (const std::system_error& error) {
                it.unless(error.code() == std::errc::operation_not_permitted, "clone's error");
              }
#ifdef SYS_vfork
              it.unless_refused(::syscall(SYS_fork), "fork", {EPERM});
#endif
              it.unless_refused(::execl("/bin/true", "true", nullptr), "execve", {EACCES});
            },
            abi) == "");
}

TEST_CASE("sandbox: Landlock alone executes nothing", "[sandbox]") {
  need_landlock(1);
  CHECK(complaints_in({}, [](const Complaints& it) {
          it.unless_refused(::execl("/bin/true", "true", nullptr), "execve", {EACCES});
        }) == "");
}

TEST_CASE("sandbox: other processes are out of reach, and the process itself is not", "[sandbox]") {
  const int abi = GENERATE(0, 2, 4, 6, kAll);
  CAPTURE(abi);
  need_seccomp();
  CHECK(complaints_in(
            {},
            [](const Complaints& it) {
              const pid_t parent = ::getppid();
              char byte = 0;
              for (const pid_t target : {parent, 0, -1}) {
                it.unless_refused(::syscall(SYS_kill, target, 0), "kill", {EPERM});
              }
              it.unless_refused(::syscall(SYS_tgkill, parent, parent, 0), "tgkill", {EPERM});
              it.unless_refused(::syscall(SYS_pidfd_open, parent, 0), "pidfd_open", {EPERM});
              it.unless_refused(::syscall(SYS_ptrace, 16, parent, 0, 0), "ptrace", {EPERM});
              it.unless_refused(::syscall(SYS_process_vm_readv, parent, nullptr, 0, nullptr, 0, 0),
                                "process_vm_readv", {EPERM});
              it.unless_refused(::syscall(SYS_prlimit64, parent, RLIMIT_NOFILE, nullptr, nullptr),
                                "prlimit", {EPERM});
              it.unless_refused(::setpgid(0, 0), "setpgid", {EPERM});
              it.unless_refused(::prctl(PR_SET_PDEATHSIG, 0), "prctl", {EPERM});
              it.unless(::prctl(PR_SET_NAME, "renamed") == 0, "another prctl");
              it.unless(::syscall(SYS_kill, ::getpid(), 0) == 0, "kill of itself");
              rlimit files{};
              it.unless(::getrlimit(RLIMIT_NOFILE, &files) == 0, "getrlimit");
              std::signal(SIGUSR1, [](int) {});
              it.unless(std::raise(SIGUSR1) == 0, "raise");
              const int memory = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
              it.unless(memory >= 0 &&
                            ::pread(memory, &byte, 1,
                                    static_cast<off_t>(reinterpret_cast<uintptr_t>(&byte))) == 1,
                        "its own /proc");
            },
            abi) == "");
}

TEST_CASE("sandbox: /proc shows the process itself alone", "[sandbox]") {
  const int abi = GENERATE(2, 4, 6, kAll);
  CAPTURE(abi);
  need_landlock(1);
  const std::string parent = "/proc/" + std::to_string(::getpid());
  CHECK(
      complaints_in(
          {},
          [&](const Complaints& it) {
            it.unless(opened("/proc/self/status", O_RDONLY) == 0, "/proc/self/status");
            it.unless(opened("/proc/meminfo", O_RDONLY) == 0, "/proc/meminfo");
            it.unless_refused(opened(parent + "/cmdline", O_RDONLY), parent + "/cmdline", {EACCES});
            it.unless_refused(opened(parent + "/environ", O_RDONLY), parent + "/environ", {EACCES});
          },
          abi) == "");
}

TEST_CASE("sandbox: what a kernel without Landlock or an old one leaves open is said",
          "[sandbox]") {
  need_seccomp();
  const quench::SandboxAbilities none = quench::sandbox_abilities(0);
  CHECK(none.text == "no landlock, seccomp; not enforced: files, /proc of others");
  CHECK_FALSE(none.is_whole);
  const Folders folders;
  CHECK(complaints_in(
            folders.request,
            [&](const Complaints& it) {
              it.unless(opened(folders.other / "file", O_RDONLY) == 0, "reading elsewhere");
            },
            0) == "");
  need_landlock(2);
  const quench::SandboxAbilities old = quench::sandbox_abilities(2);
  CHECK(old.text == "landlock 2, seccomp");
  CHECK(old.is_whole);
}

TEST_CASE("sandbox: processors, disks and files of others go on as they were", "[sandbox]") {
  need_seccomp();
  const int abi = GENERATE(0, 2, 4, 6, kAll);
  CAPTURE(abi);
  CHECK(complaints_in(
            {},
            [](const Complaints& it) {
              const pid_t parent = ::getppid();
              const sched_param idle{};
              cpu_set_t processors;
              CPU_ZERO(&processors);
              CPU_SET(0, &processors);
              for (const pid_t whom : {parent, ::getpid(), 0}) {
                it.unless_refused(::setpriority(PRIO_PROCESS, static_cast<id_t>(whom), 19),
                                  "setpriority", {EPERM});
                it.unless_refused(::sched_setscheduler(whom, SCHED_IDLE, &idle),
                                  "sched_setscheduler", {EPERM});
                it.unless_refused(::sched_setparam(whom, &idle), "sched_setparam", {EPERM});
                it.unless_refused(::syscall(SYS_ioprio_set, 1, whom, 3 << 13), "ioprio_set",
                                  {EPERM});
              }
              it.unless_refused(::sched_setaffinity(parent, sizeof processors, &processors),
                                "sched_setaffinity", {EPERM});
              it.unless(::sched_getaffinity(0, sizeof processors, &processors) == 0 &&
                            ::sched_setaffinity(0, sizeof processors, &processors) == 0,
                        "its own affinity");
              it.unless_refused(::inotify_init1(IN_CLOEXEC), "inotify", {EPERM});
              it.unless_refused(::syscall(SYS_fanotify_init, 0, O_RDONLY), "fanotify", {EPERM});
            },
            abi) == "");
}

TEST_CASE("sandbox: a file in scratch takes what was written, and has an end", "[sandbox]") {
  need_seccomp();
  const int abi = GENERATE(0, 2, 4, 6, kAll);
  CAPTURE(abi);
  const Folders folders;
  CHECK(complaints_in(
            folders.request,
            [&](const Complaints& it) {
              const int file =
                  ::open((folders.scratch / "large").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
              it.unless_refused(::fallocate(file, 0, 0, off_t{1} << 20), "fallocate", {EOPNOTSUPP});
              it.unless(::ftruncate(file, off_t{1} << 20) == 0, "a file of 1 MiB");
              it.unless(::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0,
                        "giving back");
              std::signal(SIGXFSZ, SIG_IGN);
              it.unless_refused(::ftruncate(file, off_t{quench::kLargestFileBytes} + 1),
                                "a file too large", {EFBIG});
              it.unless_refused(::pwrite(file, "x", 1, off_t{quench::kLargestFileBytes}),
                                "writing too far", {EFBIG});
              rlimit size{};
              it.unless(::getrlimit(RLIMIT_FSIZE, &size) == 0, "getrlimit");
              size.rlim_cur = size.rlim_max = RLIM_INFINITY;
              it.unless_refused(::setrlimit(RLIMIT_FSIZE, &size), "raising the limit", {EPERM});
            },
            abi) == "");
}

TEST_CASE("sandbox: the system cannot be administered", "[sandbox]") {
  const int abi = GENERATE(0, 2, 4, 6, kAll);
  CAPTURE(abi);
  need_seccomp();
  CHECK(complaints_in(
            {},
            [](const Complaints& it) {
              const std::pair<const char*, long> calls[] = {
                  {"mount", SYS_mount},
                  {"unshare", SYS_unshare},
                  {"setns", SYS_setns},
                  {"bpf", SYS_bpf},
                  {"keyctl", SYS_keyctl},
                  {"perf_event_open", SYS_perf_event_open},
                  {"userfaultfd", SYS_userfaultfd},
                  {"io_uring_setup", SYS_io_uring_setup},
                  {"reboot", SYS_reboot},
                  {"finit_module", SYS_finit_module},
                  {"kexec_load", SYS_kexec_load},
                  {"open_by_handle_at", SYS_open_by_handle_at}};
              for (const auto& [name, call] : calls) {
                it.unless_refused(::syscall(call, -1, -1, -1, -1, -1), name, {EPERM});
              }
#if defined(__x86_64__)
              constexpr long kX32 = 0x40000000;
              it.unless_refused(::syscall(kX32 + SYS_getpid), "the second table", {ENOSYS});
#endif
            },
            abi) == "");
}

TEST_CASE("sandbox: the system's libraries load, shared memory without a file is had, time passes",
          "[sandbox]") {
  for (const SandboxProfile profile :
       {SandboxProfile::kNative, SandboxProfile::kPython, SandboxProfile::kGpu}) {
    SandboxRequest request;
    request.profile = profile;
    CHECK(complaints_in(request, [](const Complaints& it) {
            if (::dlopen("libanl.so.1", RTLD_NOW) == nullptr) {
              it.add(::dlerror());
            }
            it.unless(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                             0) != MAP_FAILED,
                      "shared memory");
            it.unless_refused(::memfd_create("memory", MFD_CLOEXEC), "a file in memory", {ENOSYS});
            it.unless(opened("/dev/null", O_RDWR) == 0, "/dev/null");
            it.unless(opened("/dev/urandom", O_RDONLY) == 0, "/dev/urandom");
            it.unless(std::thread::hardware_concurrency() > 0, "the processors");
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }) == "");
  }
}

TEST_CASE("sandbox: a plugin that aborts or crashes still ends by that signal", "[sandbox]") {
  for (const int number : {SIGABRT, SIGSEGV}) {
    ChildProcess child = ChildProcess::start_copy([&] {
      quench::enter_sandbox({});
      std::signal(number, SIG_DFL);
      return std::raise(number);
    });
    CHECK(child.wait().signal == number);
  }
}

TEST_CASE("sandbox: a path that is not there is an error that names it", "[sandbox]") {
  need_landlock(1);
  SandboxRequest request;
  request.readable = {"/nowhere/at/all"};
  CHECK_THAT(complaints_in(request, [](const Complaints&) {}),
             Catch::StartsWith("sandbox: /nowhere/at/all: cannot be opened: No such file"));
}

TEST_CASE("sandbox: a process with several threads is not confined in part", "[sandbox]") {
  ChildProcess child = ChildProcess::start_copy([] {
    std::thread other([] { std::this_thread::sleep_for(std::chrono::seconds(100)); });
    try {
      quench::enter_sandbox({});
    } catch (const quench::Error& error) {
      const std::string message = error.what();
      ::_exit(message.find("has 2 threads, wanted 1") != std::string::npos ? 5 : 6);
    }
    ::_exit(7);
    return 0;
  });
  CHECK(child.wait().code() == 5);
}
