/* Stands for libtorch's part for GPUs, which registers itself and needs another library. */
void fault_register_part(void);
const char* fault_helper_name(void);
__attribute__((constructor)) static void add(void) {
  (void)fault_helper_name();
  fault_register_part();
}
