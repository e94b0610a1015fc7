// Preloaded into `quench watch` by its tests: the calls by which it yields to a training succeed
// and do nothing. At the lowest priority, seconds of work take minutes beside other tests. One
// scene runs without this and looks at the priority.
#include <sched.h>
#include <sys/resource.h>

int setpriority(__priority_which_t which, id_t who, int priority) {
  (void)which, (void)who, (void)priority;
  return 0;
}

int sched_setscheduler(pid_t process, int policy, const struct sched_param* parameters) {
  (void)process, (void)policy, (void)parameters;
  return 0;
}
