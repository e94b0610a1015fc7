#include "core/plugin/sandbox/syscall_filter.hpp"

#include <linux/falloc.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <system_error>
#include <type_traits>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr uint32_t refuse(int error) {
  return SCMP_ACT_ERRNO(static_cast<uint16_t>(error));
}

// `result`: 0, or a negative number of an error.
void check(int result) {
  if (result < 0) {
    fail(QUENCH_FAILED_PRECONDITION, "sandbox: the filter of system calls is not taken: {}",
         std::generic_category().message(-result));
  }
}

// Allows what no rule refuses.
class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ALLOW)) {
    if (context_ == nullptr) {
      check(-ENOMEM);
    }
    // Another table of calls, with other numbers: x32, or that of 32-bit programs.
    check(seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, refuse(ENOSYS)));
    // Kernels before 5.16 otherwise switch off a speculation of the processor for the process,
    // which costs a computation far more than the secrets that this one could still learn are
    // worth. Kernels before 4.17 do not have the choice.
    seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_SSB, 1);
  }

  template <typename... Conditions>
  void refuse_call(int call, int error, Conditions... conditions) {
    check(seccomp_rule_add(context_.get(), refuse(error), call, sizeof...(conditions),
                           conditions...));
  }

  void load() { check(seccomp_load(context_.get())); }

 private:
  struct Release {
    void operator()(void* context) const { seccomp_release(context); }
  };
  std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, Release> context_;
};

// What the kernel declares as int has no upper half that counts, so one that is set may refuse.
scmp_arg_cmp is_not(unsigned argument, uint64_t value) {
  return {argument, SCMP_CMP_NE, value, 0};
}

scmp_arg_cmp has(unsigned argument, uint64_t mask, uint64_t bits) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, bits};
}

// Calls that are refused whatever their arguments are. libseccomp leaves out
// those that this processor has not.
constexpr int kRefused[] = {
    SCMP_SYS(fork),
    SCMP_SYS(vfork),
    // Other processes: their memory, their descriptors, their signals, their groups.
    SCMP_SYS(ptrace),
    SCMP_SYS(process_vm_readv),
    SCMP_SYS(process_vm_writev),
    SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_open),
    SCMP_SYS(pidfd_getfd),
    SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(process_madvise),
    SCMP_SYS(tkill),
    SCMP_SYS(setpgid),
    SCMP_SYS(setsid),
    // Their share of the processors and disks, and its own, which would be at their cost.
    SCMP_SYS(setpriority),
    SCMP_SYS(sched_setscheduler),
    SCMP_SYS(sched_setparam),
    SCMP_SYS(sched_setattr),
    SCMP_SYS(ioprio_set),
    // What others do with files, which Landlock lets be watched.
    SCMP_SYS(inotify_init),
    SCMP_SYS(inotify_init1),
    SCMP_SYS(fanotify_init),
    SCMP_SYS(shmget),
    SCMP_SYS(shmat),
    SCMP_SYS(semget),
    SCMP_SYS(msgget),
    SCMP_SYS(mq_open),
    // Sockets in the file system lead to whatever serves there.
    SCMP_SYS(connect),
    // Ways around the filter and the rules on files.
    SCMP_SYS(io_uring_setup),
    SCMP_SYS(io_uring_enter),
    SCMP_SYS(io_uring_register),
    SCMP_SYS(setns),
    SCMP_SYS(unshare),
    SCMP_SYS(mount),
    SCMP_SYS(umount2),
    SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),
    SCMP_SYS(open_tree),
    SCMP_SYS(move_mount),
    SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount),
    SCMP_SYS(fspick),
    SCMP_SYS(name_to_handle_at),
    SCMP_SYS(open_by_handle_at),
    SCMP_SYS(mount_setattr),
    // Owners, modes, times and attributes, of which Landlock knows nothing.
    SCMP_SYS(fchmod),
    SCMP_SYS(fchmodat),
    SCMP_SYS(fchown),
    SCMP_SYS(fchownat),
    SCMP_SYS(utimensat),
    SCMP_SYS(setxattr),
    SCMP_SYS(lsetxattr),
    SCMP_SYS(fsetxattr),
    SCMP_SYS(removexattr),
    SCMP_SYS(lremovexattr),
    SCMP_SYS(fremovexattr),
    SCMP_SYS(chmod),
    SCMP_SYS(chown),
    SCMP_SYS(lchown),
    SCMP_SYS(utime),
    SCMP_SYS(utimes),
    SCMP_SYS(futimesat),
    // Large and rarely needed parts of the kernel, and its keys.
    SCMP_SYS(bpf),
    SCMP_SYS(perf_event_open),
    SCMP_SYS(userfaultfd),
    SCMP_SYS(keyctl),
    SCMP_SYS(add_key),
    SCMP_SYS(request_key),
    // The system itself.
    SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load),
    SCMP_SYS(init_module),
    SCMP_SYS(finit_module),
    SCMP_SYS(delete_module),
    SCMP_SYS(swapon),
    SCMP_SYS(swapoff),
    SCMP_SYS(reboot),
    SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname),
    SCMP_SYS(settimeofday),
    SCMP_SYS(clock_settime),
    SCMP_SYS(clock_adjtime),
    SCMP_SYS(adjtimex),
    SCMP_SYS(acct),
    SCMP_SYS(quotactl),
    SCMP_SYS(syslog),
    SCMP_SYS(vhangup),
    SCMP_SYS(iopl),
    SCMP_SYS(ioperm),
};

