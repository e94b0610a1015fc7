// Whether the named mutant is switched on: QUENCH_MUTANT names it. Mutated sources ask.
#pragma once

bool quench_mutant(const char* name);
