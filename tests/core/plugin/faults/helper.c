/* A library that others need; built twice, under one soname, with different content. */
const char* fault_helper_name(void);
const char* fault_helper_name(void) {
  return FAULT_HELPER_NAME;
}
