/* open, open64, openat and openat64 before libc's own, for a library that is preloaded: all of them
 * call wrapped_open(), which the file that includes this once defines. libc's symbols take the mode
 * as a further argument where a file may be made.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int wrapped_open(int folder, const char* path, int flags, mode_t mode);

/* The system's, whatever libc's symbols are. */
static int really_open(int folder, const char* path, int flags, mode_t mode) {
  return (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define MODE_OF(flags)                                              \
  mode_t mode = 0;                                                  \
  if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) { \
    va_list rest;                                                   \
    va_start(rest, flags);                                          \
    mode = va_arg(rest, mode_t);                                    \
    va_end(rest);                                                   \
  }

EXPORT int open(const char* path, int flags, ...) {
  MODE_OF(flags)
  return wrapped_open(AT_FDCWD, path, flags, mode);
}
EXPORT int open64(const char* path, int flags, ...) {
  MODE_OF(flags)
  return wrapped_open(AT_FDCWD, path, flags, mode);
}
EXPORT int openat(int folder, const char* path, int flags, ...) {
  MODE_OF(flags)
  return wrapped_open(folder, path, flags, mode);
}
EXPORT int openat64(int folder, const char* path, int flags, ...) {
  MODE_OF(flags)
  return wrapped_open(folder, path, flags, mode);
}
