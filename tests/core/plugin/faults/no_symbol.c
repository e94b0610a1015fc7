/* A shared library that is no plugin. */
int fault_no_symbol(void);
int fault_no_symbol(void) {
  return 1;
}
