/* Faults at system calls, for a program that runs with LD_PRELOAD=libquench_faults.so.
 *
 * Counts the calls that write: open/openat/creat with O_CREAT or for writing, write, pwrite, fsync,
 * fdatasync, rename, link, unlink, mkdir, ftruncate, and close of a descriptor that was opened for
 * writing. stdin, stdout, stderr, pipes, sockets and what lies under /proc, /dev or /sys do not
 * count. Calls are numbered from 1 in the order in which they are made, over all threads and, where
 * QUENCH_FAULT_COUNTER is a file, over all processes that share it.
 *
 *   QUENCH_FAULT_LOG=FILE       appends a line per counted call: "<number> <pid> <call> <path>";
 * for rename and link also a tab and where it came from QUENCH_FAULT_AT=N           the call that
 * is hit QUENCH_FAULT=NAME           ENOSPC EIO EROFS EDQUOT EMFILE EACCES EINTR: the call fails
 * so; SHORT: a write writes half; KILL: SIGKILL instead of the call; KILL_AFTER: SIGKILL after it
 *   QUENCH_FAULT_FROM=1         every call from N on, not the one alone: a disk that stays full
 *   QUENCH_FAULT_CALLS=a,b      counts these calls alone: "fsync,close"
 *   QUENCH_FAULT_UNDER=DIR      counts calls below this folder alone
 *   QUENCH_FAULT_DROP=a,b       these calls do nothing and say that they did: "fsync" is a mutant,
 *                               "flock" a file system where locks are granted to everybody
 *
 * A failed close does close the descriptor, as Linux does. A failed fsync is not retried by the
 * kernel: the next one succeeds. Only what goes through libc's symbols is seen; std::ofstream and
 * stdio call write inside of libc and are not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { kDescriptors = 4096, kPath = 4096 };

static char* paths[kDescriptors]; /* of descriptors opened for writing */
static pthread_mutex_t paths_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long own_counter;
static atomic_long* counter = &own_counter;
static int log_descriptor = -1;
static long hit_at = -1;
static int hit_from;
static const char* fault = "";
static const char* calls;
static const char* dropped;
static const char* under;
static __thread const char* origin; /* of a rename or link */

static int in_list(const char* list, const char* name) {
  const size_t length = strlen(name);
  for (const char* at = list; at != NULL && *at != '\0';) {
    const size_t part = strcspn(at, ",");
    if (part == length && strncmp(at, name, length) == 0) {
      return 1;
    }
    at += part + (at[part] == ',');
  }
  return 0;
}

