/* One allocation or one call that reads fails, for a program that runs with
 * LD_PRELOAD=libquench_scarce.so.
 *
 *   QUENCH_SCARCE=memory        allocations count: malloc, calloc, realloc and the aligned ones
 *                 files         calls that look at files count: open for reading, opendir, readdir,
 *                               the stats, read, pread, mmap of a file
 *   QUENCH_SCARCE_FROM=NAME     they count from the first open of a path that ends so
 *   QUENCH_SCARCE_AT=N          the N-th of them fails
 *   QUENCH_SCARCE_ERROR=NUMBER  with this errno
 *   QUENCH_SCARCE_LOG=FILE      gets their number when the program ends
 *
 * Only what goes through libc's symbols is seen: what the dynamic linker and libc itself open and
 * allocate is not.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "open_wrappers.h"

extern void* __libc_malloc(size_t bytes);
extern void* __libc_calloc(size_t count, size_t bytes);
extern void* __libc_realloc(void* old, size_t bytes);
extern void* __libc_memalign(size_t alignment, size_t bytes);

static const char* from = "";
static int memory;
static int files;
static int error_number;
static long at;
static atomic_long counted;
static atomic_int started;

__attribute__((constructor)) static void start(void) {
  const char* what = getenv("QUENCH_SCARCE");
  const char* number = getenv("QUENCH_SCARCE_ERROR");
  const char* hit = getenv("QUENCH_SCARCE_AT");
  from = getenv("QUENCH_SCARCE_FROM") != NULL ? getenv("QUENCH_SCARCE_FROM") : "";
  memory = what != NULL && strcmp(what, "memory") == 0;
  files = what != NULL && strcmp(what, "files") == 0;
  error_number = number != NULL ? atoi(number) : ENOMEM;
  at = hit != NULL ? atol(hit) : 0;
  /* What this program starts is not hit as well. */
  unsetenv("LD_PRELOAD");
}

__attribute__((destructor)) static void end(void) {
  const char* log = getenv("QUENCH_SCARCE_LOG");
  char line[32];
  if (log != NULL && atomic_load(&started)) {
    const int descriptor =
        (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int length = snprintf(line, sizeof line, "%ld\n", atomic_load(&counted));
    if (syscall(SYS_write, descriptor, line, length) != length) {
      abort();
    }
    syscall(SYS_close, descriptor);
  }
}

static int fails(int kind) {
  if (!kind || !atomic_load(&started) || atomic_fetch_add(&counted, 1) + 1 != at) {
    return 0;
  }
  errno = error_number;
  return 1;
}

EXPORT void* malloc(size_t bytes) {
  return fails(memory) ? NULL : __libc_malloc(bytes);
}
EXPORT void* calloc(size_t count, size_t bytes) {
  return fails(memory) ? NULL : __libc_calloc(count, bytes);
}
EXPORT void* realloc(void* old, size_t bytes) {
  return fails(memory) ? NULL : __libc_realloc(old, bytes);
}
EXPORT void* memalign(size_t alignment, size_t bytes) {
  return fails(memory) ? NULL : __libc_memalign(alignment, bytes);
}
EXPORT void* aligned_alloc(size_t alignment, size_t bytes) {
  return fails(memory) ? NULL : __libc_memalign(alignment, bytes);
}
EXPORT int posix_memalign(void** out, size_t alignment, size_t bytes) {
  void* got = fails(memory) ? NULL : __libc_memalign(alignment, bytes);
  if (got == NULL) {
    return ENOMEM;
  }
  *out = got;
  return 0;
}

static void look_at(const char* path) {
  const size_t length = strlen(path);
  const size_t wanted = strlen(from);
  if (length >= wanted && strcmp(path + length - wanted, from) == 0) {
    atomic_store(&started, 1);
  }
}

static int wrapped_open(int folder, const char* path, int flags, mode_t mode) {
  look_at(path);
  return (flags & O_ACCMODE) == O_RDONLY && fails(files) ? -1
                                                         : really_open(folder, path, flags, mode);
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

EXPORT DIR* opendir(const char* path) {
  return fails(files) ? NULL : REAL(opendir)(path);
}
EXPORT struct dirent* readdir(DIR* folder) {
  return fails(files) ? NULL : REAL(readdir)(folder);
}
EXPORT struct dirent64* readdir64(DIR* folder) {
  return fails(files) ? NULL : REAL(readdir64)(folder);
}
EXPORT int stat(const char* path, struct stat* out) {
  return fails(files) ? -1 : REAL(stat)(path, out);
}
EXPORT int stat64(const char* path, struct stat64* out) {
  return fails(files) ? -1 : REAL(stat64)(path, out);
}
EXPORT int lstat(const char* path, struct stat* out) {
  return fails(files) ? -1 : REAL(lstat)(path, out);
}
EXPORT int lstat64(const char* path, struct stat64* out) {
  return fails(files) ? -1 : REAL(lstat64)(path, out);
}
EXPORT int fstat(int descriptor, struct stat* out) {
  return fails(files) ? -1 : REAL(fstat)(descriptor, out);
}
EXPORT int fstat64(int descriptor, struct stat64* out) {
  return fails(files) ? -1 : REAL(fstat64)(descriptor, out);
}
EXPORT int fstatat(int folder, const char* path, struct stat* out, int flags) {
  return fails(files) ? -1 : REAL(fstatat)(folder, path, out, flags);
}
EXPORT ssize_t read(int descriptor, void* to, size_t bytes) {
  return fails(files) ? -1 : syscall(SYS_read, descriptor, to, bytes);
}
EXPORT ssize_t pread(int descriptor, void* to, size_t bytes, off_t offset) {
  return fails(files) ? -1 : syscall(SYS_pread64, descriptor, to, bytes, offset);
}
EXPORT ssize_t pread64(int descriptor, void* to, size_t bytes, off_t offset) {
  return fails(files) ? -1 : syscall(SYS_pread64, descriptor, to, bytes, offset);
}

static void* mapped(void* where, size_t bytes, int protection, int flags, int descriptor,
                    off_t offset) {
  return (flags & MAP_ANONYMOUS) == 0 && fails(files)
             ? MAP_FAILED
             : (void*)syscall(SYS_mmap, where, bytes, protection, flags, descriptor, offset);
}

EXPORT void* mmap(void* where, size_t bytes, int protection, int flags, int descriptor,
                  off_t offset) {
  return mapped(where, bytes, protection, flags, descriptor, offset);
}
EXPORT void* mmap64(void* where, size_t bytes, int protection, int flags, int descriptor,
                    off_t offset) {
  return mapped(where, bytes, protection, flags, descriptor, offset);
}
