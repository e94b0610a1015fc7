#include "core/sandbox/syscall_filter.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <system_error>
#include <vector>

#include "core/error.hpp"

namespace quench {

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArchitecture = 0;
#endif

constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;

constexpr uint32_t refuse(int error) {
  return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error);
}

// Low half of an argument: both processors are little-endian. What the kernel declares as int has
// no other half that counts.
constexpr uint32_t argument(uint32_t index) {
  return static_cast<uint32_t>(offsetof(seccomp_data, args)) + index * 8;
}

// The kernel runs the instructions in order until one returns. `skip` counts the instructions that
// the next one jumps over.
class FilterProgram {
 public:
  void load(uint32_t offset) { add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void mask(uint32_t bits) { add(BPF_ALU | BPF_AND | BPF_K, bits); }
  void give(uint32_t action) { add(BPF_RET | BPF_K, action); }
  void skip_if_equal(uint32_t value, uint8_t skip) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, skip, 0);
  }
  void skip_unless_equal(uint32_t value, uint8_t skip) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip);
  }
  void skip_if_less(uint32_t value, uint8_t skip) {
    add(BPF_JMP | BPF_JGE | BPF_K, value, 0, skip);
  }
  void skip_if_no_bit(uint32_t bits, uint8_t skip) {
    add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, skip);
  }
  void give_if_equal(uint32_t value, uint32_t action) {
    skip_unless_equal(value, 1);
    give(action);
  }

  // `call` is refused. The number of the call is loaded.
  void refuse_call(long call, int error) {
    give_if_equal(static_cast<uint32_t>(call), refuse(error));
  }
  // `call` is refused unless its argument is one of `values`.
  void refuse_unless(long call, uint32_t index, std::initializer_list<uint32_t> values, int error) {
    skip_unless_equal(static_cast<uint32_t>(call), static_cast<uint8_t>(2 + 2 * values.size()));
    load(argument(index));
    for (const uint32_t value : values) {
      give_if_equal(value, kAllow);
    }
    give(refuse(error));
  }

  sock_fprog program() {
    return {static_cast<unsigned short>(instructions_.size()), instructions_.data()};
  }

 private:
  void add(uint16_t code, uint32_t value, uint8_t if_true = 0, uint8_t if_false = 0) {
    instructions_.push_back({code, if_true, if_false, value});
  }

  std::vector<sock_filter> instructions_;
};

// Calls that are refused whatever their arguments are. Not every processor has all of them.
constexpr long kRefused[] = {
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
    // Other processes: their memory, their descriptors, their signals, their groups.
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_process_madvise,
    SYS_tkill,
    SYS_setpgid,
    SYS_setsid,
    SYS_shmget,
    SYS_shmat,
    SYS_semget,
    SYS_msgget,
    SYS_mq_open,
    // Sockets in the file system lead to whatever serves there.
    SYS_connect,
    // Ways around the filter and the rules on files.
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_setns,
    SYS_unshare,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
#ifdef SYS_mount_setattr
    SYS_mount_setattr,
#endif
    // Owners, modes, times and attributes, of which Landlock knows nothing.
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
#ifdef SYS_chmod
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
    // Large and rarely needed parts of the kernel, and its keys.
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    // The system itself.
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_vhangup,
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};

// The same number on every processor since Linux 5.0; headers of 6.6 and newer have the name.
constexpr long kFchmodat2 = 452;

void add_processes(FilterProgram& filter) {
  for (const long call : {SYS_execve, SYS_execveat}) {
    filter.refuse_call(call, EACCES);
  }
  // Its flags are behind a pointer. Without it the C library makes its threads by clone.
  filter.refuse_call(SYS_clone3, ENOSYS);
  filter.skip_unless_equal(SYS_clone, 4);
  filter.load(argument(0));
  filter.skip_if_no_bit(CLONE_THREAD, 1);
  filter.give(kAllow);
  filter.give(refuse(EPERM));
}

// Signals go to the process itself; prlimit, of which 0 means the caller, likewise. 0 and negative
// numbers would mean groups.
void add_own_process_only(FilterProgram& filter) {
  const auto own = static_cast<uint32_t>(::getpid());
  for (const long call : {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo}) {
    filter.refuse_unless(call, 0, {own}, EPERM);
  }
  filter.refuse_unless(SYS_prlimit64, 0, {0, own}, EPERM);
  // It may not untie itself from the host, whose end is to be its own, nor hide its memory from it.
  filter.skip_unless_equal(SYS_prctl, 6);
  filter.load(argument(0));
  filter.give_if_equal(PR_SET_PDEATHSIG, refuse(EPERM));
  filter.give_if_equal(PR_SET_DUMPABLE, refuse(EPERM));
  filter.give(kAllow);
}

// Local sockets that need a connection, and nobody can be connected to. A datagram would find its
// way without: its address is behind a pointer.
void add_sockets(FilterProgram& filter) {
  constexpr uint32_t kKind = 15;  // beside it are SOCK_CLOEXEC and SOCK_NONBLOCK
  for (const long call : {SYS_socket, SYS_socketpair}) {
    filter.skip_unless_equal(static_cast<uint32_t>(call), 9);
    filter.load(argument(0));
    filter.skip_unless_equal(AF_UNIX, 6);  // to the end, which refuses
    filter.load(argument(1));
    filter.mask(kKind);
    filter.give_if_equal(SOCK_STREAM, kAllow);
    filter.give_if_equal(SOCK_SEQPACKET, kAllow);
    filter.give(refuse(EACCES));
  }
}

FilterProgram confinement(int landlock_abi) {
  FilterProgram filter;
  filter.load(offsetof(seccomp_data, arch));
  filter.skip_if_equal(kArchitecture, 1);  // another table of calls, with other numbers
  filter.give(SECCOMP_RET_KILL_PROCESS);
  filter.load(offsetof(seccomp_data, nr));
#if defined(__x86_64__)
  constexpr uint32_t kX32 = 0x40000000;  // a third table
  filter.skip_if_less(kX32, 1);
  filter.give(refuse(ENOSYS));
#endif
  add_processes(filter);
  for (const long call : kRefused) {
    filter.refuse_call(call, EPERM);
  }
  filter.refuse_call(kFchmodat2, EPERM);
  constexpr int kLandlockWithTruncation = 3;
  if (landlock_abi < kLandlockWithTruncation) {
    filter.refuse_call(SYS_truncate, EPERM);
  }
  add_own_process_only(filter);
  add_sockets(filter);
  filter.give(kAllow);
  return filter;
}

}  // namespace

bool has_syscall_filters() {
  uint32_t action = SECCOMP_RET_ERRNO;
  return kArchitecture != 0 && ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void filter_syscalls(int landlock_abi) {
  FilterProgram filter = confinement(landlock_abi);
  sock_fprog program = filter.program();
  // Kernels before 5.16 otherwise switch off a speculation of the processor for the process, which
  // costs a computation far more than the secrets that this one could still learn are worth.
  constexpr unsigned kFlags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &program) != 0) {
    fail(QUENCH_FAILED_PRECONDITION, "sandbox: the filter of system calls is not taken: {}",
         std::generic_category().message(errno));
  }
}

}  // namespace quench
