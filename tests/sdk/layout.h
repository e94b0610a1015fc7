/* The layout of the ABI's structs on a 64-bit machine, held by whoever compiles this, C or C++. */
#ifndef QUENCH_TESTS_SDK_LAYOUT_H
#define QUENCH_TESTS_SDK_LAYOUT_H

#include <assert.h>
#include <stddef.h>

#include "quench/abi/extension/averaging_sums.h"
#include "quench/abi/extension/block.h"
#include "quench/abi/extension/closure.h"
#include "quench/abi/extension/device_memory.h"
#include "quench/abi/extension/gradients.h"
#include "quench/abi/extension/group_weights.h"
#include "quench/abi/extension/head.h"
#include "quench/abi/extension/initialize.h"
#include "quench/abi/extension/journal.h"
#include "quench/abi/extension/metric_fits.h"
#include "quench/abi/extension/metric_memory.h"
#include "quench/abi/extension/modules.h"
#include "quench/abi/extension/pads.h"
#include "quench/abi/extension/product_rate.h"
#include "quench/abi/extension/quantizer_memory.h"
#include "quench/abi/extension/records.h"
#include "quench/abi/extension/residual.h"
#include "quench/abi/extension/shapes.h"
#include "quench/abi/extension/shared_weights.h"
#include "quench/abi/extension/token_wise.h"
#include "quench/abi/extension/vectors.h"
#include "quench/abi/kind/averaging.h"
#include "quench/abi/kind/corpus.h"
#include "quench/abi/kind/format.h"
#include "quench/abi/kind/metric.h"
#include "quench/abi/kind/model.h"
#include "quench/abi/kind/optimizer.h"
#include "quench/abi/kind/quantizer.h"
#include "quench/abi/kind/tokenizer.h"
#include "quench/abi/kind/transform.h"
#include "quench/abi/module.h"

