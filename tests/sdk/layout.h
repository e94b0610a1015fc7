/* The layout of the ABI's structs on a 64-bit machine, held by whoever compiles this, C or C++. */
#ifndef QUENCH_TESTS_SDK_LAYOUT_H
#define QUENCH_TESTS_SDK_LAYOUT_H

#include <assert.h>
#include <stddef.h>

#include "struct_sizes.h"

#define AT(type, field, bytes) \
  static_assert(offsetof(type, field) == (bytes), #type "." #field " has moved")
#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type " has another size")

/* DLPack's DLTensor, DLDevice, DLDataType. */
SIZE(quench_device, 8);
AT(quench_device, index, 4);
SIZE(quench_dtype, 4);
AT(quench_dtype, bits, 1);
AT(quench_dtype, lanes, 2);
SIZE(quench_tensor, 48);
AT(quench_tensor, data, 0);
AT(quench_tensor, device, 8);
AT(quench_tensor, dimensions, 16);
AT(quench_tensor, dtype, 20);
AT(quench_tensor, shape, 24);
AT(quench_tensor, strides, 32);
AT(quench_tensor, byte_offset, 40);

/* What a host reads before it knows anything about a module. */
SIZE(quench_error, 512);
AT(quench_error, code, 4);
AT(quench_error, message, 8);
SIZE(quench_host, 32);
AT(quench_host, service, 24);
SIZE(quench_module, 72);
AT(quench_module, abi_major, 4);
AT(quench_module, abi_minor, 8);
AT(quench_module, min_host_minor, 12);
AT(quench_module, id, 16);
AT(quench_module, init, 40);
AT(quench_module, items, 64);
SIZE(quench_item, 96);
AT(quench_item, kind, 8);
AT(quench_item, id, 16);
AT(quench_item, parameters, 64);
AT(quench_item, table, 72);
AT(quench_item, presets_json, 80);
AT(quench_item, model_types, 88);
SIZE(quench_parameter, 56);
AT(quench_parameter, type, 4);
AT(quench_parameter, minimum, 24);
AT(quench_parameter, meaning, 48);

/* Arrays and views within. */
AT(quench_text_batch, offsets, 24);
AT(quench_overlay, value, 16);
AT(quench_replay_args, overlays, 24);

#undef AT
#undef SIZE
#endif