__attribute__((constructor)) static void start(void) {
  const char* text = getenv("QUENCH_FAULT_COUNTER");
  if (text != NULL) {
    const int descriptor =
        (int)syscall(SYS_openat, AT_FDCWD, text, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor >= 0 && syscall(SYS_ftruncate, descriptor, (long)sizeof(atomic_long)) == 0) {
      void* map =
          mmap(NULL, sizeof(atomic_long), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
      counter = map == MAP_FAILED ? &own_counter : map;
    }
  }
  text = getenv("QUENCH_FAULT_LOG");
  if (text != NULL) {
    log_descriptor =
        (int)syscall(SYS_openat, AT_FDCWD, text, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  text = getenv("QUENCH_FAULT_AT");
  hit_at = text != NULL ? atol(text) : -1;
  hit_from = getenv("QUENCH_FAULT_FROM") != NULL;
  fault = getenv("QUENCH_FAULT") != NULL ? getenv("QUENCH_FAULT") : "";
  calls = getenv("QUENCH_FAULT_CALLS");
  dropped = getenv("QUENCH_FAULT_DROP");
  under = getenv("QUENCH_FAULT_UNDER");
}

static int errno_of(const char* name) {
  static const struct {
    const char* name;
    int number;
  } kKnown[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EROFS", EROFS}, {"EDQUOT", EDQUOT},
                {"EMFILE", EMFILE}, {"EACCES", EACCES}, {"EINTR", EINTR}};
  for (size_t i = 0; i < sizeof kKnown / sizeof kKnown[0]; ++i) {
    if (strcmp(kKnown[i].name, name) == 0) {
      return kKnown[i].number;
    }
  }
  return 0;
}

enum verdict { kPass, kFail, kShort, kDie, kDieAfter, kSkip };

static int counts(const char* path) {
  if (path == NULL || strncmp(path, "/proc", 5) == 0 || strncmp(path, "/sys", 4) == 0 ||
      (strncmp(path, "/dev", 4) == 0 && strncmp(path, "/dev/shm/", 9) != 0)) {
    return 0;
  }
  if (under == NULL || strncmp(path, under, strlen(under)) == 0) {
    return 1;
  }
  if (path[0] == '/') {
    return 0;
  }
  char folder[kPath]; /* a relative path */
  return getcwd(folder, sizeof folder) != NULL && strncmp(folder, under, strlen(under)) == 0;
}

/* Counts the call and says what becomes of it. */
static enum verdict judge(const char* call, const char* path) {
  if (!counts(path)) {
    return kPass;
  }
  if (dropped != NULL && in_list(dropped, call)) {
    return kSkip;
  }
  if (calls != NULL && !in_list(calls, call)) {
    return kPass;
  }
  const long number = atomic_fetch_add(counter, 1) + 1;
  if (log_descriptor >= 0) {
    char line[2 * kPath + 64];
    const int length =
        snprintf(line, sizeof line, "%ld %d %s %s%s%s\n", number, (int)getpid(), call, path,
                 origin != NULL ? "\t" : "", origin != NULL ? origin : "");
    if (length > 0) {
      syscall(SYS_write, log_descriptor, line,
              (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);
    }
  }
  if (hit_at < 1 || number < hit_at || (number > hit_at && !hit_from)) {
    return kPass;
  }
  if (strcmp(fault, "KILL") == 0) {
    return kDie;
  }
  if (strcmp(fault, "KILL_AFTER") == 0) {
    return kDieAfter;
  }
  if (strcmp(fault, "SHORT") == 0) {
    return strcmp(call, "write") == 0 || strcmp(call, "pwrite") == 0 ? kShort : kPass;
  }
  if (errno_of(fault) != 0) {
    errno = errno_of(fault);
    return kFail;
  }
  return kPass;
}

static void die(void) {
  raise(SIGKILL);
  for (;;) {
    pause();
  }
}

static const char* path_of(int descriptor) {
  return descriptor >= 0 && descriptor < kDescriptors ? paths[descriptor] : NULL;
}

static void set_path(int descriptor, const char* path) {
  if (descriptor < 0 || descriptor >= kDescriptors) {
    return;
  }
  pthread_mutex_lock(&paths_lock);
  free(paths[descriptor]);
  paths[descriptor] = path != NULL ? strdup(path) : NULL;
  pthread_mutex_unlock(&paths_lock);
}

static void* next(const char* name) {
  return dlsym(RTLD_NEXT, name);
}

/* Runs a call that returns -1 on failure under the verdict for it. */
#define UNDER_FAULT(call, path, expression) UNDER_VERDICT(judge(call, path), expression)
#define UNDER_VERDICT(given, expression)     \
  do {                                       \
    const enum verdict verdict_ = given;     \
    if (verdict_ == kDie) {                  \
      die();                                 \
    }                                        \
    if (verdict_ == kFail) {                 \
      return -1;                             \
    }                                        \
    if (verdict_ == kSkip) {                 \
      return 0;                              \
    }                                        \
    const long result_ = (long)(expression); \
    if (verdict_ == kDieAfter) {             \
      die();                                 \
    }                                        \
    return (int)result_;                     \
  } while (0)

static int open_under_fault(int folder, const char* path, int flags, mode_t mode) {
  const int writes = (flags & O_CREAT) != 0 || (flags & O_ACCMODE) != O_RDONLY;
  const enum verdict verdict = writes ? judge("open", path) : kPass;
  if (verdict == kDie) {
    die();
  }
  if (verdict == kFail) {
    return -1;
  }
  const int descriptor = (int)syscall(SYS_openat, folder, path, flags, mode);
  if (verdict == kDieAfter) {
    die();
  }
  /* Folders are opened for reading and synced: their fsync counts as well. */
  set_path(descriptor, writes || (flags & O_DIRECTORY) != 0 ? path : NULL);
  return descriptor;
}

#define MODE_ARGUMENT                         \
  mode_t mode = 0;                            \
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list arguments;                        \
    va_start(arguments, flags);               \
    mode = va_arg(arguments, mode_t);         \
    va_end(arguments);                        \
  }

EXPORT int open(const char* path, int flags, ...) {
  MODE_ARGUMENT
  return open_under_fault(AT_FDCWD, path, flags, mode);
}
EXPORT int open64(const char* path, int flags, ...) {
  MODE_ARGUMENT
  return open_under_fault(AT_FDCWD, path, flags, mode);
}
EXPORT int openat(int folder, const char* path, int flags, ...) {
  MODE_ARGUMENT
  return open_under_fault(folder, path, flags, mode);
}
EXPORT int openat64(int folder, const char* path, int flags, ...) {
  MODE_ARGUMENT
  return open_under_fault(folder, path, flags, mode);
}
EXPORT int creat(const char* path, mode_t mode) {
  return open_under_fault(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

static ssize_t write_under_fault(const char* call, int descriptor, const void* data, size_t bytes,
                                 long offset) {
  const enum verdict verdict = judge(call, path_of(descriptor));
  if (verdict == kDie) {
    die();
  }
  if (verdict == kFail) {
    return -1;
  }
  if (verdict == kSkip) {
    return (ssize_t)bytes;
  }
  const size_t asked = verdict == kShort && bytes > 1 ? bytes / 2 : bytes;
  const ssize_t put = offset < 0 ? syscall(SYS_write, descriptor, data, asked)
                                 : syscall(SYS_pwrite64, descriptor, data, asked, offset);
  if (verdict == kDieAfter) {
    die();
  }
  return put;
}

EXPORT ssize_t write(int descriptor, const void* data, size_t bytes) {
  return write_under_fault("write", descriptor, data, bytes, -1);
}
EXPORT ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  return write_under_fault("pwrite", descriptor, data, bytes, offset);
}
EXPORT ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off_t offset) {
  return write_under_fault("pwrite", descriptor, data, bytes, offset);
}
EXPORT int fsync(int descriptor) {
  UNDER_FAULT("fsync", path_of(descriptor), syscall(SYS_fsync, descriptor));
}
EXPORT int fdatasync(int descriptor) {
  UNDER_FAULT("fdatasync", path_of(descriptor), syscall(SYS_fdatasync, descriptor));
}
/* Not counted: nothing is written. Dropped, a lock is granted to everybody. */
EXPORT int flock(int descriptor, int operation) {
  if (dropped != NULL && in_list(dropped, "flock")) {
    return 0;
  }
  return (int)syscall(SYS_flock, descriptor, operation);
}
EXPORT int ftruncate(int descriptor, off_t size) {
  UNDER_FAULT("ftruncate", path_of(descriptor), syscall(SYS_ftruncate, descriptor, size));
}
EXPORT int ftruncate64(int descriptor, off_t size) {
  UNDER_FAULT("ftruncate", path_of(descriptor), syscall(SYS_ftruncate, descriptor, size));
}
EXPORT int rename(const char* from, const char* to) {
  origin = from;
  const enum verdict verdict = judge("rename", to);
  origin = NULL;
  UNDER_VERDICT(verdict, syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}
EXPORT int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                     unsigned flags) {
  origin = from;
  const enum verdict verdict = judge("rename", to);
  origin = NULL;
  UNDER_VERDICT(verdict, syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
EXPORT int link(const char* from, const char* to) {
  origin = from;
  const enum verdict verdict = judge("link", to);
  origin = NULL;
  UNDER_VERDICT(verdict, syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
EXPORT int unlink(const char* path) {
  UNDER_FAULT("unlink", path, syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}
EXPORT int remove(const char* path) {
  int (*original)(const char*) = (int (*)(const char*))next("remove");
  UNDER_FAULT("unlink", path, original(path));
}
EXPORT int mkdir(const char* path, mode_t mode) {
  UNDER_FAULT("mkdir", path, syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

EXPORT int close(int descriptor) {
  const char* path = path_of(descriptor);
  const enum verdict verdict = path != NULL ? judge("close", path) : kPass;
  if (verdict == kDie) {
    die();
  }
  set_path(descriptor, NULL);
  const int result = (int)syscall(SYS_close, descriptor);
  if (verdict == kDieAfter) {
    die();
  }
  if (verdict == kFail) {
    errno = errno_of(fault);
    return -1;
  }
  return result;
}