#define AT(type, field, bytes) \
  static_assert(offsetof(type, field) == (bytes), #type "." #field " has moved")
#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type " has another size")
#define BEGINS_WITH_ITS_SIZE(type) AT(type, struct_size, 0)

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

BEGINS_WITH_ITS_SIZE(quench_error);
BEGINS_WITH_ITS_SIZE(quench_host);
BEGINS_WITH_ITS_SIZE(quench_log);
BEGINS_WITH_ITS_SIZE(quench_progress);
BEGINS_WITH_ITS_SIZE(quench_cancel);
BEGINS_WITH_ITS_SIZE(quench_memory);
BEGINS_WITH_ITS_SIZE(quench_random);
BEGINS_WITH_ITS_SIZE(quench_tasks);
BEGINS_WITH_ITS_SIZE(quench_processor);
BEGINS_WITH_ITS_SIZE(quench_json);
BEGINS_WITH_ITS_SIZE(quench_parameter);
BEGINS_WITH_ITS_SIZE(quench_tensor_info);
BEGINS_WITH_ITS_SIZE(quench_source);
BEGINS_WITH_ITS_SIZE(quench_item);
BEGINS_WITH_ITS_SIZE(quench_module);
BEGINS_WITH_ITS_SIZE(quench_model_info);
BEGINS_WITH_ITS_SIZE(quench_parameter_info);
BEGINS_WITH_ITS_SIZE(quench_linear_info);
BEGINS_WITH_ITS_SIZE(quench_scale_site);
BEGINS_WITH_ITS_SIZE(quench_group_info);
BEGINS_WITH_ITS_SIZE(quench_carry_info);
BEGINS_WITH_ITS_SIZE(quench_block_info);
BEGINS_WITH_ITS_SIZE(quench_model_open_args);
BEGINS_WITH_ITS_SIZE(quench_batch);
BEGINS_WITH_ITS_SIZE(quench_embed_args);
BEGINS_WITH_ITS_SIZE(quench_stage_args);
BEGINS_WITH_ITS_SIZE(quench_head_args);
BEGINS_WITH_ITS_SIZE(quench_linear_op);
BEGINS_WITH_ITS_SIZE(quench_model_table);
BEGINS_WITH_ITS_SIZE(quench_group_args);
BEGINS_WITH_ITS_SIZE(quench_observe_args);
BEGINS_WITH_ITS_SIZE(quench_quantize_sink);
BEGINS_WITH_ITS_SIZE(quench_quantize_args);
BEGINS_WITH_ITS_SIZE(quench_quantizer_table);
BEGINS_WITH_ITS_SIZE(quench_quantizer_gram);
BEGINS_WITH_ITS_SIZE(quench_quantizer_shared_state);
BEGINS_WITH_ITS_SIZE(quench_model_head_rows);
BEGINS_WITH_ITS_SIZE(quench_averaging_member);
BEGINS_WITH_ITS_SIZE(quench_averaging_table);
BEGINS_WITH_ITS_SIZE(quench_averaging_search);
BEGINS_WITH_ITS_SIZE(quench_averaging_sums);
BEGINS_WITH_ITS_SIZE(quench_closure);
BEGINS_WITH_ITS_SIZE(quench_closure_args);
BEGINS_WITH_ITS_SIZE(quench_tokens);
BEGINS_WITH_ITS_SIZE(quench_score_args);
BEGINS_WITH_ITS_SIZE(quench_subject);
BEGINS_WITH_ITS_SIZE(quench_metric_sink);
BEGINS_WITH_ITS_SIZE(quench_evaluate_args);
BEGINS_WITH_ITS_SIZE(quench_metric_table);
BEGINS_WITH_ITS_SIZE(quench_document);
BEGINS_WITH_ITS_SIZE(quench_corpus_table);
BEGINS_WITH_ITS_SIZE(quench_place);
BEGINS_WITH_ITS_SIZE(quench_checkpoint_contents);
BEGINS_WITH_ITS_SIZE(quench_checkpoint_entry);
BEGINS_WITH_ITS_SIZE(quench_code_scheme);
BEGINS_WITH_ITS_SIZE(quench_coded_linear);
BEGINS_WITH_ITS_SIZE(quench_stored_linear);
BEGINS_WITH_ITS_SIZE(quench_float_linears);
BEGINS_WITH_ITS_SIZE(quench_format_sink);
BEGINS_WITH_ITS_SIZE(quench_format_table);
BEGINS_WITH_ITS_SIZE(quench_file_head);
BEGINS_WITH_ITS_SIZE(quench_text_batch);
AT(quench_text_batch, offsets, 24);
BEGINS_WITH_ITS_SIZE(quench_id_sink);
BEGINS_WITH_ITS_SIZE(quench_tokenizer_table);
BEGINS_WITH_ITS_SIZE(quench_step_args);
BEGINS_WITH_ITS_SIZE(quench_state_info);
BEGINS_WITH_ITS_SIZE(quench_optimizer_closure);
BEGINS_WITH_ITS_SIZE(quench_optimizer_table);
BEGINS_WITH_ITS_SIZE(quench_replay_args);
BEGINS_WITH_ITS_SIZE(quench_block_service);
BEGINS_WITH_ITS_SIZE(quench_replay_place);
BEGINS_WITH_ITS_SIZE(quench_overlay);
BEGINS_WITH_ITS_SIZE(quench_replay_gradient_args);
BEGINS_WITH_ITS_SIZE(quench_model_editor);
BEGINS_WITH_ITS_SIZE(quench_transform_table);
BEGINS_WITH_ITS_SIZE(quench_quantizer_plan);
BEGINS_WITH_ITS_SIZE(quench_residual_norm);
BEGINS_WITH_ITS_SIZE(quench_residual_writer);
BEGINS_WITH_ITS_SIZE(quench_residual_info);
BEGINS_WITH_ITS_SIZE(quench_model_residual);
BEGINS_WITH_ITS_SIZE(quench_group_weights_args);
BEGINS_WITH_ITS_SIZE(quench_quantizer_group_weights);
AT(quench_overlay, value, 16);
AT(quench_replay_args, overlays, 24);
BEGINS_WITH_ITS_SIZE(quench_loss_args);
BEGINS_WITH_ITS_SIZE(quench_model_gradient);
BEGINS_WITH_ITS_SIZE(quench_model_curvature);
BEGINS_WITH_ITS_SIZE(quench_tokenizer);
BEGINS_WITH_ITS_SIZE(quench_weights);
BEGINS_WITH_ITS_SIZE(quench_journal);
BEGINS_WITH_ITS_SIZE(quench_model_device_memory);
BEGINS_WITH_ITS_SIZE(quench_model_product_rate);
BEGINS_WITH_ITS_SIZE(quench_model_shared_weights);
BEGINS_WITH_ITS_SIZE(quench_model_token_wise);
BEGINS_WITH_ITS_SIZE(quench_model_vectors);
BEGINS_WITH_ITS_SIZE(quench_model_pads);
BEGINS_WITH_ITS_SIZE(quench_metric_fits);
BEGINS_WITH_ITS_SIZE(quench_metric_memory);
BEGINS_WITH_ITS_SIZE(quench_group_memory_args);
BEGINS_WITH_ITS_SIZE(quench_group_memory);
BEGINS_WITH_ITS_SIZE(quench_quantizer_memory);
BEGINS_WITH_ITS_SIZE(quench_quantizer_modules);
BEGINS_WITH_ITS_SIZE(quench_record_host);
BEGINS_WITH_ITS_SIZE(quench_metric_records);
BEGINS_WITH_ITS_SIZE(quench_group_weights_args);
BEGINS_WITH_ITS_SIZE(quench_quantizer_group_weights);

#undef AT
#undef SIZE
#undef BEGINS_WITH_ITS_SIZE
#endif
