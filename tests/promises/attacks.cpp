#include "tests/promises/attacks.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace quench::test {

namespace {

class Attacks {
 public:
  // `result`: of a call that gives -1 where it is refused.
  void attempt(const char* name, long result) {
    ++tried_;
    if (result >= 0) {
      succeeded_ += (succeeded_.empty() ? "" : ", ") + std::string(name);
    }
  }
  std::string text() const {
    return succeeded_.empty() ? "nothing of " + std::to_string(tried_) : succeeded_;
  }

 private:
  int tried_ = 0;
  std::string succeeded_;
};

long opened(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (file >= 0) {
    ::close(file);
  }
  return file;
}

long connected(int family, const sockaddr* address, socklen_t bytes) {
  const int socket = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int result = socket < 0 ? -1 : ::connect(socket, address, bytes);
  ::close(socket);
  return result;
}

void on_files(Attacks& it, const std::string& prey) {
  const std::string secret = prey + "/secret";
  it.attempt("read a secret", opened(secret, O_RDONLY));
  it.attempt("write to it", opened(secret, O_WRONLY));
  it.attempt("make a file beside it", opened(prey + "/new", O_WRONLY | O_CREAT));
  it.attempt("make a file in /tmp", opened("/tmp/quench_attack", O_WRONLY | O_CREAT));
  it.attempt("make a file in /dev/shm", opened("/dev/shm/quench_attack", O_WRONLY | O_CREAT));
  it.attempt("unlink", ::unlink(secret.c_str()));
  it.attempt("rename", ::rename(secret.c_str(), (prey + "/other").c_str()));
  it.attempt("truncate", ::truncate(secret.c_str(), 0));
  it.attempt("chmod", ::chmod(secret.c_str(), 0777));
  it.attempt("utimensat", ::utimensat(AT_FDCWD, secret.c_str(), nullptr, 0));
  it.attempt("mkdir", ::mkdir((prey + "/folder").c_str(), 0700));
  it.attempt("inotify", ::inotify_init1(IN_CLOEXEC));
  const char* scratch = std::getenv("TMPDIR");
  const int own = ::open((std::string(scratch == nullptr ? "." : scratch) + "/own").c_str(),
                         O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  it.attempt("fallocate", own < 0 ? -1 : ::fallocate(own, 0, 0, off_t{1} << 33));
}

void on_processes(Attacks& it) {
  const pid_t host = ::getppid();
  const std::string proc = "/proc/" + std::to_string(host);
  it.attempt("read the host's environ", opened(proc + "/environ", O_RDONLY));
  it.attempt("read the host's maps", opened(proc + "/maps", O_RDONLY));
  it.attempt("write the host's memory", opened(proc + "/mem", O_RDWR));
  it.attempt("kill", ::syscall(SYS_kill, host, 0));
  it.attempt("kill all", ::syscall(SYS_kill, -1, 0));
  it.attempt("pidfd_open", ::syscall(SYS_pidfd_open, host, 0));
  it.attempt("ptrace", ::syscall(SYS_ptrace, 16, host, 0, 0));
  it.attempt("setpriority", ::setpriority(PRIO_PROCESS, static_cast<id_t>(host), 19));
  const sched_param idle{};
  it.attempt("sched_setscheduler", ::sched_setscheduler(host, SCHED_IDLE, &idle));
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  it.attempt("sched_setaffinity", ::sched_setaffinity(host, sizeof first, &first));
  it.attempt("ioprio_set", ::syscall(SYS_ioprio_set, 1, host, 3 << 13));
  it.attempt("fork", ::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  it.attempt("exec", ::execl("/bin/true", "true", nullptr));
  it.attempt("mount", ::syscall(SYS_mount, "none", "/mnt", "tmpfs", 0, nullptr));
  it.attempt("unshare", ::syscall(SYS_unshare, CLONE_NEWUSER));
  it.attempt("memfd_secret", ::syscall(447, 0));
  it.attempt("memfd_create", ::memfd_create("hidden", MFD_CLOEXEC));
}

void on_network(Attacks& it) {
  sockaddr_in tcp{};
  tcp.sin_family = AF_INET;
  tcp.sin_port = htons(9);
  tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  it.attempt("a socket of the network", ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  it.attempt("connect", connected(AF_INET, reinterpret_cast<const sockaddr*>(&tcp), sizeof tcp));
  it.attempt("netlink", ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
  sockaddr_un local{};
  local.sun_family = AF_UNIX;
  std::memcpy(local.sun_path, "\0quench", 7);  // an abstract one
  it.attempt("an abstract socket", connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&local),
                                             offsetof(sockaddr_un, sun_path) + 7));
}

}  // namespace

std::string attacks_that_succeed() {
  const char* prey = std::getenv("QUENCH_PREY");
  Attacks it;
  on_files(it, prey == nullptr ? "" : prey);
  on_processes(it);
  on_network(it);
  it.attempt("see a token", std::getenv("HF_TOKEN") != nullptr ? 0 : -1);
  return it.text();
}

}  // namespace quench::test