// The same number on every processor since Linux 5.0; headers of 6.6 and newer have the name.
constexpr int kFchmodat2 = 452;
// Memory that the host would not see when it counts.
constexpr int kMemfdSecret = 447;

void add_processes(Filter& filter, bool becomes_program) {
  if (!becomes_program) {
    filter.refuse_call(SCMP_SYS(execve), EACCES);
  }
  filter.refuse_call(SCMP_SYS(execveat), EACCES);
  // Its flags are behind a pointer. Without it the C library makes its threads by clone.
  filter.refuse_call(SCMP_SYS(clone3), ENOSYS);
  filter.refuse_call(SCMP_SYS(clone), EPERM, has(0, CLONE_THREAD, 0));
}

// Signals go to the process itself, whose number alone is none of a group's; prlimit likewise, to
// which 0 means the caller.
void add_own_process_only(Filter& filter) {
  const auto own = static_cast<uint64_t>(::getpid());
  for (const int call :
       {SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo)}) {
    filter.refuse_call(call, EPERM, is_not(0, own));
  }
  filter.refuse_call(SCMP_SYS(prlimit64), EPERM, is_not(0, 0));
  // Root could lift the limit of its files.
  filter.refuse_call(SCMP_SYS(prlimit64), EPERM, has(1, UINT32_MAX, RLIMIT_FSIZE), is_not(2, 0));
  filter.refuse_call(SCMP_SYS(setrlimit), EPERM, has(0, UINT32_MAX, RLIMIT_FSIZE));
  // A thread by its number may be anybody's; 0 is the one that calls.
  filter.refuse_call(SCMP_SYS(sched_setaffinity), EPERM, is_not(0, 0));
  // It may not untie itself from the host, whose end is to be its own, nor hide its memory from it.
  for (const unsigned option : {PR_SET_PDEATHSIG, PR_SET_DUMPABLE}) {
    filter.refuse_call(SCMP_SYS(prctl), EPERM, has(0, UINT32_MAX, option));
  }
}

// Local sockets that need a connection, which no call makes. A datagram would find its
// way without: its address is behind a pointer.
void add_sockets(Filter& filter) {
  constexpr uint64_t kKinds = 15;  // beside them are SOCK_CLOEXEC and SOCK_NONBLOCK
  for (const int call : {SCMP_SYS(socket), SCMP_SYS(socketpair)}) {
    filter.refuse_call(call, EACCES, is_not(0, AF_UNIX));
    for (uint64_t kind = 0; kind <= kKinds; ++kind) {
      if (kind != SOCK_STREAM && kind != SOCK_SEQPACKET) {
        filter.refuse_call(call, EACCES, has(1, kKinds, kind));
      }
    }
  }
}

}  // namespace

bool has_syscall_filters() {
  uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

void filter_syscalls(int landlock_abi, bool becomes_program) {
  Filter filter;
  add_processes(filter, becomes_program);
  for (const int call : kRefused) {
    filter.refuse_call(call, EPERM);
  }
  filter.refuse_call(kFchmodat2, EPERM);
  filter.refuse_call(kMemfdSecret, EPERM);
  // What is written into such a file and not mapped is in no total of the process. As on a kernel
  // without the call, so that libraries take another way.
  filter.refuse_call(SCMP_SYS(memfd_create), ENOSYS);
  // Room that nothing was written into is not had; what was written may be given back. The C
  // library's posix_fallocate then writes, which the host sees.
  constexpr uint64_t kGiveBack = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  filter.refuse_call(SCMP_SYS(fallocate), EOPNOTSUPP, is_not(1, kGiveBack));
  constexpr int kLandlockWithTruncation = 3;
  if (landlock_abi < kLandlockWithTruncation) {
    filter.refuse_call(SCMP_SYS(truncate), EPERM);
  }
  add_own_process_only(filter);
  add_sockets(filter);
  filter.load();
}

}  // namespace quench
