/* Another file in place of an input, for a program that runs with LD_PRELOAD=libquench_swapped.so.
 *
 *   QUENCH_SWAP_FILE=FILE  the input; whatever name opens it for reading counts
 *   QUENCH_SWAP_LOG=LOG    gets a byte per such open, of all processes together: its size is the
 * count QUENCH_SWAP_AT=N       at the N-th such open (without it they are only counted)
 *   QUENCH_SWAP_BY=OTHER   this file, on the same file system, takes the input's place:
 *   QUENCH_SWAP_HOW=stays  it is renamed over the input before the open
 *                   returns  likewise, and the input gets its name back after the open
 *                   rots   this open and all later ones read OTHER, while size and times of the
 *                          input stay, as when a disk loses bits; a file that is put in its place
 *                          is another one
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "open_wrappers.h"

static const char* file;
static const char* by;
static const char* how = "";
static long at;
static int log_descriptor = -1;
static ino_t rotten; /* the input's number at the start; 0: whatever lies there */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void start(void) {
  const char* log = getenv("QUENCH_SWAP_LOG");
  file = getenv("QUENCH_SWAP_FILE");
  by = getenv("QUENCH_SWAP_BY");
  how = getenv("QUENCH_SWAP_HOW") != NULL ? getenv("QUENCH_SWAP_HOW") : "";
  at = getenv("QUENCH_SWAP_AT") != NULL ? atol(getenv("QUENCH_SWAP_AT")) : 0;
  if (log != NULL) {
    log_descriptor =
        (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  struct stat input;
  if (strcmp(how, "rots") == 0 && file != NULL && stat(file, &input) == 0) {
    rotten = input.st_ino;
  }
}

static int is_input(int folder, const char* path, int flags) {
  struct stat asked;
  struct stat input;
  return file != NULL && log_descriptor >= 0 && (flags & O_ACCMODE) == O_RDONLY &&
         (flags & (O_DIRECTORY | O_PATH)) == 0 && fstatat(folder, path, &asked, 0) == 0 &&
         stat(file, &input) == 0 && asked.st_dev == input.st_dev && asked.st_ino == input.st_ino &&
         (rotten == 0 || input.st_ino == rotten);
}

static long count(void) {
  struct stat log;
  return write(log_descriptor, ".", 1) == 1 && fstat(log_descriptor, &log) == 0 ? (long)log.st_size
                                                                                : 0;
}

static int wrapped_open(int folder, const char* path, int flags, mode_t mode) {
  if (!is_input(folder, path, flags)) {
    return really_open(folder, path, flags, mode);
  }
  pthread_mutex_lock(&lock);
  const long number = count();
  int out = -1;
  if (strcmp(how, "rots") == 0 && at > 0 && number >= at) {
    out = really_open(AT_FDCWD, by, flags, mode);
  } else if (number != at || by == NULL) {
    out = really_open(folder, path, flags, mode);
  } else if (strcmp(how, "stays") == 0) {
    rename(by, file);
    out = really_open(folder, path, flags, mode);
  } else {
    char aside[4096];
    snprintf(aside, sizeof aside, "%s.aside", by);
    rename(file, aside);
    rename(by, file);
    out = really_open(folder, path, flags, mode);
    rename(file, by);
    rename(aside, file);
  }
  pthread_mutex_unlock(&lock);
  return out;
}

static FILE* opened(const char* name, const char* path, const char* mode) {
  if (mode[0] == 'r' && strchr(mode, '+') == NULL && is_input(AT_FDCWD, path, O_RDONLY)) {
    const int descriptor = wrapped_open(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    return descriptor < 0 ? NULL : fdopen(descriptor, mode);
  }
  FILE* (*real)(const char*, const char*) =
      (FILE * (*)(const char*, const char*)) dlsym(RTLD_NEXT, name);
  return real(path, mode);
}

EXPORT FILE* fopen(const char* path, const char* mode) {
  return opened("fopen", path, mode);
}
EXPORT FILE* fopen64(const char* path, const char* mode) {
  return opened("fopen64", path, mode);
}
