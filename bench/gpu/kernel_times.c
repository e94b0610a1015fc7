// Times on a GPU of a process that knows nothing of it: kernels by name, copies and fills, as CUPTI
// records them.
//
// The CUDA driver loads the library that CUDA_INJECTION64_PATH names when it starts, and calls
// InitializeInjection. That is how NVIDIA's own profilers begin; so quench and PyTorch are measured
// alike, and neither is built for it. At the end of the process
// QUENCH_KERNEL_TIMES/kernels-PID.json has the sums. It is written in the order of first
// appearance; measure sorts it.
#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBuffer = 8 << 20, kNames = 1 << 14 };

typedef struct Row {
  char* name;
  uint64_t count, nanoseconds, bytes;
} Row;

static struct Cupti {
  CUptiResult (*callbacks)(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc);
  CUptiResult (*enable)(CUpti_ActivityKind);
  CUptiResult (*next)(uint8_t*, size_t, CUpti_Activity**);
  CUptiResult (*flush)(uint32_t);
  CUptiResult (*dropped)(CUcontext, uint32_t, size_t*);
} cupti;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Row rows[kNames];
static size_t used;
static uint64_t first = UINT64_MAX, last, busy, covered, lost;
static char problem[256];

static uint64_t hash_of(const char* text) {
  uint64_t hash = 14695981039346656037u;
  for (; *text != '\0'; ++text) {
    hash = (hash ^ (unsigned char)*text) * 1099511628211u;
  }
  return hash;
}

static Row* row_of(const char* name) {
  for (uint64_t at = hash_of(name);; ++at) {
    Row* row = &rows[at % kNames];
    if (row->name == NULL && used + 1 < kNames && (row->name = strdup(name)) != NULL) {
      ++used;
      return row;
    }
    if (row->name == NULL) {
      return NULL;  // the table is full: counted as lost
    }
    if (strcmp(row->name, name) == 0) {
      return row;
    }
  }
}

// Busy is the time in which something ran, with what overlaps counted once. CUPTI hands records
// over nearly in the order of their ends, so of two streams a little may be counted twice or not at
// all.
static void add(const char* name, uint64_t start, uint64_t end, uint64_t bytes) {
  Row* row = row_of(name);
  if (row == NULL) {
    ++lost;
    return;
  }
  ++row->count;
  row->nanoseconds += end - start;
  row->bytes += bytes;
  first = start < first ? start : first;
  last = end > last ? end : last;
  if (end > covered) {
    busy += end - (start > covered ? start : covered);
    covered = end;
  }
}

static const char* copy_name(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "copy device to device";
    default:
      return "copy, other";
  }
}

static void add_record(const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const CUpti_ActivityKernel10* kernel = (const CUpti_ActivityKernel10*)record;
      add(kernel->name != NULL ? kernel->name : "unnamed", kernel->start, kernel->end, 0);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const CUpti_ActivityMemcpy6* copy = (const CUpti_ActivityMemcpy6*)record;
      add(copy_name(copy->copyKind), copy->start, copy->end, copy->bytes);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const CUpti_ActivityMemset4* fill = (const CUpti_ActivityMemset4*)record;
      add("fill", fill->start, fill->end, fill->bytes);
      break;
    }
    default:
      break;
  }
}

static void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* most) {
  *buffer = aligned_alloc(8, kBuffer);
  *size = *buffer != NULL ? kBuffer : 0;
  *most = 0;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size,
                                 size_t valid) {
  (void)size;
  pthread_mutex_lock(&lock);
  CUpti_Activity* record = NULL;
  while (cupti.next(buffer, valid, &record) == CUPTI_SUCCESS) {
    add_record(record);
  }
  size_t dropped = 0;
  if (cupti.dropped(context, stream, &dropped) == CUPTI_SUCCESS) {
    lost += dropped;
  }
  pthread_mutex_unlock(&lock);
  free(buffer);
}

static void write_text(FILE* out, const char* text) {
  fputc('"', out);
  for (; *text != '\0'; ++text) {
    if ((unsigned char)*text < 0x20) {
      fprintf(out, "\\u%04x", (unsigned)*text);
    } else {
      if (*text == '"' || *text == '\\') {
        fputc('\\', out);
      }
      fputc(*text, out);
    }
  }
  fputc('"', out);
}

static void write_rows(FILE* out) {
  fprintf(out, "{\"problem\": ");
  write_text(out, problem);
  fprintf(out, ", \"span_ns\": %llu, \"busy_ns\": %llu, \"lost\": %llu, \"rows\": [",
          last > first ? (unsigned long long)(last - first) : 0ull, (unsigned long long)busy,
          (unsigned long long)lost);
  const char* between = "";
  for (size_t i = 0; i < kNames; ++i) {
    if (rows[i].name != NULL) {
      fprintf(out, "%s\n {\"name\": ", between);
      write_text(out, rows[i].name);
      fprintf(out, ", \"count\": %llu, \"ns\": %llu, \"bytes\": %llu}",
              (unsigned long long)rows[i].count, (unsigned long long)rows[i].nanoseconds,
              (unsigned long long)rows[i].bytes);
      between = ",";
    }
  }
  fprintf(out, "]}\n");
}

static void at_end(void) {
  if (cupti.flush != NULL) {
    cupti.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  }
  const char* folder = getenv("QUENCH_KERNEL_TIMES");
  char made[4096], name[4096];
  const int fits = snprintf(name, sizeof name, "%s/kernels-%d.json", folder != NULL ? folder : ".",
                            (int)getpid());
  if (fits < 0 || fits >= (int)sizeof name - 8) {
    return;
  }
  snprintf(made, sizeof made, "%.4000s.part", name);
  FILE* out = fopen(made, "w");
  if (out == NULL) {
    return;
  }
  pthread_mutex_lock(&lock);
  write_rows(out);
  pthread_mutex_unlock(&lock);
  if (fclose(out) == 0) {
    rename(made, name);
  }
}

static void* symbol(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == NULL && problem[0] == '\0') {
    snprintf(problem, sizeof problem, "libcupti has no %s", name);
  }
  return found;
}

// The name is dictated by the driver. 1: it may go on; a process that cannot be measured still
// runs.
__attribute__((visibility("default"))) int InitializeInjection(void) {
  const char* named = getenv("QUENCH_CUPTI");
  void* library = dlopen(named != NULL ? named : "libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  atexit(at_end);
  if (library == NULL) {
    snprintf(problem, sizeof problem, "%s", dlerror());
    return 1;
  }
  *(void**)&cupti.callbacks = symbol(library, "cuptiActivityRegisterCallbacks");
  *(void**)&cupti.enable = symbol(library, "cuptiActivityEnable");
  *(void**)&cupti.next = symbol(library, "cuptiActivityGetNextRecord");
  *(void**)&cupti.dropped = symbol(library, "cuptiActivityGetNumDroppedRecords");
  *(void**)&cupti.flush = symbol(library, "cuptiActivityFlushAll");
  if (problem[0] != '\0') {
    cupti.flush = NULL;
    return 1;
  }
  CUptiResult result = cupti.callbacks(give_buffer, take_buffer);
  const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                      CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
  for (size_t i = 0; result == CUPTI_SUCCESS && i < sizeof kinds / sizeof *kinds; ++i) {
    result = cupti.enable(kinds[i]);
  }
  if (result != CUPTI_SUCCESS) {
    snprintf(problem, sizeof problem, "CUPTI error %d when recording began", (int)result);
  }
  return 1;
}
