/* A library that two plugins need, each in another build: one soname, two answers. */
double boundary_scale(void);
double boundary_scale(void) {
  return BOUNDARY_SCALE;
}
