/* Has no entry of its own, but needs a library that has one. */
const void* fault_borrowed(void);
const void* quench_module_v1(void);
const void* fault_borrowed(void) {
  return quench_module_v1();
}
