/* A network file system's view of a folder, for a program that runs with
 * LD_PRELOAD=libquench_late_names.so: what another process has made is missing from listings and
 * to stat for a while, although opening it by its name works, as do link and rename against it.
 *
 *   QUENCH_LATE_UNDER=DIR   below this folder alone
 *   QUENCH_LATE_MS=N        for so many milliseconds after a file was made
 *
 * What the process has made itself it sees at once, and folders, since mkdir asks the server. Where
 * the file system tells no time of birth, nothing is late.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
enum { kOwn = 65536, kPath = 4096 };

static unsigned long own[kOwn]; /* inodes that this process has made, by their last digits */
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static const char* under;
static long late_ms;

__attribute__((constructor)) static void start(void) {
  under = getenv("QUENCH_LATE_UNDER");
  late_ms = getenv("QUENCH_LATE_MS") != NULL ? atol(getenv("QUENCH_LATE_MS")) : 0;
}

static int look(int folder, const char* name, struct statx* out) {
  const unsigned wanted = STATX_TYPE | STATX_INO | STATX_BTIME;
  return syscall(SYS_statx, folder, name, AT_SYMLINK_NOFOLLOW, wanted, out) == 0 ? 0 : -1;
}

static void made(int folder, const char* name) {
  struct statx seen;
  if (look(folder, name, &seen) == 0) {
    pthread_mutex_lock(&own_lock);
    own[seen.stx_ino % kOwn] = seen.stx_ino;
    pthread_mutex_unlock(&own_lock);
  }
}

static int is_late(int folder, const char* name) {
  struct statx seen;
  if (look(folder, name, &seen) != 0 || (seen.stx_mask & STATX_BTIME) == 0 ||
      !S_ISREG(seen.stx_mode)) {
    return 0;
  }
  pthread_mutex_lock(&own_lock);
  const int mine = own[seen.stx_ino % kOwn] == seen.stx_ino;
  pthread_mutex_unlock(&own_lock);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const long age_ms = (now.tv_sec - seen.stx_btime.tv_sec) * 1000 +
                      (now.tv_nsec - (long)seen.stx_btime.tv_nsec) / 1000000;
  return !mine && age_ms < late_ms;
}

static int counts(const char* path) {
  return under != NULL && path != NULL && strncmp(path, under, strlen(under)) == 0;
}

/* Whether the program is not to see `name`, which is relative to the working folder or absolute. */
static int hides(const char* name) {
  char whole[kPath];
  if (under == NULL || name == NULL) {
    return 0;
  }
  if (name[0] != '/') {
    char folder[kPath];
    if (getcwd(folder, sizeof folder) == NULL ||
        snprintf(whole, sizeof whole, "%s/%s", folder, name) >= (int)sizeof whole) {
      return 0;
    }
    name = whole;
  }
  return counts(name) && is_late(AT_FDCWD, name);
}

static int stat_of(int folder, const char* name, struct stat* out, int flags) {
  if (folder == AT_FDCWD && hides(name)) {
    errno = ENOENT;
    return -1;
  }
  return syscall(SYS_newfstatat, folder, name, out, flags) == 0 ? 0 : -1;
}

EXPORT int stat(const char* name, struct stat* out) {
  return stat_of(AT_FDCWD, name, out, 0);
}

EXPORT int lstat(const char* name, struct stat* out) {
  return stat_of(AT_FDCWD, name, out, AT_SYMLINK_NOFOLLOW);
}

EXPORT int fstatat(int folder, const char* name, struct stat* out, int flags) {
  return stat_of(folder, name, out, flags);
}

EXPORT struct dirent* readdir(DIR* listing) {
  static struct dirent* (*next)(DIR*);
  if (next == NULL) {
    *(void**)&next = dlsym(RTLD_NEXT, "readdir");
  }
  char link[64];
  char folder[kPath];
  snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd(listing));
  const ssize_t length = readlink(link, folder, sizeof folder - 1);
  folder[length > 0 ? length : 0] = '\0';
  struct dirent* entry = next(listing);
  while (entry != NULL && counts(folder) && is_late(dirfd(listing), entry->d_name)) {
    entry = next(listing);
  }
  return entry;
}

EXPORT struct dirent64* readdir64(DIR* listing) {
  return (struct dirent64*)readdir(listing); /* the same on machines of 64 bits */
}

static int opened(int folder, const char* name, int flags, int mode) {
  const int descriptor = (int)syscall(SYS_openat, folder, name, flags, mode);
  if (descriptor >= 0 && (flags & O_CREAT) != 0) {
    made(folder, name);
  }
  return descriptor;
}

static int mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(arguments, int) : 0;
}

#define OPEN(function)                                    \
  EXPORT int function(const char* name, int flags, ...) { \
    va_list arguments;                                    \
    va_start(arguments, flags);                           \
    const int mode = mode_of(flags, arguments);           \
    va_end(arguments);                                    \
    return opened(AT_FDCWD, name, flags, mode);           \
  }
OPEN(open)
OPEN(open64)
