/* What a program writes, in order and with its bytes, for one that runs with
 * LD_PRELOAD=libquench_recorded.so.
 *
 *   QUENCH_RECORD=FILE           gets an event for each call that changes or syncs:
 *                                a line "CALL\tPATH\tOTHER\tNUMBER\tBYTES" with
 *                                absolute paths, and so many bytes
 *   QUENCH_RECORD_UNDER=FOLDER   only what is below it counts
 *
 * tests/faults/power_loss.py makes of it what a disk may hold after a loss of power. That nothing
 * is missing, it finds by comparing what all events give with what is there.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "open_wrappers.h"

#define PATH_BYTES 4096

static const char* under;
static int log_descriptor = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
  const char* log = getenv("QUENCH_RECORD");
  under = getenv("QUENCH_RECORD_UNDER");
  if (log != NULL && under != NULL) {
    log_descriptor =
        (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
}

/* The path of an open file, or "". */
static void path_of(int descriptor, char* path) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, path, PATH_BYTES - 1);
  path[length > 0 ? length : 0] = '\0';
}

static void absolute(int folder, const char* name, char* path) {
  char base[PATH_BYTES] = "";
  if (name[0] != '/') {
    if (folder == AT_FDCWD) {
      if (getcwd(base, sizeof base) == NULL) {
        base[0] = '\0';
      }
    } else {
      path_of(folder, base);
    }
  }
  if (snprintf(path, PATH_BYTES, "%s%s%s", base, name[0] != '/' ? "/" : "", name) >= PATH_BYTES) {
    path[0] = '\0';
  }
}

static int counts(const char* path) {
  return log_descriptor >= 0 && strncmp(path, under, strlen(under)) == 0;
}

static void record(const char* call, const char* path, const char* other, long number,
                   const void* data, size_t bytes) {
  char line[3 * PATH_BYTES];
  const int length =
      snprintf(line, sizeof line, "%s\t%s\t%s\t%ld\t%zu\n", call, path, other, number, bytes);
  struct iovec parts[2] = {{line, (size_t)length}, {(void*)data, bytes}};
  if (syscall(SYS_writev, log_descriptor, parts, 2) != length + (ssize_t)bytes) {
    abort();
  }
}

static int wrapped_open(int folder, const char* name, int flags, mode_t mode) {
  char path[PATH_BYTES];
  absolute(folder, name, path);
  const int writes = (flags & O_CREAT) != 0 || (flags & O_TRUNC) != 0;
  if (!writes || !counts(path)) {
    return really_open(folder, name, flags, mode);
  }
  pthread_mutex_lock(&lock);
  const int descriptor = really_open(folder, name, flags, mode);
  const int error = errno;
  if (descriptor >= 0) {
    record("open", path, "", (flags & O_TRUNC) != 0, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return descriptor;
}

static ssize_t recorded_write(int descriptor, const void* data, size_t bytes, long offset) {
  char path[PATH_BYTES];
  path_of(descriptor, path);
  pthread_mutex_lock(&lock);
  const ssize_t put = offset < 0 ? syscall(SYS_write, descriptor, data, bytes)
                                 : syscall(SYS_pwrite64, descriptor, data, bytes, offset);
  const int error = errno;
  if (put > 0 && counts(path)) {
    record("write", path, "", offset < 0 ? (long)lseek(descriptor, 0, SEEK_CUR) - put : offset,
           data, (size_t)put);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return put;
}

EXPORT ssize_t write(int descriptor, const void* data, size_t bytes) {
  return recorded_write(descriptor, data, bytes, -1);
}
EXPORT ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  return recorded_write(descriptor, data, bytes, offset);
}
EXPORT ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off_t offset) {
  return recorded_write(descriptor, data, bytes, offset);
}
EXPORT ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  ssize_t put = 0;
  for (int i = 0; i < count; ++i) {
    const ssize_t one =
        parts[i].iov_len > 0 ? write(descriptor, parts[i].iov_base, parts[i].iov_len) : 0;
    if (one < 0) {
      return put > 0 ? put : one;
    }
    put += one;
  }
  return put;
}

/* Runs a call on an open file, and records it where it succeeds. */
static int on_file(const char* call, int descriptor, long number, long system_call) {
  char path[PATH_BYTES];
  path_of(descriptor, path);
  pthread_mutex_lock(&lock);
  const int result = (int)syscall(system_call, descriptor, number);
  const int error = errno;
  if (result == 0 && counts(path)) {
    record(call, path, "", number, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

EXPORT int fsync(int descriptor) {
  return on_file("sync", descriptor, 0, SYS_fsync);
}
EXPORT int fdatasync(int descriptor) {
  return on_file("sync", descriptor, 0, SYS_fdatasync);
}
EXPORT int ftruncate(int descriptor, off_t size) {
  return on_file("truncate", descriptor, size, SYS_ftruncate);
}
EXPORT int ftruncate64(int descriptor, off_t size) {
  return on_file("truncate", descriptor, size, SYS_ftruncate);
}

/* Records a call on names that has been made under the lock. */
static int named(const char* call, const char* path, const char* other, int result) {
  const int error = errno;
  if (result == 0 && counts(path)) {
    record(call, path, other, 0, NULL, 0);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}

EXPORT int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                     unsigned flags) {
  char path[PATH_BYTES];
  char other[PATH_BYTES];
  absolute(from_folder, from, path);
  absolute(to_folder, to, other);
  pthread_mutex_lock(&lock);
  return named((flags & RENAME_EXCHANGE) != 0 ? "exchange" : "rename", path, other,
               (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
EXPORT int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  return renameat2(from_folder, from, to_folder, to, 0);
}
EXPORT int rename(const char* from, const char* to) {
  return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}
EXPORT int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
  char path[PATH_BYTES];
  char other[PATH_BYTES];
  absolute(from_folder, from, path);
  absolute(to_folder, to, other);
  pthread_mutex_lock(&lock);
  return named("link", path, other,
               (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}
EXPORT int link(const char* from, const char* to) {
  return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}
EXPORT int symlinkat(const char* target, int folder, const char* name) {
  char path[PATH_BYTES];
  absolute(folder, name, path);
  pthread_mutex_lock(&lock);
  return named("symlink", path, target, (int)syscall(SYS_symlinkat, target, folder, name));
}
EXPORT int symlink(const char* target, const char* name) {
  return symlinkat(target, AT_FDCWD, name);
}
EXPORT int unlinkat(int folder, const char* name, int flags) {
  char path[PATH_BYTES];
  absolute(folder, name, path);
  pthread_mutex_lock(&lock);
  return named("unlink", path, "", (int)syscall(SYS_unlinkat, folder, name, flags));
}
EXPORT int unlink(const char* name) {
  return unlinkat(AT_FDCWD, name, 0);
}
EXPORT int rmdir(const char* name) {
  return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}
EXPORT int remove(const char* name) {
  return unlink(name) == 0 || (errno == EISDIR && rmdir(name) == 0) ? 0 : -1;
}
EXPORT int mkdirat(int folder, const char* name, mode_t mode) {
  char path[PATH_BYTES];
  absolute(folder, name, path);
  pthread_mutex_lock(&lock);
  return named("mkdir", path, "", (int)syscall(SYS_mkdirat, folder, name, mode));
}
EXPORT int mkdir(const char* name, mode_t mode) {
  return mkdirat(AT_FDCWD, name, mode);
}
