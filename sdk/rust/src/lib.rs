// Made from quench/abi by sdk/make_rust.py: docs/abi-reference.md says what each function does.
#![no_std]
#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_void, CStr};
use core::mem::{offset_of, size_of};

pub type quench_status = i32;
pub const QUENCH_ABI_MAJOR: u32 = 1;
pub const QUENCH_ABI_MINOR: u32 = 1;
pub const QUENCH_SERVICE_BLOCK: &CStr = c"quench.block/1";
pub const QUENCH_MODEL_DEVICE_MEMORY: &CStr = c"quench.model.device_memory/1";
pub const QUENCH_PIN_READ_ONLY: u32 = 1;
pub const QUENCH_LOSS_AUTOCAST_BFLOAT16: u32 = 1;
pub const QUENCH_MODEL_GRADIENT: &CStr = c"quench.model.grad/1";
pub const QUENCH_CURVATURE_HESSIAN: i32 = 0;
pub const QUENCH_CURVATURE_GAUSS_NEWTON: i32 = 1;
pub const QUENCH_CURVATURE_FORWARD: i32 = 2;
pub const QUENCH_MODEL_CURVATURE: &CStr = c"quench.model.hvp/1";
pub const QUENCH_MODEL_VECTORS: &CStr = c"quench.model.vectors/1";
pub const QUENCH_MODEL_SHARED_WEIGHTS: &CStr = c"quench.model.shared_weights/1";
pub const QUENCH_SERVICE_INPUT: &CStr = c"quench.input/1";
pub const QUENCH_INPUT_VARIABLE: u32 = 1;
pub const QUENCH_INPUT_OF_MODULE: u32 = 2;
pub const QUENCH_SERVICE_LOG: &CStr = c"quench.log/1";
pub const QUENCH_LOG_DEBUG: i32 = 0;
pub const QUENCH_LOG_INFO: i32 = 1;
pub const QUENCH_LOG_WARNING: i32 = 2;
pub const QUENCH_LOG_ERROR: i32 = 3;
pub const QUENCH_SERVICE_PROGRESS: &CStr = c"quench.progress/1";
pub const QUENCH_SERVICE_CANCEL: &CStr = c"quench.cancel/1";
pub const QUENCH_SERVICE_MEMORY: &CStr = c"quench.memory/1";
pub const QUENCH_SERVICE_RANDOM: &CStr = c"quench.random/1";
pub const QUENCH_SERVICE_TASKS: &CStr = c"quench.tasks/1";
pub const QUENCH_SERVICE_PROCESSOR: &CStr = c"quench.processor/1";
pub const QUENCH_INSTRUCTIONS_PORTABLE: i32 = 0;
pub const QUENCH_INSTRUCTIONS_AVX2: i32 = 1;
pub const QUENCH_INSTRUCTIONS_AVX512: i32 = 2;
pub const QUENCH_INSTRUCTIONS_AVX512_BF16: i32 = 3;
pub const QUENCH_SERVICE_JSON: &CStr = c"quench.json/2";
pub const QUENCH_JSON_ABSENT: i32 = 0;
pub const QUENCH_JSON_NULL: i32 = 1;
pub const QUENCH_JSON_BOOLEAN: i32 = 2;
pub const QUENCH_JSON_INTEGER: i32 = 3;
pub const QUENCH_JSON_NUMBER: i32 = 4;
pub const QUENCH_JSON_STRING: i32 = 5;
pub const QUENCH_JSON_ARRAY: i32 = 6;
pub const QUENCH_JSON_OBJECT: i32 = 7;
pub const QUENCH_SERVICE_JOURNAL: &CStr = c"quench.journal/1";
pub const QUENCH_KIND_AVERAGING: &CStr = c"averaging";
pub const QUENCH_AVERAGING_CHUNK: u32 = 1048576;
pub const QUENCH_AVERAGING_ANY_ORDER: u32 = 1;
pub const QUENCH_KIND_CORPUS: &CStr = c"corpus";
pub const QUENCH_KIND_FORMAT: &CStr = c"format";
pub const QUENCH_SCALES_FLOAT: i32 = 0;
pub const QUENCH_SCALES_POWERS_OF_TWO: i32 = 1;
pub const QUENCH_FORMAT_READS: u32 = 1;
pub const QUENCH_FORMAT_WRITES: u32 = 2;
pub const QUENCH_FORMAT_LISTS: u32 = 4;
pub const QUENCH_KIND_METRIC: &CStr = c"metric";
pub const QUENCH_LOWER_IS_BETTER: i32 = -1;
pub const QUENCH_NO_DIRECTION: i32 = 0;
pub const QUENCH_HIGHER_IS_BETTER: i32 = 1;
pub const QUENCH_METRIC_NEEDS_FLOAT: u32 = 1;
pub const QUENCH_METRIC_NEEDS_TRAJECTORY: u32 = 2;
pub const QUENCH_METRIC_NEEDS_TOKENIZER: u32 = 4;
pub const QUENCH_METRIC_VECTORS_ON_DEVICE: u32 = 1;
pub const QUENCH_KIND_MODEL: &CStr = c"model";
pub const QUENCH_ROLE_MATRIX: i32 = 1;
pub const QUENCH_ROLE_EMBEDDING: i32 = 2;
pub const QUENCH_ROLE_HEAD: i32 = 3;
pub const QUENCH_ROLE_NORM: i32 = 4;
pub const QUENCH_ROLE_BIAS: i32 = 5;
pub const QUENCH_ROLE_OTHER: i32 = 6;
pub const QUENCH_LINEAR_HAS_BIAS: u32 = 1;
pub const QUENCH_NORM_ROOT_MEAN_SQUARE: i32 = 1;
pub const QUENCH_NORM_CENTERED: i32 = 2;
pub const QUENCH_OPEN_INITIALIZE: u32 = 1;
pub const QUENCH_OPEN_SHAPES: u32 = 2;
pub const QUENCH_SEGMENT_ATTENDING_PADDING: i32 = -2;
pub const QUENCH_MODEL_TAKES_ATTENDING_PADDING: u32 = 1;
pub const QUENCH_KIND_OPTIMIZER: &CStr = c"optimizer";
pub const QUENCH_KIND_QUANTIZER: &CStr = c"quantizer";
pub const QUENCH_NEEDS_ROWS: u32 = 1;
pub const QUENCH_USES_ROWS: u32 = 2;
pub const QUENCH_NEEDS_FLOAT_STREAM: u32 = 4;
pub const QUENCH_NEEDS_SEQUENTIAL: u32 = 8;
pub const QUENCH_NEEDS_BLOCK_REPLAY: u32 = 32;
pub const QUENCH_MAKES_LINEAR_OP: u32 = 64;
pub const QUENCH_NEEDS_BLOCK_ROWS: u32 = 128;
pub const QUENCH_NEEDS_FLOAT_ROWS: u32 = 256;
pub const QUENCH_QUANTIZES_HEAD: u32 = 512;
pub const QUENCH_QUANTIZES_EMBEDDING: u32 = 1024;
pub const QUENCH_TAKES_DEVICE_WEIGHTS: u32 = 2048;
pub const QUENCH_MAKES_CACHE_OP: u32 = 4096;
pub const QUENCH_QUANTIZE_WITHOUT_CODES: u32 = 1;
pub const QUENCH_GROUP_ON_DEVICE: u32 = 1;
pub const QUENCH_QUANTIZER_RULES: &CStr = c"modules";
pub const QUENCH_KIND_TOKENIZER: &CStr = c"tokenizer";
pub const QUENCH_TOKENIZER_BY_NAME: i32 = 100;
pub const QUENCH_ENCODE_ADD_SPECIAL: u32 = 1;
pub const QUENCH_KIND_TRANSFORM: &CStr = c"transform";
pub const QUENCH_TRANSFORM_NEEDS_ROWS: u32 = 1;
pub const QUENCH_ENTRY_SYMBOL: &CStr = c"quench_module_v1";
pub const QUENCH_PARAMETER_INTEGER: i32 = 1;
pub const QUENCH_PARAMETER_NUMBER: i32 = 2;
pub const QUENCH_PARAMETER_BOOLEAN: i32 = 3;
pub const QUENCH_PARAMETER_STRING: i32 = 4;
pub const QUENCH_PARAMETER_CHOICE: i32 = 5;
pub const QUENCH_PARAMETER_INTEGER_LIST: i32 = 6;
pub const QUENCH_PARAMETER_NUMBER_LIST: i32 = 7;
pub const QUENCH_PARAMETER_STRING_LIST: i32 = 8;
pub const QUENCH_PARAMETER_CORPUS: i32 = 9;
pub const QUENCH_PARAMETER_PATH: i32 = 10;
pub const QUENCH_OK: i32 = 0;
pub const QUENCH_INVALID_ARGUMENT: i32 = 1;
pub const QUENCH_FAILED_PRECONDITION: i32 = 2;
pub const QUENCH_NOT_FOUND: i32 = 3;
pub const QUENCH_UNSUPPORTED: i32 = 4;
pub const QUENCH_RESOURCE_EXHAUSTED: i32 = 5;
pub const QUENCH_DATA_LOSS: i32 = 6;
pub const QUENCH_NUMERICAL: i32 = 7;
pub const QUENCH_CANCELLED: i32 = 8;
pub const QUENCH_INTERNAL: i32 = 9;
pub const QUENCH_END: i32 = 10;
pub const QUENCH_UNAVAILABLE: i32 = 11;
pub const QUENCH_DEVICE_CPU: i32 = 1;
pub const QUENCH_DEVICE_CUDA: i32 = 2;
pub const QUENCH_DTYPE_INT: i32 = 0;
pub const QUENCH_DTYPE_UINT: i32 = 1;
pub const QUENCH_DTYPE_FLOAT: i32 = 2;
pub const QUENCH_DTYPE_BFLOAT: i32 = 4;
pub const QUENCH_DTYPE_BOOL: i32 = 6;
pub const QUENCH_MAX_DIMENSIONS: i32 = 8;

#[repr(C)]
pub struct quench_curvature {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_json_document {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_json_value {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_averaging {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_corpus {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_checkpoint {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_format_writer {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_metric {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_model {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_optimizer {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_quantizer {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_quantizer_state {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_encoder {
    _private: [u8; 0],
}

#[repr(C)]
pub struct quench_transform {
    _private: [u8; 0],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_replay_place {
    pub struct_size: u32,
    pub block: u32,
    pub stage: u32,
    pub stages: u32,
    pub batches: u64,
    pub info: *const quench_block_info,
}
const _: () = assert!(size_of::<quench_replay_place>() == 32);
const _: () = assert!(offset_of!(quench_replay_place, struct_size) == 0);
const _: () = assert!(offset_of!(quench_replay_place, block) == 4);
const _: () = assert!(offset_of!(quench_replay_place, stage) == 8);
const _: () = assert!(offset_of!(quench_replay_place, stages) == 12);
const _: () = assert!(offset_of!(quench_replay_place, batches) == 16);
const _: () = assert!(offset_of!(quench_replay_place, info) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_overlay {
    pub struct_size: u32,
    pub flags: u32,
    pub parameter: *const c_char,
    pub value: quench_tensor,
}
const _: () = assert!(size_of::<quench_overlay>() == 64);
const _: () = assert!(offset_of!(quench_overlay, struct_size) == 0);
const _: () = assert!(offset_of!(quench_overlay, flags) == 4);
const _: () = assert!(offset_of!(quench_overlay, parameter) == 8);
const _: () = assert!(offset_of!(quench_overlay, value) == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_replay_args {
    pub struct_size: u32,
    pub flags: u32,
    pub batch: u64,
    pub to_stage: u32,
    pub overlay_count: u32,
    pub overlays: *const quench_overlay,
    pub stream: *mut c_void,
}
const _: () = assert!(size_of::<quench_replay_args>() == 40);
const _: () = assert!(offset_of!(quench_replay_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_replay_args, flags) == 4);
const _: () = assert!(offset_of!(quench_replay_args, batch) == 8);
const _: () = assert!(offset_of!(quench_replay_args, to_stage) == 16);
const _: () = assert!(offset_of!(quench_replay_args, overlay_count) == 20);
const _: () = assert!(offset_of!(quench_replay_args, overlays) == 24);
const _: () = assert!(offset_of!(quench_replay_args, stream) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_replay_gradient_args {
    pub struct_size: u32,
    pub flags: u32,
    pub batch: u64,
    pub overlay_count: u32,
    pub weight_count: u32,
    pub overlays: *const quench_overlay,
    pub target: *const quench_tensor,
    pub slope: *const quench_tensor,
    pub weight: f64,
    pub names: *const *const c_char,
    pub gradients: *const quench_tensor,
    pub stream: *mut c_void,
}
const _: () = assert!(size_of::<quench_replay_gradient_args>() == 80);
const _: () = assert!(offset_of!(quench_replay_gradient_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_replay_gradient_args, flags) == 4);
const _: () = assert!(offset_of!(quench_replay_gradient_args, batch) == 8);
const _: () = assert!(offset_of!(quench_replay_gradient_args, overlay_count) == 16);
const _: () = assert!(offset_of!(quench_replay_gradient_args, weight_count) == 20);
const _: () = assert!(offset_of!(quench_replay_gradient_args, overlays) == 24);
const _: () = assert!(offset_of!(quench_replay_gradient_args, target) == 32);
const _: () = assert!(offset_of!(quench_replay_gradient_args, slope) == 40);
const _: () = assert!(offset_of!(quench_replay_gradient_args, weight) == 48);
const _: () = assert!(offset_of!(quench_replay_gradient_args, names) == 56);
const _: () = assert!(offset_of!(quench_replay_gradient_args, gradients) == 64);
const _: () = assert!(offset_of!(quench_replay_gradient_args, stream) == 72);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_block_service {
    pub struct_size: u32,
    pub place: Option<unsafe extern "C" fn(*const quench_host, *mut quench_replay_place, *mut quench_error) -> quench_status>,
    pub replay: Option<unsafe extern "C" fn(*const quench_host, *const quench_replay_args, *mut *const quench_tensor, *mut u32, *mut quench_error) -> quench_status>,
    pub weight: Option<unsafe extern "C" fn(*const quench_host, *const c_char, *const quench_tensor, *mut quench_error) -> quench_status>,
    pub gradient: Option<unsafe extern "C" fn(*const quench_host, *const quench_replay_gradient_args, *mut f64, *mut quench_error) -> quench_status>,
    pub float_output: Option<unsafe extern "C" fn(*const quench_host, u64, *mut *const quench_tensor, *mut u32, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_block_service>() == 48);
const _: () = assert!(offset_of!(quench_block_service, struct_size) == 0);
const _: () = assert!(offset_of!(quench_block_service, place) == 8);
const _: () = assert!(offset_of!(quench_block_service, replay) == 16);
const _: () = assert!(offset_of!(quench_block_service, weight) == 24);
const _: () = assert!(offset_of!(quench_block_service, gradient) == 32);
const _: () = assert!(offset_of!(quench_block_service, float_output) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_model_device_memory {
    pub struct_size: u32,
    pub available: Option<unsafe extern "C" fn(*mut quench_model, *mut u64, *mut u64, *mut quench_error) -> quench_status>,
    pub allocate_host: Option<unsafe extern "C" fn(*mut quench_model, u64, *mut *mut c_void, *mut quench_error) -> quench_status>,
    pub release_host: Option<unsafe extern "C" fn(*mut quench_model, *mut c_void)>,
    pub pin_host: Option<unsafe extern "C" fn(*mut quench_model, *mut c_void, u64, u32, *mut quench_error) -> quench_status>,
    pub unpin_host: Option<unsafe extern "C" fn(*mut quench_model, *mut c_void)>,
}
const _: () = assert!(size_of::<quench_model_device_memory>() == 48);
const _: () = assert!(offset_of!(quench_model_device_memory, struct_size) == 0);
const _: () = assert!(offset_of!(quench_model_device_memory, available) == 8);
const _: () = assert!(offset_of!(quench_model_device_memory, allocate_host) == 16);
const _: () = assert!(offset_of!(quench_model_device_memory, release_host) == 24);
const _: () = assert!(offset_of!(quench_model_device_memory, pin_host) == 32);
const _: () = assert!(offset_of!(quench_model_device_memory, unpin_host) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_loss_args {
    pub struct_size: u32,
    pub flags: u32,
    pub batch: *const quench_batch,
    pub targets: *const quench_tensor,
    pub weight: f64,
    pub stream: *mut c_void,
}
const _: () = assert!(size_of::<quench_loss_args>() == 40);
const _: () = assert!(offset_of!(quench_loss_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_loss_args, flags) == 4);
const _: () = assert!(offset_of!(quench_loss_args, batch) == 8);
const _: () = assert!(offset_of!(quench_loss_args, targets) == 16);
const _: () = assert!(offset_of!(quench_loss_args, weight) == 24);
const _: () = assert!(offset_of!(quench_loss_args, stream) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_model_gradient {
    pub struct_size: u32,
    pub gradient: Option<unsafe extern "C" fn(*mut quench_model, *const quench_loss_args, *const quench_tensor, *mut f64, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_model_gradient>() == 16);
const _: () = assert!(offset_of!(quench_model_gradient, struct_size) == 0);
const _: () = assert!(offset_of!(quench_model_gradient, gradient) == 8);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_model_curvature {
    pub struct_size: u32,
    pub open: Option<unsafe extern "C" fn(*mut quench_model, *const quench_loss_args, i32, *const quench_tensor, *mut f64, *mut *mut quench_curvature, *mut quench_error) -> quench_status>,
    pub product: Option<unsafe extern "C" fn(*mut quench_curvature, *const quench_tensor, *const quench_tensor, *mut quench_error) -> quench_status>,
    pub close: Option<unsafe extern "C" fn(*mut quench_curvature)>,
}
const _: () = assert!(size_of::<quench_model_curvature>() == 32);
const _: () = assert!(offset_of!(quench_model_curvature, struct_size) == 0);
const _: () = assert!(offset_of!(quench_model_curvature, open) == 8);
const _: () = assert!(offset_of!(quench_model_curvature, product) == 16);
const _: () = assert!(offset_of!(quench_model_curvature, close) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_model_vectors {
    pub struct_size: u32,
    pub fill: Option<unsafe extern "C" fn(*mut quench_model, f64, *const quench_tensor, *mut quench_error) -> quench_status>,
    pub combine: Option<unsafe extern "C" fn(*mut quench_model, u32, *const quench_tensor, *const f64, *const quench_tensor, *mut quench_error) -> quench_status>,
    pub dot: Option<unsafe extern "C" fn(*mut quench_model, *const quench_tensor, *const quench_tensor, *mut f64, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_model_vectors>() == 32);
const _: () = assert!(offset_of!(quench_model_vectors, struct_size) == 0);
const _: () = assert!(offset_of!(quench_model_vectors, fill) == 8);
const _: () = assert!(offset_of!(quench_model_vectors, combine) == 16);
const _: () = assert!(offset_of!(quench_model_vectors, dot) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_model_shared_weights {
    pub struct_size: u32,
    pub share: Option<unsafe extern "C" fn(*mut quench_model, *const quench_tensor, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_model_shared_weights>() == 16);
const _: () = assert!(offset_of!(quench_model_shared_weights, struct_size) == 0);
const _: () = assert!(offset_of!(quench_model_shared_weights, share) == 8);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_input_service {
    pub struct_size: u32,
    pub open: Option<unsafe extern "C" fn(*const quench_host, *const c_char, *mut u64, *mut c_char, *mut quench_error) -> quench_status>,
    pub read: Option<unsafe extern "C" fn(*const quench_host, *const c_char, u64, u64, *mut c_void, *mut quench_error) -> quench_status>,
    pub note: Option<unsafe extern "C" fn(*const quench_host, u32, *const c_char, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_input_service>() == 32);
const _: () = assert!(offset_of!(quench_input_service, struct_size) == 0);
const _: () = assert!(offset_of!(quench_input_service, open) == 8);
const _: () = assert!(offset_of!(quench_input_service, read) == 16);
const _: () = assert!(offset_of!(quench_input_service, note) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_host {
    pub struct_size: u32,
    pub abi_minor: u32,
    pub context: *mut c_void,
    pub version: *const c_char,
    pub service: Option<unsafe extern "C" fn(*const quench_host, *const c_char) -> *const c_void>,
}
const _: () = assert!(size_of::<quench_host>() == 32);
const _: () = assert!(offset_of!(quench_host, struct_size) == 0);
const _: () = assert!(offset_of!(quench_host, abi_minor) == 4);
const _: () = assert!(offset_of!(quench_host, context) == 8);
const _: () = assert!(offset_of!(quench_host, version) == 16);
const _: () = assert!(offset_of!(quench_host, service) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_log {
    pub struct_size: u32,
    pub write: Option<unsafe extern "C" fn(*const quench_host, i32, *const c_char)>,
}
const _: () = assert!(size_of::<quench_log>() == 16);
const _: () = assert!(offset_of!(quench_log, struct_size) == 0);
const _: () = assert!(offset_of!(quench_log, write) == 8);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_progress {
    pub struct_size: u32,
    pub report: Option<unsafe extern "C" fn(*const quench_host, *const c_char, u64, u64)>,
}
const _: () = assert!(size_of::<quench_progress>() == 16);
const _: () = assert!(offset_of!(quench_progress, struct_size) == 0);
const _: () = assert!(offset_of!(quench_progress, report) == 8);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_cancel {
    pub struct_size: u32,
    pub requested: Option<unsafe extern "C" fn(*const quench_host) -> i32>,
}
const _: () = assert!(size_of::<quench_cancel>() == 16);
const _: () = assert!(offset_of!(quench_cancel, struct_size) == 0);
const _: () = assert!(offset_of!(quench_cancel, requested) == 8);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_memory {
    pub struct_size: u32,
    pub allocate: Option<unsafe extern "C" fn(*const quench_host, u64) -> *mut c_void>,
    pub release: Option<unsafe extern "C" fn(*const quench_host, *mut c_void)>,
}
const _: () = assert!(size_of::<quench_memory>() == 24);
const _: () = assert!(offset_of!(quench_memory, struct_size) == 0);
const _: () = assert!(offset_of!(quench_memory, allocate) == 8);
const _: () = assert!(offset_of!(quench_memory, release) == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_random {
    pub struct_size: u32,
    pub uniform: Option<unsafe extern "C" fn(*const quench_host, *const c_char, u64, u64, *mut u64)>,
}
const _: () = assert!(size_of::<quench_random>() == 16);
const _: () = assert!(offset_of!(quench_random, struct_size) == 0);
const _: () = assert!(offset_of!(quench_random, uniform) == 8);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_tasks {
    pub struct_size: u32,
    pub threads: Option<unsafe extern "C" fn(*const quench_host) -> u32>,
    pub parallel_for: Option<unsafe extern "C" fn(*const quench_host, u64, u64, Option<unsafe extern "C" fn(*mut c_void, u64, u64) -> quench_status>, *mut c_void) -> quench_status>,
}
const _: () = assert!(size_of::<quench_tasks>() == 24);
const _: () = assert!(offset_of!(quench_tasks, struct_size) == 0);
const _: () = assert!(offset_of!(quench_tasks, threads) == 8);
const _: () = assert!(offset_of!(quench_tasks, parallel_for) == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_processor {
    pub struct_size: u32,
    pub instructions: Option<unsafe extern "C" fn(*const quench_host) -> i32>,
}
const _: () = assert!(size_of::<quench_processor>() == 16);
const _: () = assert!(offset_of!(quench_processor, struct_size) == 0);
const _: () = assert!(offset_of!(quench_processor, instructions) == 8);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_json {
    pub struct_size: u32,
    pub parse: Option<unsafe extern "C" fn(*const quench_host, *const c_char, *const c_char, u64, *mut *mut quench_json_document, *mut quench_error) -> quench_status>,
    pub release: Option<unsafe extern "C" fn(*mut quench_json_document)>,
    pub root: Option<unsafe extern "C" fn(*const quench_json_document) -> *const quench_json_value>,
    pub r#type: Option<unsafe extern "C" fn(*const quench_json_value) -> i32>,
    pub size: Option<unsafe extern "C" fn(*const quench_json_value) -> u64>,
    pub member: Option<unsafe extern "C" fn(*const quench_json_value, *const c_char, u64) -> *const quench_json_value>,
    pub element: Option<unsafe extern "C" fn(*const quench_json_value, u64) -> *const quench_json_value>,
    pub each_member: Option<unsafe extern "C" fn(*const quench_json_value, Option<unsafe extern "C" fn(*mut c_void, *const c_char, u64, *const quench_json_value) -> quench_status>, *mut c_void) -> quench_status>,
    pub boolean: Option<unsafe extern "C" fn(*const quench_json_value, *mut i32) -> quench_status>,
    pub integer: Option<unsafe extern "C" fn(*const quench_json_value, *mut i64) -> quench_status>,
    pub number: Option<unsafe extern "C" fn(*const quench_json_value, *mut f64) -> quench_status>,
    pub string: Option<unsafe extern "C" fn(*const quench_json_value, *mut *const c_char, *mut u64) -> quench_status>,
}
const _: () = assert!(size_of::<quench_json>() == 104);
const _: () = assert!(offset_of!(quench_json, struct_size) == 0);
const _: () = assert!(offset_of!(quench_json, parse) == 8);
const _: () = assert!(offset_of!(quench_json, release) == 16);
const _: () = assert!(offset_of!(quench_json, root) == 24);
const _: () = assert!(offset_of!(quench_json, r#type) == 32);
const _: () = assert!(offset_of!(quench_json, size) == 40);
const _: () = assert!(offset_of!(quench_json, member) == 48);
const _: () = assert!(offset_of!(quench_json, element) == 56);
const _: () = assert!(offset_of!(quench_json, each_member) == 64);
const _: () = assert!(offset_of!(quench_json, boolean) == 72);
const _: () = assert!(offset_of!(quench_json, integer) == 80);
const _: () = assert!(offset_of!(quench_json, number) == 88);
const _: () = assert!(offset_of!(quench_json, string) == 96);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_journal {
    pub struct_size: u32,
    pub get: Option<unsafe extern "C" fn(*const quench_host, u64, *mut f64) -> quench_status>,
    pub put: Option<unsafe extern "C" fn(*const quench_host, u64, f64)>,
}
const _: () = assert!(size_of::<quench_journal>() == 24);
const _: () = assert!(offset_of!(quench_journal, struct_size) == 0);
const _: () = assert!(offset_of!(quench_journal, get) == 8);
const _: () = assert!(offset_of!(quench_journal, put) == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_averaging_member {
    pub struct_size: u32,
    pub name: *const c_char,
    pub step: i64,
    pub tokens: i64,
}
const _: () = assert!(size_of::<quench_averaging_member>() == 32);
const _: () = assert!(offset_of!(quench_averaging_member, struct_size) == 0);
const _: () = assert!(offset_of!(quench_averaging_member, name) == 8);
const _: () = assert!(offset_of!(quench_averaging_member, step) == 16);
const _: () = assert!(offset_of!(quench_averaging_member, tokens) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_averaging_table {
    pub struct_size: u32,
    pub create: Option<unsafe extern "C" fn(*const c_char, u64, *mut *mut quench_averaging, *mut quench_error) -> quench_status>,
    pub destroy: Option<unsafe extern "C" fn(*mut quench_averaging)>,
    pub needs: Option<unsafe extern "C" fn(*const quench_averaging) -> u32>,
    pub select: Option<unsafe extern "C" fn(*mut quench_averaging, *const quench_averaging_member, u64, u64, *mut u64, *mut u64, *mut quench_error) -> quench_status>,
    pub begin: Option<unsafe extern "C" fn(*mut quench_averaging, *const quench_averaging_member, u64, *mut quench_error) -> quench_status>,
    pub accumulate: Option<unsafe extern "C" fn(*mut quench_averaging, u64, *const f64, u64, *mut quench_error) -> quench_status>,
    pub finish: Option<unsafe extern "C" fn(*mut quench_averaging, *mut f64, u64, *mut quench_error) -> quench_status>,
    pub search: Option<unsafe extern "C" fn(*mut quench_averaging, *const quench_averaging_member, u64, Option<unsafe extern "C" fn(*mut c_void, *const f64, u64, *mut f64, *mut quench_error) -> quench_status>, *mut c_void, *mut f64, *mut quench_error) -> quench_status>,
    pub begin_weighted: Option<unsafe extern "C" fn(*mut quench_averaging, *const quench_averaging_member, u64, *const f64, *mut quench_error) -> quench_status>,
    pub sums_size: Option<unsafe extern "C" fn(*const quench_averaging, *mut u64, *mut quench_error) -> quench_status>,
    pub sums_get: Option<unsafe extern "C" fn(*const quench_averaging, *mut f64, u64, *mut quench_error) -> quench_status>,
    pub sums_set: Option<unsafe extern "C" fn(*mut quench_averaging, u64, u64, *const f64, u64, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_averaging_table>() == 104);
const _: () = assert!(offset_of!(quench_averaging_table, struct_size) == 0);
const _: () = assert!(offset_of!(quench_averaging_table, create) == 8);
const _: () = assert!(offset_of!(quench_averaging_table, destroy) == 16);
const _: () = assert!(offset_of!(quench_averaging_table, needs) == 24);
const _: () = assert!(offset_of!(quench_averaging_table, select) == 32);
const _: () = assert!(offset_of!(quench_averaging_table, begin) == 40);
const _: () = assert!(offset_of!(quench_averaging_table, accumulate) == 48);
const _: () = assert!(offset_of!(quench_averaging_table, finish) == 56);
const _: () = assert!(offset_of!(quench_averaging_table, search) == 64);
const _: () = assert!(offset_of!(quench_averaging_table, begin_weighted) == 72);
const _: () = assert!(offset_of!(quench_averaging_table, sums_size) == 80);
const _: () = assert!(offset_of!(quench_averaging_table, sums_get) == 88);
const _: () = assert!(offset_of!(quench_averaging_table, sums_set) == 96);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_document {
    pub struct_size: u32,
    pub flags: u32,
    pub text: *const c_char,
    pub text_bytes: u64,
    pub ids: *const i32,
    pub id_count: u64,
    pub record: *const c_char,
    pub record_bytes: u64,
    pub index: u64,
}
const _: () = assert!(size_of::<quench_document>() == 64);
const _: () = assert!(offset_of!(quench_document, struct_size) == 0);
const _: () = assert!(offset_of!(quench_document, flags) == 4);
const _: () = assert!(offset_of!(quench_document, text) == 8);
const _: () = assert!(offset_of!(quench_document, text_bytes) == 16);
const _: () = assert!(offset_of!(quench_document, ids) == 24);
const _: () = assert!(offset_of!(quench_document, id_count) == 32);
const _: () = assert!(offset_of!(quench_document, record) == 40);
const _: () = assert!(offset_of!(quench_document, record_bytes) == 48);
const _: () = assert!(offset_of!(quench_document, index) == 56);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_corpus_table {
    pub struct_size: u32,
    pub open: Option<unsafe extern "C" fn(*const c_char, u64, *mut *mut quench_corpus, *mut quench_error) -> quench_status>,
    pub close: Option<unsafe extern "C" fn(*mut quench_corpus)>,
    pub next: Option<unsafe extern "C" fn(*mut quench_corpus, *mut quench_document, *mut quench_error) -> quench_status>,
    pub fingerprint: Option<unsafe extern "C" fn(*mut quench_corpus, *mut c_char, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_corpus_table>() == 40);
const _: () = assert!(offset_of!(quench_corpus_table, struct_size) == 0);
const _: () = assert!(offset_of!(quench_corpus_table, open) == 8);
const _: () = assert!(offset_of!(quench_corpus_table, close) == 16);
const _: () = assert!(offset_of!(quench_corpus_table, next) == 24);
const _: () = assert!(offset_of!(quench_corpus_table, fingerprint) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_place {
    pub struct_size: u32,
    pub context: *mut c_void,
    pub path: *const c_char,
    pub file: *const c_char,
    pub config_json: *const c_char,
    pub config_bytes: u64,
    pub count: Option<unsafe extern "C" fn(*const quench_place) -> u64>,
    pub name: Option<unsafe extern "C" fn(*const quench_place, u64) -> *const c_char>,
    pub size: Option<unsafe extern "C" fn(*const quench_place, *const c_char, *mut u64, *mut quench_error) -> quench_status>,
    pub read: Option<unsafe extern "C" fn(*const quench_place, *const c_char, u64, u64, *mut c_void, *mut quench_error) -> quench_status>,
    pub tensors: Option<unsafe extern "C" fn(*const quench_place, *mut *const quench_source, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_place>() == 88);
const _: () = assert!(offset_of!(quench_place, struct_size) == 0);
const _: () = assert!(offset_of!(quench_place, context) == 8);
const _: () = assert!(offset_of!(quench_place, path) == 16);
const _: () = assert!(offset_of!(quench_place, file) == 24);
const _: () = assert!(offset_of!(quench_place, config_json) == 32);
const _: () = assert!(offset_of!(quench_place, config_bytes) == 40);
const _: () = assert!(offset_of!(quench_place, count) == 48);
const _: () = assert!(offset_of!(quench_place, name) == 56);
const _: () = assert!(offset_of!(quench_place, size) == 64);
const _: () = assert!(offset_of!(quench_place, read) == 72);
const _: () = assert!(offset_of!(quench_place, tensors) == 80);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_checkpoint_contents {
    pub struct_size: u32,
    pub flags: u32,
    pub tensors: *const quench_source,
    pub config_json: *const c_char,
    pub config_bytes: u64,
    pub quantization_json: *const c_char,
    pub quantization_bytes: u64,
    pub tokenizer_name: *const c_char,
    pub tokenizer: *const c_void,
    pub tokenizer_bytes: u64,
}
const _: () = assert!(size_of::<quench_checkpoint_contents>() == 72);
const _: () = assert!(offset_of!(quench_checkpoint_contents, struct_size) == 0);
const _: () = assert!(offset_of!(quench_checkpoint_contents, flags) == 4);
const _: () = assert!(offset_of!(quench_checkpoint_contents, tensors) == 8);
const _: () = assert!(offset_of!(quench_checkpoint_contents, config_json) == 16);
const _: () = assert!(offset_of!(quench_checkpoint_contents, config_bytes) == 24);
const _: () = assert!(offset_of!(quench_checkpoint_contents, quantization_json) == 32);
const _: () = assert!(offset_of!(quench_checkpoint_contents, quantization_bytes) == 40);
const _: () = assert!(offset_of!(quench_checkpoint_contents, tokenizer_name) == 48);
const _: () = assert!(offset_of!(quench_checkpoint_contents, tokenizer) == 56);
const _: () = assert!(offset_of!(quench_checkpoint_contents, tokenizer_bytes) == 64);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_checkpoint_entry {
    pub struct_size: u32,
    pub name: *const c_char,
    pub step: i64,
    pub tokens: i64,
}
const _: () = assert!(size_of::<quench_checkpoint_entry>() == 32);
const _: () = assert!(offset_of!(quench_checkpoint_entry, struct_size) == 0);
const _: () = assert!(offset_of!(quench_checkpoint_entry, name) == 8);
const _: () = assert!(offset_of!(quench_checkpoint_entry, step) == 16);
const _: () = assert!(offset_of!(quench_checkpoint_entry, tokens) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_code_scheme {
    pub struct_size: u32,
    pub symmetric: i32,
    pub ordered: i32,
    pub bits: i64,
    pub group_size: i64,
}
const _: () = assert!(size_of::<quench_code_scheme>() == 32);
const _: () = assert!(offset_of!(quench_code_scheme, struct_size) == 0);
const _: () = assert!(offset_of!(quench_code_scheme, symmetric) == 4);
const _: () = assert!(offset_of!(quench_code_scheme, ordered) == 8);
const _: () = assert!(offset_of!(quench_code_scheme, bits) == 16);
const _: () = assert!(offset_of!(quench_code_scheme, group_size) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_coded_linear {
    pub struct_size: u32,
    pub name: *const c_char,
    pub out: i64,
    pub r#in: i64,
    pub groups: i64,
    pub bits: i64,
    pub codes: *const u8,
    pub scales: *const f64,
    pub zeros: *const f64,
    pub g_idx: *const i32,
}
const _: () = assert!(size_of::<quench_coded_linear>() == 80);
const _: () = assert!(offset_of!(quench_coded_linear, struct_size) == 0);
const _: () = assert!(offset_of!(quench_coded_linear, name) == 8);
const _: () = assert!(offset_of!(quench_coded_linear, out) == 16);
const _: () = assert!(offset_of!(quench_coded_linear, r#in) == 24);
const _: () = assert!(offset_of!(quench_coded_linear, groups) == 32);
const _: () = assert!(offset_of!(quench_coded_linear, bits) == 40);
const _: () = assert!(offset_of!(quench_coded_linear, codes) == 48);
const _: () = assert!(offset_of!(quench_coded_linear, scales) == 56);
const _: () = assert!(offset_of!(quench_coded_linear, zeros) == 64);
const _: () = assert!(offset_of!(quench_coded_linear, g_idx) == 72);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_codebook_linear {
    pub struct_size: u32,
    pub scale_type: i32,
    pub name: *const c_char,
    pub out: i64,
    pub r#in: i64,
    pub tables: i64,
    pub entries: i64,
    pub blocks: i64,
    pub block: i64,
    pub indices: *const u8,
    pub table: *const f64,
    pub scales: *const f64,
}
const _: () = assert!(size_of::<quench_codebook_linear>() == 88);
const _: () = assert!(offset_of!(quench_codebook_linear, struct_size) == 0);
const _: () = assert!(offset_of!(quench_codebook_linear, scale_type) == 4);
const _: () = assert!(offset_of!(quench_codebook_linear, name) == 8);
const _: () = assert!(offset_of!(quench_codebook_linear, out) == 16);
const _: () = assert!(offset_of!(quench_codebook_linear, r#in) == 24);
const _: () = assert!(offset_of!(quench_codebook_linear, tables) == 32);
const _: () = assert!(offset_of!(quench_codebook_linear, entries) == 40);
const _: () = assert!(offset_of!(quench_codebook_linear, blocks) == 48);
const _: () = assert!(offset_of!(quench_codebook_linear, block) == 56);
const _: () = assert!(offset_of!(quench_codebook_linear, indices) == 64);
const _: () = assert!(offset_of!(quench_codebook_linear, table) == 72);
const _: () = assert!(offset_of!(quench_codebook_linear, scales) == 80);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_stored_linear {
    pub struct_size: u32,
    pub scales: u64,
    pub rounded_scales: u64,
    pub largest_change: f64,
}
const _: () = assert!(size_of::<quench_stored_linear>() == 32);
const _: () = assert!(offset_of!(quench_stored_linear, struct_size) == 0);
const _: () = assert!(offset_of!(quench_stored_linear, scales) == 8);
const _: () = assert!(offset_of!(quench_stored_linear, rounded_scales) == 16);
const _: () = assert!(offset_of!(quench_stored_linear, largest_change) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_float_linears {
    pub struct_size: u32,
    pub linear_count: u32,
    pub linears: *const *const c_char,
    pub head_count: u32,
    pub heads: *const *const c_char,
}
const _: () = assert!(size_of::<quench_float_linears>() == 32);
const _: () = assert!(offset_of!(quench_float_linears, struct_size) == 0);
const _: () = assert!(offset_of!(quench_float_linears, linear_count) == 4);
const _: () = assert!(offset_of!(quench_float_linears, linears) == 8);
const _: () = assert!(offset_of!(quench_float_linears, head_count) == 16);
const _: () = assert!(offset_of!(quench_float_linears, heads) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_format_sink {
    pub struct_size: u32,
    pub context: *mut c_void,
    pub tensor: Option<unsafe extern "C" fn(*mut c_void, *const c_char, quench_dtype, i32, *const i64, *const c_void, *mut quench_error) -> quench_status>,
    pub drop: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut quench_error) -> quench_status>,
    pub config: Option<unsafe extern "C" fn(*mut c_void, *const c_char, u64, *mut quench_error) -> quench_status>,
    pub file: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void, u64, *mut quench_error) -> quench_status>,
    pub quantization: Option<unsafe extern "C" fn(*mut c_void, *const c_char, u64, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_format_sink>() == 56);
const _: () = assert!(offset_of!(quench_format_sink, struct_size) == 0);
const _: () = assert!(offset_of!(quench_format_sink, context) == 8);
const _: () = assert!(offset_of!(quench_format_sink, tensor) == 16);
const _: () = assert!(offset_of!(quench_format_sink, drop) == 24);
const _: () = assert!(offset_of!(quench_format_sink, config) == 32);
const _: () = assert!(offset_of!(quench_format_sink, file) == 40);
const _: () = assert!(offset_of!(quench_format_sink, quantization) == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_format_table {
    pub struct_size: u32,
    pub probe: Option<unsafe extern "C" fn(*const quench_place, *mut quench_error) -> i32>,
    pub open: Option<unsafe extern "C" fn(*const quench_place, *const c_char, u64, *mut *mut quench_checkpoint, *mut quench_error) -> quench_status>,
    pub close: Option<unsafe extern "C" fn(*mut quench_checkpoint)>,
    pub contents: Option<unsafe extern "C" fn(*const quench_checkpoint, *mut quench_checkpoint_contents, *mut quench_error) -> quench_status>,
    pub list: Option<unsafe extern "C" fn(*const quench_place, Option<unsafe extern "C" fn(*mut c_void, *const quench_checkpoint_entry) -> quench_status>, *mut c_void, *mut quench_error) -> quench_status>,
    pub fits: Option<unsafe extern "C" fn(*const c_char, u64, *const quench_code_scheme, i64, i64, *mut quench_error) -> quench_status>,
    pub begin: Option<unsafe extern "C" fn(*const c_char, u64, *mut *mut quench_format_writer, *mut quench_error) -> quench_status>,
    pub store: Option<unsafe extern "C" fn(*mut quench_format_writer, *const quench_coded_linear, *const quench_format_sink, *mut f32, *mut quench_stored_linear, *mut quench_error) -> quench_status>,
    pub finish: Option<unsafe extern "C" fn(*mut quench_format_writer, *const quench_float_linears, *const quench_format_sink, *mut quench_error) -> quench_status>,
    pub end: Option<unsafe extern "C" fn(*mut quench_format_writer)>,
    pub store_codebook: Option<unsafe extern "C" fn(*mut quench_format_writer, *const quench_codebook_linear, *const quench_format_sink, *mut f32, *mut quench_stored_linear, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_format_table>() == 96);
const _: () = assert!(offset_of!(quench_format_table, struct_size) == 0);
const _: () = assert!(offset_of!(quench_format_table, probe) == 8);
const _: () = assert!(offset_of!(quench_format_table, open) == 16);
const _: () = assert!(offset_of!(quench_format_table, close) == 24);
const _: () = assert!(offset_of!(quench_format_table, contents) == 32);
const _: () = assert!(offset_of!(quench_format_table, list) == 40);
const _: () = assert!(offset_of!(quench_format_table, fits) == 48);
const _: () = assert!(offset_of!(quench_format_table, begin) == 56);
const _: () = assert!(offset_of!(quench_format_table, store) == 64);
const _: () = assert!(offset_of!(quench_format_table, finish) == 72);
const _: () = assert!(offset_of!(quench_format_table, end) == 80);
const _: () = assert!(offset_of!(quench_format_table, store_codebook) == 88);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_tokens {
    pub struct_size: u32,
    pub parameter: *const c_char,
    pub corpus: *const c_char,
    pub documents: u64,
    pub ids: *const i32,
    pub offsets: *const u64,
    pub bytes: *const u64,
}
const _: () = assert!(size_of::<quench_tokens>() == 56);
const _: () = assert!(offset_of!(quench_tokens, struct_size) == 0);
const _: () = assert!(offset_of!(quench_tokens, parameter) == 8);
const _: () = assert!(offset_of!(quench_tokens, corpus) == 16);
const _: () = assert!(offset_of!(quench_tokens, documents) == 24);
const _: () = assert!(offset_of!(quench_tokens, ids) == 32);
const _: () = assert!(offset_of!(quench_tokens, offsets) == 40);
const _: () = assert!(offset_of!(quench_tokens, bytes) == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_score_args {
    pub struct_size: u32,
    pub flags: u32,
    pub rows: u64,
    pub ids: *const i32,
    pub starts: *const u64,
    pub scored_from: *const u64,
    pub nll: *mut f64,
    pub argmax: *mut i32,
    pub parents: *const i64,
}
const _: () = assert!(size_of::<quench_score_args>() == 64);
const _: () = assert!(offset_of!(quench_score_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_score_args, flags) == 4);
const _: () = assert!(offset_of!(quench_score_args, rows) == 8);
const _: () = assert!(offset_of!(quench_score_args, ids) == 16);
const _: () = assert!(offset_of!(quench_score_args, starts) == 24);
const _: () = assert!(offset_of!(quench_score_args, scored_from) == 32);
const _: () = assert!(offset_of!(quench_score_args, nll) == 40);
const _: () = assert!(offset_of!(quench_score_args, argmax) == 48);
const _: () = assert!(offset_of!(quench_score_args, parents) == 56);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_subject {
    pub struct_size: u32,
    pub table: *const quench_model_table,
    pub model: *mut quench_model,
    pub context: *mut c_void,
    pub score: Option<unsafe extern "C" fn(*mut c_void, *const quench_score_args, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_subject>() == 40);
const _: () = assert!(offset_of!(quench_subject, struct_size) == 0);
const _: () = assert!(offset_of!(quench_subject, table) == 8);
const _: () = assert!(offset_of!(quench_subject, model) == 16);
const _: () = assert!(offset_of!(quench_subject, context) == 24);
const _: () = assert!(offset_of!(quench_subject, score) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_metric_sink {
    pub struct_size: u32,
    pub context: *mut c_void,
    pub value: Option<unsafe extern "C" fn(*mut c_void, *const c_char, f64, *const c_char, i32, f64, *mut quench_error) -> quench_status>,
    pub detail: Option<unsafe extern "C" fn(*mut c_void, *const c_char, f64, *mut quench_error) -> quench_status>,
    pub items: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const f64, u64, *mut quench_error) -> quench_status>,
    pub json: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, u64, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_metric_sink>() == 48);
const _: () = assert!(offset_of!(quench_metric_sink, struct_size) == 0);
const _: () = assert!(offset_of!(quench_metric_sink, context) == 8);
const _: () = assert!(offset_of!(quench_metric_sink, value) == 16);
const _: () = assert!(offset_of!(quench_metric_sink, detail) == 24);
const _: () = assert!(offset_of!(quench_metric_sink, items) == 32);
const _: () = assert!(offset_of!(quench_metric_sink, json) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_tokenizer {
    pub struct_size: u32,
    pub context: *mut c_void,
    pub encode: Option<unsafe extern "C" fn(*mut c_void, *const c_char, u64, i32, *mut *const i32, *mut u64, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_tokenizer>() == 24);
const _: () = assert!(offset_of!(quench_tokenizer, struct_size) == 0);
const _: () = assert!(offset_of!(quench_tokenizer, context) == 8);
const _: () = assert!(offset_of!(quench_tokenizer, encode) == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_weights {
    pub struct_size: u32,
    pub name: *const c_char,
    pub branch: *const c_char,
    pub step: f64,
    pub tokens: f64,
    pub source: *const quench_source,
}
const _: () = assert!(size_of::<quench_weights>() == 48);
const _: () = assert!(offset_of!(quench_weights, struct_size) == 0);
const _: () = assert!(offset_of!(quench_weights, name) == 8);
const _: () = assert!(offset_of!(quench_weights, branch) == 16);
const _: () = assert!(offset_of!(quench_weights, step) == 24);
const _: () = assert!(offset_of!(quench_weights, tokens) == 32);
const _: () = assert!(offset_of!(quench_weights, source) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_evaluate_args {
    pub struct_size: u32,
    pub flags: u32,
    pub subject: *const quench_subject,
    pub tokens_count: u32,
    pub tokens: *const quench_tokens,
    pub sink: *const quench_metric_sink,
    pub tokenizer: *const quench_tokenizer,
    pub weights_count: u32,
    pub weights: *const quench_weights,
}
const _: () = assert!(size_of::<quench_evaluate_args>() == 64);
const _: () = assert!(offset_of!(quench_evaluate_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_evaluate_args, flags) == 4);
const _: () = assert!(offset_of!(quench_evaluate_args, subject) == 8);
const _: () = assert!(offset_of!(quench_evaluate_args, tokens_count) == 16);
const _: () = assert!(offset_of!(quench_evaluate_args, tokens) == 24);
const _: () = assert!(offset_of!(quench_evaluate_args, sink) == 32);
const _: () = assert!(offset_of!(quench_evaluate_args, tokenizer) == 40);
const _: () = assert!(offset_of!(quench_evaluate_args, weights_count) == 48);
const _: () = assert!(offset_of!(quench_evaluate_args, weights) == 56);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_record_host {
    pub struct_size: u32,
    pub context: *mut c_void,
    pub locate: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut *const c_char, *mut quench_error) -> quench_status>,
    pub yaml_file: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut *const c_char, *mut u64, *mut quench_error) -> quench_status>,
    pub yaml_text: Option<unsafe extern "C" fn(*mut c_void, *const c_char, u64, *const c_char, *mut *const c_char, *mut u64, *mut quench_error) -> quench_status>,
    pub want: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *const c_char, *mut quench_error) -> quench_status>,
    pub want_file: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_record_host>() == 56);
const _: () = assert!(offset_of!(quench_record_host, struct_size) == 0);
const _: () = assert!(offset_of!(quench_record_host, context) == 8);
const _: () = assert!(offset_of!(quench_record_host, locate) == 16);
const _: () = assert!(offset_of!(quench_record_host, yaml_file) == 24);
const _: () = assert!(offset_of!(quench_record_host, yaml_text) == 32);
const _: () = assert!(offset_of!(quench_record_host, want) == 40);
const _: () = assert!(offset_of!(quench_record_host, want_file) == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_metric_table {
    pub struct_size: u32,
    pub create: Option<unsafe extern "C" fn(*const c_char, u64, *mut *mut quench_metric, *mut quench_error) -> quench_status>,
    pub destroy: Option<unsafe extern "C" fn(*mut quench_metric)>,
    pub evaluate: Option<unsafe extern "C" fn(*mut quench_metric, *const quench_evaluate_args, *mut quench_error) -> quench_status>,
    pub needs: Option<unsafe extern "C" fn(*const quench_metric) -> u32>,
    pub fits: Option<unsafe extern "C" fn(*const quench_metric, *const quench_model_table, *const quench_model, *mut quench_error) -> quench_status>,
    pub predict_memory: Option<unsafe extern "C" fn(*const quench_metric, *const quench_model_table, *const quench_model, *mut u64, *mut quench_error) -> quench_status>,
    pub predict_memory_on_device: Option<unsafe extern "C" fn(*const quench_metric, *const quench_model_table, *const quench_model, u32, *mut u64, *mut u64, *mut quench_error) -> quench_status>,
    pub wants: Option<unsafe extern "C" fn(*mut quench_metric, *const quench_record_host, *mut quench_error) -> quench_status>,
    pub take: Option<unsafe extern "C" fn(*mut quench_metric, u32, *const c_char, u64, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_metric_table>() == 80);
const _: () = assert!(offset_of!(quench_metric_table, struct_size) == 0);
const _: () = assert!(offset_of!(quench_metric_table, create) == 8);
const _: () = assert!(offset_of!(quench_metric_table, destroy) == 16);
const _: () = assert!(offset_of!(quench_metric_table, evaluate) == 24);
const _: () = assert!(offset_of!(quench_metric_table, needs) == 32);
const _: () = assert!(offset_of!(quench_metric_table, fits) == 40);
const _: () = assert!(offset_of!(quench_metric_table, predict_memory) == 48);
const _: () = assert!(offset_of!(quench_metric_table, predict_memory_on_device) == 56);
const _: () = assert!(offset_of!(quench_metric_table, wants) == 64);
const _: () = assert!(offset_of!(quench_metric_table, take) == 72);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_model_info {
    pub struct_size: u32,
    pub blocks: u32,
    pub width: i64,
    pub vocabulary: i64,
    pub max_positions: i64,
    pub dtype: quench_dtype,
    pub device: quench_device,
}
const _: () = assert!(size_of::<quench_model_info>() == 48);
const _: () = assert!(offset_of!(quench_model_info, struct_size) == 0);
const _: () = assert!(offset_of!(quench_model_info, blocks) == 4);
const _: () = assert!(offset_of!(quench_model_info, width) == 8);
const _: () = assert!(offset_of!(quench_model_info, vocabulary) == 16);
const _: () = assert!(offset_of!(quench_model_info, max_positions) == 24);
const _: () = assert!(offset_of!(quench_model_info, dtype) == 32);
const _: () = assert!(offset_of!(quench_model_info, device) == 36);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_parameter_info {
    pub struct_size: u32,
    pub role: i32,
    pub name: *const c_char,
    pub dimensions: i32,
    pub shape: *const i64,
    pub offset: u64,
    pub alias_count: u32,
    pub aliases: *const *const c_char,
}
const _: () = assert!(size_of::<quench_parameter_info>() == 56);
const _: () = assert!(offset_of!(quench_parameter_info, struct_size) == 0);
const _: () = assert!(offset_of!(quench_parameter_info, role) == 4);
const _: () = assert!(offset_of!(quench_parameter_info, name) == 8);
const _: () = assert!(offset_of!(quench_parameter_info, dimensions) == 16);
const _: () = assert!(offset_of!(quench_parameter_info, shape) == 24);
const _: () = assert!(offset_of!(quench_parameter_info, offset) == 32);
const _: () = assert!(offset_of!(quench_parameter_info, alias_count) == 40);
const _: () = assert!(offset_of!(quench_parameter_info, aliases) == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_linear_info {
    pub struct_size: u32,
    pub flags: u32,
    pub name: *const c_char,
    pub role: *const c_char,
    pub weight: *const c_char,
    pub bias: *const c_char,
    pub out_features: i64,
    pub in_features: i64,
}
const _: () = assert!(size_of::<quench_linear_info>() == 56);
const _: () = assert!(offset_of!(quench_linear_info, struct_size) == 0);
const _: () = assert!(offset_of!(quench_linear_info, flags) == 4);
const _: () = assert!(offset_of!(quench_linear_info, name) == 8);
const _: () = assert!(offset_of!(quench_linear_info, role) == 16);
const _: () = assert!(offset_of!(quench_linear_info, weight) == 24);
const _: () = assert!(offset_of!(quench_linear_info, bias) == 32);
const _: () = assert!(offset_of!(quench_linear_info, out_features) == 40);
const _: () = assert!(offset_of!(quench_linear_info, in_features) == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_scale_site {
    pub struct_size: u32,
    pub parameter: *const c_char,
    pub rows: *const i64,
}
const _: () = assert!(size_of::<quench_scale_site>() == 24);
const _: () = assert!(offset_of!(quench_scale_site, struct_size) == 0);
const _: () = assert!(offset_of!(quench_scale_site, parameter) == 8);
const _: () = assert!(offset_of!(quench_scale_site, rows) == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_group_info {
    pub struct_size: u32,
    pub stage: u32,
    pub input: i32,
    pub rows: i32,
    pub expert: i32,
    pub linear_count: u32,
    pub linears: *const quench_linear_info,
    pub site_count: u32,
    pub sites: *const quench_scale_site,
}
const _: () = assert!(size_of::<quench_group_info>() == 48);
const _: () = assert!(offset_of!(quench_group_info, struct_size) == 0);
const _: () = assert!(offset_of!(quench_group_info, stage) == 4);
const _: () = assert!(offset_of!(quench_group_info, input) == 8);
const _: () = assert!(offset_of!(quench_group_info, rows) == 12);
const _: () = assert!(offset_of!(quench_group_info, expert) == 16);
const _: () = assert!(offset_of!(quench_group_info, linear_count) == 20);
const _: () = assert!(offset_of!(quench_group_info, linears) == 24);
const _: () = assert!(offset_of!(quench_group_info, site_count) == 32);
const _: () = assert!(offset_of!(quench_group_info, sites) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_carry_info {
    pub struct_size: u32,
    pub name: *const c_char,
    pub width: i64,
    pub rows_per_token: i64,
    pub dtype: quench_dtype,
}
const _: () = assert!(size_of::<quench_carry_info>() == 40);
const _: () = assert!(offset_of!(quench_carry_info, struct_size) == 0);
const _: () = assert!(offset_of!(quench_carry_info, name) == 8);
const _: () = assert!(offset_of!(quench_carry_info, width) == 16);
const _: () = assert!(offset_of!(quench_carry_info, rows_per_token) == 24);
const _: () = assert!(offset_of!(quench_carry_info, dtype) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_block_info {
    pub struct_size: u32,
    pub stage_count: u32,
    pub group_count: u32,
    pub groups: *const quench_group_info,
}
const _: () = assert!(size_of::<quench_block_info>() == 24);
const _: () = assert!(offset_of!(quench_block_info, struct_size) == 0);
const _: () = assert!(offset_of!(quench_block_info, stage_count) == 4);
const _: () = assert!(offset_of!(quench_block_info, group_count) == 8);
const _: () = assert!(offset_of!(quench_block_info, groups) == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_residual_norm {
    pub struct_size: u32,
    pub kind: i32,
    pub scale: *const c_char,
    pub shift: *const c_char,
    pub reader_count: u32,
    pub readers: *const *const c_char,
}
const _: () = assert!(size_of::<quench_residual_norm>() == 40);
const _: () = assert!(offset_of!(quench_residual_norm, struct_size) == 0);
const _: () = assert!(offset_of!(quench_residual_norm, kind) == 4);
const _: () = assert!(offset_of!(quench_residual_norm, scale) == 8);
const _: () = assert!(offset_of!(quench_residual_norm, shift) == 16);
const _: () = assert!(offset_of!(quench_residual_norm, reader_count) == 24);
const _: () = assert!(offset_of!(quench_residual_norm, readers) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_residual_writer {
    pub struct_size: u32,
    pub axis: i32,
    pub weight: *const c_char,
    pub bias: *const c_char,
}
const _: () = assert!(size_of::<quench_residual_writer>() == 24);
const _: () = assert!(offset_of!(quench_residual_writer, struct_size) == 0);
const _: () = assert!(offset_of!(quench_residual_writer, axis) == 4);
const _: () = assert!(offset_of!(quench_residual_writer, weight) == 8);
const _: () = assert!(offset_of!(quench_residual_writer, bias) == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_residual_info {
    pub struct_size: u32,
    pub norm_count: u32,
    pub norms: *const quench_residual_norm,
    pub writer_count: u32,
    pub writers: *const quench_residual_writer,
}
const _: () = assert!(size_of::<quench_residual_info>() == 32);
const _: () = assert!(offset_of!(quench_residual_info, struct_size) == 0);
const _: () = assert!(offset_of!(quench_residual_info, norm_count) == 4);
const _: () = assert!(offset_of!(quench_residual_info, norms) == 8);
const _: () = assert!(offset_of!(quench_residual_info, writer_count) == 16);
const _: () = assert!(offset_of!(quench_residual_info, writers) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_model_open_args {
    pub struct_size: u32,
    pub flags: u32,
    pub source: *const quench_source,
    pub config_json: *const c_char,
    pub config_bytes: u64,
    pub device: quench_device,
    pub dtype: quench_dtype,
}
const _: () = assert!(size_of::<quench_model_open_args>() == 48);
const _: () = assert!(offset_of!(quench_model_open_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_model_open_args, flags) == 4);
const _: () = assert!(offset_of!(quench_model_open_args, source) == 8);
const _: () = assert!(offset_of!(quench_model_open_args, config_json) == 16);
const _: () = assert!(offset_of!(quench_model_open_args, config_bytes) == 24);
const _: () = assert!(offset_of!(quench_model_open_args, device) == 32);
const _: () = assert!(offset_of!(quench_model_open_args, dtype) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_batch {
    pub struct_size: u32,
    pub flags: u32,
    pub tokens: *const quench_tensor,
    pub positions: *const quench_tensor,
    pub segments: *const quench_tensor,
}
const _: () = assert!(size_of::<quench_batch>() == 32);
const _: () = assert!(offset_of!(quench_batch, struct_size) == 0);
const _: () = assert!(offset_of!(quench_batch, flags) == 4);
const _: () = assert!(offset_of!(quench_batch, tokens) == 8);
const _: () = assert!(offset_of!(quench_batch, positions) == 16);
const _: () = assert!(offset_of!(quench_batch, segments) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_embed_args {
    pub struct_size: u32,
    pub flags: u32,
    pub batch: *const quench_batch,
    pub h: *const quench_tensor,
    pub stream: *mut c_void,
}
const _: () = assert!(size_of::<quench_embed_args>() == 32);
const _: () = assert!(offset_of!(quench_embed_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_embed_args, flags) == 4);
const _: () = assert!(offset_of!(quench_embed_args, batch) == 8);
const _: () = assert!(offset_of!(quench_embed_args, h) == 16);
const _: () = assert!(offset_of!(quench_embed_args, stream) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_stage_args {
    pub struct_size: u32,
    pub flags: u32,
    pub block: u32,
    pub stage: u32,
    pub batch: *const quench_batch,
    pub in_count: u32,
    pub out_count: u32,
    pub r#in: *const quench_tensor,
    pub out: *const quench_tensor,
    pub stream: *mut c_void,
}
const _: () = assert!(size_of::<quench_stage_args>() == 56);
const _: () = assert!(offset_of!(quench_stage_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_stage_args, flags) == 4);
const _: () = assert!(offset_of!(quench_stage_args, block) == 8);
const _: () = assert!(offset_of!(quench_stage_args, stage) == 12);
const _: () = assert!(offset_of!(quench_stage_args, batch) == 16);
const _: () = assert!(offset_of!(quench_stage_args, in_count) == 24);
const _: () = assert!(offset_of!(quench_stage_args, out_count) == 28);
const _: () = assert!(offset_of!(quench_stage_args, r#in) == 32);
const _: () = assert!(offset_of!(quench_stage_args, out) == 40);
const _: () = assert!(offset_of!(quench_stage_args, stream) == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_head_args {
    pub struct_size: u32,
    pub flags: u32,
    pub h: *const quench_tensor,
    pub targets: *const quench_tensor,
    pub nll: *const quench_tensor,
    pub argmax: *const quench_tensor,
    pub stream: *mut c_void,
}
const _: () = assert!(size_of::<quench_head_args>() == 48);
const _: () = assert!(offset_of!(quench_head_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_head_args, flags) == 4);
const _: () = assert!(offset_of!(quench_head_args, h) == 8);
const _: () = assert!(offset_of!(quench_head_args, targets) == 16);
const _: () = assert!(offset_of!(quench_head_args, nll) == 24);
const _: () = assert!(offset_of!(quench_head_args, argmax) == 32);
const _: () = assert!(offset_of!(quench_head_args, stream) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_linear_op {
    pub struct_size: u32,
    pub context: *mut c_void,
    pub apply: Option<unsafe extern "C" fn(*mut c_void, *const quench_tensor, *const quench_tensor, *mut c_void, *mut quench_error) -> quench_status>,
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    pub inputs: Option<unsafe extern "C" fn(*mut c_void, *const quench_tensor, *const quench_tensor, *mut c_void, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_linear_op>() == 40);
const _: () = assert!(offset_of!(quench_linear_op, struct_size) == 0);
const _: () = assert!(offset_of!(quench_linear_op, context) == 8);
const _: () = assert!(offset_of!(quench_linear_op, apply) == 16);
const _: () = assert!(offset_of!(quench_linear_op, release) == 24);
const _: () = assert!(offset_of!(quench_linear_op, inputs) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_cache_args {
    pub struct_size: u32,
    pub flags: u32,
    pub keys: *const quench_tensor,
    pub values: *const quench_tensor,
    pub batch: *const quench_batch,
    pub stream: *mut c_void,
}
const _: () = assert!(size_of::<quench_cache_args>() == 40);
const _: () = assert!(offset_of!(quench_cache_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_cache_args, flags) == 4);
const _: () = assert!(offset_of!(quench_cache_args, keys) == 8);
const _: () = assert!(offset_of!(quench_cache_args, values) == 16);
const _: () = assert!(offset_of!(quench_cache_args, batch) == 24);
const _: () = assert!(offset_of!(quench_cache_args, stream) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_cache_op {
    pub struct_size: u32,
    pub context: *mut c_void,
    pub apply: Option<unsafe extern "C" fn(*mut c_void, *const quench_cache_args, *mut quench_error) -> quench_status>,
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
}
const _: () = assert!(size_of::<quench_cache_op>() == 32);
const _: () = assert!(offset_of!(quench_cache_op, struct_size) == 0);
const _: () = assert!(offset_of!(quench_cache_op, context) == 8);
const _: () = assert!(offset_of!(quench_cache_op, apply) == 16);
const _: () = assert!(offset_of!(quench_cache_op, release) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_block_gradient_args {
    pub struct_size: u32,
    pub flags: u32,
    pub block: u32,
    pub weight_count: u32,
    pub batch: *const quench_batch,
    pub h: *const quench_tensor,
    pub target: *const quench_tensor,
    pub slope: *const quench_tensor,
    pub weight: f64,
    pub names: *const *const c_char,
    pub gradients: *const quench_tensor,
    pub stream: *mut c_void,
}
const _: () = assert!(size_of::<quench_block_gradient_args>() == 80);
const _: () = assert!(offset_of!(quench_block_gradient_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_block_gradient_args, flags) == 4);
const _: () = assert!(offset_of!(quench_block_gradient_args, block) == 8);
const _: () = assert!(offset_of!(quench_block_gradient_args, weight_count) == 12);
const _: () = assert!(offset_of!(quench_block_gradient_args, batch) == 16);
const _: () = assert!(offset_of!(quench_block_gradient_args, h) == 24);
const _: () = assert!(offset_of!(quench_block_gradient_args, target) == 32);
const _: () = assert!(offset_of!(quench_block_gradient_args, slope) == 40);
const _: () = assert!(offset_of!(quench_block_gradient_args, weight) == 48);
const _: () = assert!(offset_of!(quench_block_gradient_args, names) == 56);
const _: () = assert!(offset_of!(quench_block_gradient_args, gradients) == 64);
const _: () = assert!(offset_of!(quench_block_gradient_args, stream) == 72);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_model_table {
    pub struct_size: u32,
    pub probe: Option<unsafe extern "C" fn(*const c_char, u64, *mut quench_error) -> i32>,
    pub open: Option<unsafe extern "C" fn(*const quench_model_open_args, *mut *mut quench_model, *mut quench_error) -> quench_status>,
    pub close: Option<unsafe extern "C" fn(*mut quench_model)>,
    pub info: Option<unsafe extern "C" fn(*const quench_model, *mut quench_model_info, *mut quench_error) -> quench_status>,
    pub parameters: Option<unsafe extern "C" fn(*const quench_model, *mut *const quench_parameter_info, *mut u64, *mut quench_error) -> quench_status>,
    pub block: Option<unsafe extern "C" fn(*const quench_model, u32, *mut *const quench_block_info, *mut quench_error) -> quench_status>,
    pub carry: Option<unsafe extern "C" fn(*const quench_model, u32, u32, *mut *const quench_carry_info, *mut u32, *mut quench_error) -> quench_status>,
    pub embed: Option<unsafe extern "C" fn(*mut quench_model, *const quench_embed_args, *mut quench_error) -> quench_status>,
    pub stage: Option<unsafe extern "C" fn(*mut quench_model, *const quench_stage_args, *mut quench_error) -> quench_status>,
    pub token_nll: Option<unsafe extern "C" fn(*mut quench_model, *const quench_head_args, *mut quench_error) -> quench_status>,
    pub logits: Option<unsafe extern "C" fn(*mut quench_model, *const quench_tensor, *const quench_tensor, *mut c_void, *mut quench_error) -> quench_status>,
    pub weight_get: Option<unsafe extern "C" fn(*mut quench_model, *const c_char, *const quench_tensor, *mut quench_error) -> quench_status>,
    pub weight_set: Option<unsafe extern "C" fn(*mut quench_model, *const c_char, *const quench_tensor, *mut quench_error) -> quench_status>,
    pub weight_generation: Option<unsafe extern "C" fn(*const quench_model, *const c_char, *mut u64, *mut quench_error) -> quench_status>,
    pub set_linear_op: Option<unsafe extern "C" fn(*mut quench_model, u32, u32, u32, *const quench_linear_op, *mut quench_error) -> quench_status>,
    pub allocate: Option<unsafe extern "C" fn(*mut quench_model, u64, *mut *mut c_void, *mut quench_error) -> quench_status>,
    pub release: Option<unsafe extern "C" fn(*mut quench_model, *mut c_void)>,
    pub copy: Option<unsafe extern "C" fn(*mut quench_model, *const quench_tensor, *const quench_tensor, *mut c_void, *mut quench_error) -> quench_status>,
    pub features: Option<unsafe extern "C" fn(*const quench_model) -> u32>,
    pub token_wise_from: Option<unsafe extern "C" fn(*const quench_model, u32) -> u32>,
    pub head_rows: Option<unsafe extern "C" fn(*mut quench_model, *const quench_tensor, *const quench_tensor, *mut c_void, *mut quench_error) -> quench_status>,
    pub residual: Option<unsafe extern "C" fn(*const quench_model, *mut *const quench_residual_info, *mut quench_error) -> quench_status>,
    pub product_rate: Option<unsafe extern "C" fn(*mut quench_model, u32, *mut f64, *mut quench_error) -> quench_status>,
    pub extension: Option<unsafe extern "C" fn(*const quench_model, *const c_char) -> *const c_void>,
    pub set_cache_op: Option<unsafe extern "C" fn(*mut quench_model, u32, *const quench_cache_op, *mut quench_error) -> quench_status>,
    pub block_gradient: Option<unsafe extern "C" fn(*mut quench_model, *const quench_block_gradient_args, *mut f64, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_model_table>() == 216);
const _: () = assert!(offset_of!(quench_model_table, struct_size) == 0);
const _: () = assert!(offset_of!(quench_model_table, probe) == 8);
const _: () = assert!(offset_of!(quench_model_table, open) == 16);
const _: () = assert!(offset_of!(quench_model_table, close) == 24);
const _: () = assert!(offset_of!(quench_model_table, info) == 32);
const _: () = assert!(offset_of!(quench_model_table, parameters) == 40);
const _: () = assert!(offset_of!(quench_model_table, block) == 48);
const _: () = assert!(offset_of!(quench_model_table, carry) == 56);
const _: () = assert!(offset_of!(quench_model_table, embed) == 64);
const _: () = assert!(offset_of!(quench_model_table, stage) == 72);
const _: () = assert!(offset_of!(quench_model_table, token_nll) == 80);
const _: () = assert!(offset_of!(quench_model_table, logits) == 88);
const _: () = assert!(offset_of!(quench_model_table, weight_get) == 96);
const _: () = assert!(offset_of!(quench_model_table, weight_set) == 104);
const _: () = assert!(offset_of!(quench_model_table, weight_generation) == 112);
const _: () = assert!(offset_of!(quench_model_table, set_linear_op) == 120);
const _: () = assert!(offset_of!(quench_model_table, allocate) == 128);
const _: () = assert!(offset_of!(quench_model_table, release) == 136);
const _: () = assert!(offset_of!(quench_model_table, copy) == 144);
const _: () = assert!(offset_of!(quench_model_table, features) == 152);
const _: () = assert!(offset_of!(quench_model_table, token_wise_from) == 160);
const _: () = assert!(offset_of!(quench_model_table, head_rows) == 168);
const _: () = assert!(offset_of!(quench_model_table, residual) == 176);
const _: () = assert!(offset_of!(quench_model_table, product_rate) == 184);
const _: () = assert!(offset_of!(quench_model_table, extension) == 192);
const _: () = assert!(offset_of!(quench_model_table, set_cache_op) == 200);
const _: () = assert!(offset_of!(quench_model_table, block_gradient) == 208);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_step_args {
    pub struct_size: u32,
    pub flags: u32,
    pub tensor: u64,
    pub step: u64,
    pub lr: f64,
    pub peak_lr: f64,
    pub decays: i32,
    pub weight: *const quench_tensor,
    pub gradient: *const quench_tensor,
    pub stream: *mut c_void,
    pub gradient_scale: f64,
}
const _: () = assert!(size_of::<quench_step_args>() == 80);
const _: () = assert!(offset_of!(quench_step_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_step_args, flags) == 4);
const _: () = assert!(offset_of!(quench_step_args, tensor) == 8);
const _: () = assert!(offset_of!(quench_step_args, step) == 16);
const _: () = assert!(offset_of!(quench_step_args, lr) == 24);
const _: () = assert!(offset_of!(quench_step_args, peak_lr) == 32);
const _: () = assert!(offset_of!(quench_step_args, decays) == 40);
const _: () = assert!(offset_of!(quench_step_args, weight) == 48);
const _: () = assert!(offset_of!(quench_step_args, gradient) == 56);
const _: () = assert!(offset_of!(quench_step_args, stream) == 64);
const _: () = assert!(offset_of!(quench_step_args, gradient_scale) == 72);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_state_info {
    pub struct_size: u32,
    pub name: *const c_char,
    pub dtype: quench_dtype,
    pub dimensions: i32,
    pub shape: *const i64,
}
const _: () = assert!(size_of::<quench_state_info>() == 32);
const _: () = assert!(offset_of!(quench_state_info, struct_size) == 0);
const _: () = assert!(offset_of!(quench_state_info, name) == 8);
const _: () = assert!(offset_of!(quench_state_info, dtype) == 16);
const _: () = assert!(offset_of!(quench_state_info, dimensions) == 20);
const _: () = assert!(offset_of!(quench_state_info, shape) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_closure {
    pub struct_size: u32,
    pub context: *mut c_void,
    pub evaluate: Option<unsafe extern "C" fn(*mut c_void, *const quench_tensor, *const quench_tensor, *mut f64, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_closure>() == 24);
const _: () = assert!(offset_of!(quench_closure, struct_size) == 0);
const _: () = assert!(offset_of!(quench_closure, context) == 8);
const _: () = assert!(offset_of!(quench_closure, evaluate) == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_closure_args {
    pub struct_size: u32,
    pub flags: u32,
    pub step: u64,
    pub weights: *const quench_tensor,
    pub closure: *const quench_closure,
    pub gradient: *const quench_tensor,
}
const _: () = assert!(size_of::<quench_closure_args>() == 40);
const _: () = assert!(offset_of!(quench_closure_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_closure_args, flags) == 4);
const _: () = assert!(offset_of!(quench_closure_args, step) == 8);
const _: () = assert!(offset_of!(quench_closure_args, weights) == 16);
const _: () = assert!(offset_of!(quench_closure_args, closure) == 24);
const _: () = assert!(offset_of!(quench_closure_args, gradient) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_optimizer_table {
    pub struct_size: u32,
    pub create: Option<unsafe extern "C" fn(*const c_char, u64, *mut *mut quench_optimizer, *mut quench_error) -> quench_status>,
    pub destroy: Option<unsafe extern "C" fn(*mut quench_optimizer)>,
    pub begin: Option<unsafe extern "C" fn(*mut quench_optimizer, *const quench_parameter_info, u64, quench_device, *mut quench_error) -> quench_status>,
    pub step: Option<unsafe extern "C" fn(*mut quench_optimizer, *const quench_step_args, *mut quench_error) -> quench_status>,
    pub state_info: Option<unsafe extern "C" fn(*mut quench_optimizer, u64, *mut quench_state_info, *mut quench_error) -> quench_status>,
    pub state_get: Option<unsafe extern "C" fn(*mut quench_optimizer, u64, *const quench_tensor, *mut quench_error) -> quench_status>,
    pub state_set: Option<unsafe extern "C" fn(*mut quench_optimizer, u64, *const quench_tensor, *mut quench_error) -> quench_status>,
    pub evaluation_weights: Option<unsafe extern "C" fn(*mut quench_optimizer, u64, *const quench_tensor, *const quench_tensor, *mut quench_error) -> quench_status>,
    pub gradient: Option<unsafe extern "C" fn(*mut quench_optimizer, *const quench_closure_args, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_optimizer_table>() == 80);
const _: () = assert!(offset_of!(quench_optimizer_table, struct_size) == 0);
const _: () = assert!(offset_of!(quench_optimizer_table, create) == 8);
const _: () = assert!(offset_of!(quench_optimizer_table, destroy) == 16);
const _: () = assert!(offset_of!(quench_optimizer_table, begin) == 24);
const _: () = assert!(offset_of!(quench_optimizer_table, step) == 32);
const _: () = assert!(offset_of!(quench_optimizer_table, state_info) == 40);
const _: () = assert!(offset_of!(quench_optimizer_table, state_get) == 48);
const _: () = assert!(offset_of!(quench_optimizer_table, state_set) == 56);
const _: () = assert!(offset_of!(quench_optimizer_table, evaluation_weights) == 64);
const _: () = assert!(offset_of!(quench_optimizer_table, gradient) == 72);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_group_args {
    pub struct_size: u32,
    pub flags: u32,
    pub block: u32,
    pub group: u32,
    pub info: *const quench_group_info,
    pub in_features: i64,
    pub device: quench_device,
}
const _: () = assert!(size_of::<quench_group_args>() == 40);
const _: () = assert!(offset_of!(quench_group_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_group_args, flags) == 4);
const _: () = assert!(offset_of!(quench_group_args, block) == 8);
const _: () = assert!(offset_of!(quench_group_args, group) == 12);
const _: () = assert!(offset_of!(quench_group_args, info) == 16);
const _: () = assert!(offset_of!(quench_group_args, in_features) == 24);
const _: () = assert!(offset_of!(quench_group_args, device) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_observe_args {
    pub struct_size: u32,
    pub flags: u32,
    pub x: *const quench_tensor,
    pub float_x: *const quench_tensor,
    pub row_index: *const quench_tensor,
    pub row_weight: *const quench_tensor,
    pub stream: *mut c_void,
}
const _: () = assert!(size_of::<quench_observe_args>() == 48);
const _: () = assert!(offset_of!(quench_observe_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_observe_args, flags) == 4);
const _: () = assert!(offset_of!(quench_observe_args, x) == 8);
const _: () = assert!(offset_of!(quench_observe_args, float_x) == 16);
const _: () = assert!(offset_of!(quench_observe_args, row_index) == 24);
const _: () = assert!(offset_of!(quench_observe_args, row_weight) == 32);
const _: () = assert!(offset_of!(quench_observe_args, stream) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_quantize_sink {
    pub struct_size: u32,
    pub context: *mut c_void,
    pub tensor: Option<unsafe extern "C" fn(*mut c_void, *const c_char, quench_dtype, i32, *const i64, *mut quench_tensor, *mut quench_error) -> quench_status>,
    pub number: Option<unsafe extern "C" fn(*mut c_void, *const c_char, f64, *mut quench_error) -> quench_status>,
    pub text: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *mut quench_error) -> quench_status>,
    pub linear_op: Option<unsafe extern "C" fn(*mut c_void, *const quench_linear_op, *mut quench_error) -> quench_status>,
    pub cache_op: Option<unsafe extern "C" fn(*mut c_void, *const quench_cache_op, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_quantize_sink>() == 56);
const _: () = assert!(offset_of!(quench_quantize_sink, struct_size) == 0);
const _: () = assert!(offset_of!(quench_quantize_sink, context) == 8);
const _: () = assert!(offset_of!(quench_quantize_sink, tensor) == 16);
const _: () = assert!(offset_of!(quench_quantize_sink, number) == 24);
const _: () = assert!(offset_of!(quench_quantize_sink, text) == 32);
const _: () = assert!(offset_of!(quench_quantize_sink, linear_op) == 40);
const _: () = assert!(offset_of!(quench_quantize_sink, cache_op) == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_quantize_args {
    pub struct_size: u32,
    pub flags: u32,
    pub linear: u32,
    pub weight: *const quench_tensor,
    pub dequantized: *const quench_tensor,
    pub sink: *const quench_quantize_sink,
    pub stream: *mut c_void,
}
const _: () = assert!(size_of::<quench_quantize_args>() == 48);
const _: () = assert!(offset_of!(quench_quantize_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_quantize_args, flags) == 4);
const _: () = assert!(offset_of!(quench_quantize_args, linear) == 8);
const _: () = assert!(offset_of!(quench_quantize_args, weight) == 16);
const _: () = assert!(offset_of!(quench_quantize_args, dequantized) == 24);
const _: () = assert!(offset_of!(quench_quantize_args, sink) == 32);
const _: () = assert!(offset_of!(quench_quantize_args, stream) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_group_weights_args {
    pub struct_size: u32,
    pub flags: u32,
    pub count: u32,
    pub weights: *const quench_tensor,
    pub stream: *mut c_void,
}
const _: () = assert!(size_of::<quench_group_weights_args>() == 32);
const _: () = assert!(offset_of!(quench_group_weights_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_group_weights_args, flags) == 4);
const _: () = assert!(offset_of!(quench_group_weights_args, count) == 8);
const _: () = assert!(offset_of!(quench_group_weights_args, weights) == 16);
const _: () = assert!(offset_of!(quench_group_weights_args, stream) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_group_memory_args {
    pub struct_size: u32,
    pub flags: u32,
    pub info: *const quench_group_info,
    pub in_features: i64,
    pub row_dtype: quench_dtype,
    pub weight_dtype: quench_dtype,
}
const _: () = assert!(size_of::<quench_group_memory_args>() == 32);
const _: () = assert!(offset_of!(quench_group_memory_args, struct_size) == 0);
const _: () = assert!(offset_of!(quench_group_memory_args, flags) == 4);
const _: () = assert!(offset_of!(quench_group_memory_args, info) == 8);
const _: () = assert!(offset_of!(quench_group_memory_args, in_features) == 16);
const _: () = assert!(offset_of!(quench_group_memory_args, row_dtype) == 24);
const _: () = assert!(offset_of!(quench_group_memory_args, weight_dtype) == 28);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_group_memory {
    pub struct_size: u32,
    pub flags: u32,
    pub observing: u64,
    pub shared: u64,
    pub each: u64,
    pub linear: u64,
}
const _: () = assert!(size_of::<quench_group_memory>() == 40);
const _: () = assert!(offset_of!(quench_group_memory, struct_size) == 0);
const _: () = assert!(offset_of!(quench_group_memory, flags) == 4);
const _: () = assert!(offset_of!(quench_group_memory, observing) == 8);
const _: () = assert!(offset_of!(quench_group_memory, shared) == 16);
const _: () = assert!(offset_of!(quench_group_memory, each) == 24);
const _: () = assert!(offset_of!(quench_group_memory, linear) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_quantizer_table {
    pub struct_size: u32,
    pub create: Option<unsafe extern "C" fn(*const c_char, u64, *mut *mut quench_quantizer, *mut quench_error) -> quench_status>,
    pub destroy: Option<unsafe extern "C" fn(*mut quench_quantizer)>,
    pub needs: Option<unsafe extern "C" fn(*const quench_quantizer) -> u32>,
    pub begin: Option<unsafe extern "C" fn(*mut quench_quantizer, *const quench_group_args, *mut *mut quench_quantizer_state, *mut quench_error) -> quench_status>,
    pub observe: Option<unsafe extern "C" fn(*mut quench_quantizer, *mut quench_quantizer_state, *const quench_observe_args, *mut quench_error) -> quench_status>,
    pub quantize: Option<unsafe extern "C" fn(*mut quench_quantizer, *mut quench_quantizer_state, *const quench_quantize_args, *mut quench_error) -> quench_status>,
    pub end: Option<unsafe extern "C" fn(*mut quench_quantizer, *mut quench_quantizer_state)>,
    pub gram_get: Option<unsafe extern "C" fn(*mut quench_quantizer, *mut quench_quantizer_state, *mut quench_tensor, *mut f64, *mut quench_error) -> quench_status>,
    pub gram_set: Option<unsafe extern "C" fn(*mut quench_quantizer, *mut quench_quantizer_state, *const quench_tensor, f64, *mut quench_error) -> quench_status>,
    pub output_error: Option<unsafe extern "C" fn(*mut quench_quantizer, *mut quench_quantizer_state, *const quench_tensor, *const quench_tensor, *mut f64, *mut f64, *mut quench_error) -> quench_status>,
    pub accepts: Option<unsafe extern "C" fn(*const quench_quantizer, *const quench_quantizer) -> i32>,
    pub prepare: Option<unsafe extern "C" fn(*mut quench_quantizer, *mut quench_quantizer_state, *const quench_group_weights_args, *mut quench_error) -> quench_status>,
    pub rule_fits: Option<unsafe extern "C" fn(*const quench_quantizer, u64, *const c_char) -> i32>,
    pub predict_memory: Option<unsafe extern "C" fn(*const quench_quantizer, *const quench_group_memory_args, *mut quench_group_memory, *mut quench_error) -> quench_status>,
    pub apply_plan: Option<unsafe extern "C" fn(*mut quench_quantizer, *const quench_model_editor, *mut quench_error) -> quench_status>,
    pub begin_pass: Option<unsafe extern "C" fn(*mut quench_quantizer)>,
}
const _: () = assert!(size_of::<quench_quantizer_table>() == 136);
const _: () = assert!(offset_of!(quench_quantizer_table, struct_size) == 0);
const _: () = assert!(offset_of!(quench_quantizer_table, create) == 8);
const _: () = assert!(offset_of!(quench_quantizer_table, destroy) == 16);
const _: () = assert!(offset_of!(quench_quantizer_table, needs) == 24);
const _: () = assert!(offset_of!(quench_quantizer_table, begin) == 32);
const _: () = assert!(offset_of!(quench_quantizer_table, observe) == 40);
const _: () = assert!(offset_of!(quench_quantizer_table, quantize) == 48);
const _: () = assert!(offset_of!(quench_quantizer_table, end) == 56);
const _: () = assert!(offset_of!(quench_quantizer_table, gram_get) == 64);
const _: () = assert!(offset_of!(quench_quantizer_table, gram_set) == 72);
const _: () = assert!(offset_of!(quench_quantizer_table, output_error) == 80);
const _: () = assert!(offset_of!(quench_quantizer_table, accepts) == 88);
const _: () = assert!(offset_of!(quench_quantizer_table, prepare) == 96);
const _: () = assert!(offset_of!(quench_quantizer_table, rule_fits) == 104);
const _: () = assert!(offset_of!(quench_quantizer_table, predict_memory) == 112);
const _: () = assert!(offset_of!(quench_quantizer_table, apply_plan) == 120);
const _: () = assert!(offset_of!(quench_quantizer_table, begin_pass) == 128);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_file_head {
    pub struct_size: u32,
    pub name: *const c_char,
    pub bytes: *const c_char,
    pub count: u64,
    pub size: u64,
}
const _: () = assert!(size_of::<quench_file_head>() == 40);
const _: () = assert!(offset_of!(quench_file_head, struct_size) == 0);
const _: () = assert!(offset_of!(quench_file_head, name) == 8);
const _: () = assert!(offset_of!(quench_file_head, bytes) == 16);
const _: () = assert!(offset_of!(quench_file_head, count) == 24);
const _: () = assert!(offset_of!(quench_file_head, size) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_text_batch {
    pub struct_size: u32,
    pub flags: u32,
    pub count: u64,
    pub text: *const c_char,
    pub offsets: *const u64,
}
const _: () = assert!(size_of::<quench_text_batch>() == 32);
const _: () = assert!(offset_of!(quench_text_batch, struct_size) == 0);
const _: () = assert!(offset_of!(quench_text_batch, flags) == 4);
const _: () = assert!(offset_of!(quench_text_batch, count) == 8);
const _: () = assert!(offset_of!(quench_text_batch, text) == 16);
const _: () = assert!(offset_of!(quench_text_batch, offsets) == 24);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_id_sink {
    pub struct_size: u32,
    pub context: *mut c_void,
    pub allocate: Option<unsafe extern "C" fn(*mut c_void, *const u64, u64) -> *mut i32>,
}
const _: () = assert!(size_of::<quench_id_sink>() == 24);
const _: () = assert!(offset_of!(quench_id_sink, struct_size) == 0);
const _: () = assert!(offset_of!(quench_id_sink, context) == 8);
const _: () = assert!(offset_of!(quench_id_sink, allocate) == 16);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_tokenizer_table {
    pub struct_size: u32,
    pub probe: Option<unsafe extern "C" fn(*const quench_file_head, *mut quench_error) -> i32>,
    pub open: Option<unsafe extern "C" fn(*const c_char, u64, *const c_char, *const c_char, u64, *mut *mut quench_encoder, *mut quench_error) -> quench_status>,
    pub close: Option<unsafe extern "C" fn(*mut quench_encoder)>,
    pub vocabulary_size: Option<unsafe extern "C" fn(*const quench_encoder) -> u64>,
    pub encode: Option<unsafe extern "C" fn(*mut quench_encoder, *const quench_text_batch, *const quench_id_sink, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_tokenizer_table>() == 48);
const _: () = assert!(offset_of!(quench_tokenizer_table, struct_size) == 0);
const _: () = assert!(offset_of!(quench_tokenizer_table, probe) == 8);
const _: () = assert!(offset_of!(quench_tokenizer_table, open) == 16);
const _: () = assert!(offset_of!(quench_tokenizer_table, close) == 24);
const _: () = assert!(offset_of!(quench_tokenizer_table, vocabulary_size) == 32);
const _: () = assert!(offset_of!(quench_tokenizer_table, encode) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_model_editor {
    pub struct_size: u32,
    pub flags: u32,
    pub context: *mut c_void,
    pub info: *const quench_model_info,
    pub blocks: *const *const quench_block_info,
    pub parameter_count: u64,
    pub parameters: *const quench_parameter_info,
    pub residual: *const quench_residual_info,
    pub no_residual: *const c_char,
    pub get: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const quench_tensor, *mut quench_error) -> quench_status>,
    pub set: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const quench_tensor, *mut quench_error) -> quench_status>,
    pub change: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, *mut quench_error) -> quench_status>,
    pub divide_inputs: Option<unsafe extern "C" fn(*mut c_void, u32, u32, *const quench_tensor, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_model_editor>() == 96);
const _: () = assert!(offset_of!(quench_model_editor, struct_size) == 0);
const _: () = assert!(offset_of!(quench_model_editor, flags) == 4);
const _: () = assert!(offset_of!(quench_model_editor, context) == 8);
const _: () = assert!(offset_of!(quench_model_editor, info) == 16);
const _: () = assert!(offset_of!(quench_model_editor, blocks) == 24);
const _: () = assert!(offset_of!(quench_model_editor, parameter_count) == 32);
const _: () = assert!(offset_of!(quench_model_editor, parameters) == 40);
const _: () = assert!(offset_of!(quench_model_editor, residual) == 48);
const _: () = assert!(offset_of!(quench_model_editor, no_residual) == 56);
const _: () = assert!(offset_of!(quench_model_editor, get) == 64);
const _: () = assert!(offset_of!(quench_model_editor, set) == 72);
const _: () = assert!(offset_of!(quench_model_editor, change) == 80);
const _: () = assert!(offset_of!(quench_model_editor, divide_inputs) == 88);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_transform_table {
    pub struct_size: u32,
    pub create: Option<unsafe extern "C" fn(*const c_char, u64, *mut *mut quench_transform, *mut quench_error) -> quench_status>,
    pub destroy: Option<unsafe extern "C" fn(*mut quench_transform)>,
    pub needs: Option<unsafe extern "C" fn(*const quench_transform) -> u32>,
    pub observe: Option<unsafe extern "C" fn(*mut quench_transform, *const quench_group_args, *const quench_observe_args, *mut quench_error) -> quench_status>,
    pub apply: Option<unsafe extern "C" fn(*mut quench_transform, *const quench_model_editor, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_transform_table>() == 48);
const _: () = assert!(offset_of!(quench_transform_table, struct_size) == 0);
const _: () = assert!(offset_of!(quench_transform_table, create) == 8);
const _: () = assert!(offset_of!(quench_transform_table, destroy) == 16);
const _: () = assert!(offset_of!(quench_transform_table, needs) == 24);
const _: () = assert!(offset_of!(quench_transform_table, observe) == 32);
const _: () = assert!(offset_of!(quench_transform_table, apply) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_item {
    pub struct_size: u32,
    pub flags: u32,
    pub kind: *const c_char,
    pub id: *const c_char,
    pub version: *const c_char,
    pub summary: *const c_char,
    pub reference: *const c_char,
    pub example: *const c_char,
    pub parameter_count: u32,
    pub parameters: *const quench_parameter,
    pub table: *const c_void,
    pub presets_json: *const c_char,
    pub model_types: *const c_char,
}
const _: () = assert!(size_of::<quench_item>() == 96);
const _: () = assert!(offset_of!(quench_item, struct_size) == 0);
const _: () = assert!(offset_of!(quench_item, flags) == 4);
const _: () = assert!(offset_of!(quench_item, kind) == 8);
const _: () = assert!(offset_of!(quench_item, id) == 16);
const _: () = assert!(offset_of!(quench_item, version) == 24);
const _: () = assert!(offset_of!(quench_item, summary) == 32);
const _: () = assert!(offset_of!(quench_item, reference) == 40);
const _: () = assert!(offset_of!(quench_item, example) == 48);
const _: () = assert!(offset_of!(quench_item, parameter_count) == 56);
const _: () = assert!(offset_of!(quench_item, parameters) == 64);
const _: () = assert!(offset_of!(quench_item, table) == 72);
const _: () = assert!(offset_of!(quench_item, presets_json) == 80);
const _: () = assert!(offset_of!(quench_item, model_types) == 88);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_module {
    pub struct_size: u32,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub min_host_minor: u32,
    pub id: *const c_char,
    pub version: *const c_char,
    pub build: *const c_char,
    pub init: Option<unsafe extern "C" fn(*const quench_host, *mut quench_error) -> quench_status>,
    pub shutdown: Option<unsafe extern "C" fn()>,
    pub item_count: u32,
    pub items: *const *const quench_item,
}
const _: () = assert!(size_of::<quench_module>() == 72);
const _: () = assert!(offset_of!(quench_module, struct_size) == 0);
const _: () = assert!(offset_of!(quench_module, abi_major) == 4);
const _: () = assert!(offset_of!(quench_module, abi_minor) == 8);
const _: () = assert!(offset_of!(quench_module, min_host_minor) == 12);
const _: () = assert!(offset_of!(quench_module, id) == 16);
const _: () = assert!(offset_of!(quench_module, version) == 24);
const _: () = assert!(offset_of!(quench_module, build) == 32);
const _: () = assert!(offset_of!(quench_module, init) == 40);
const _: () = assert!(offset_of!(quench_module, shutdown) == 48);
const _: () = assert!(offset_of!(quench_module, item_count) == 56);
const _: () = assert!(offset_of!(quench_module, items) == 64);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_parameter {
    pub struct_size: u32,
    pub r#type: i32,
    pub name: *const c_char,
    pub default_json: *const c_char,
    pub minimum: f64,
    pub maximum: f64,
    pub choices: *const c_char,
    pub meaning: *const c_char,
}
const _: () = assert!(size_of::<quench_parameter>() == 56);
const _: () = assert!(offset_of!(quench_parameter, struct_size) == 0);
const _: () = assert!(offset_of!(quench_parameter, r#type) == 4);
const _: () = assert!(offset_of!(quench_parameter, name) == 8);
const _: () = assert!(offset_of!(quench_parameter, default_json) == 16);
const _: () = assert!(offset_of!(quench_parameter, minimum) == 24);
const _: () = assert!(offset_of!(quench_parameter, maximum) == 32);
const _: () = assert!(offset_of!(quench_parameter, choices) == 40);
const _: () = assert!(offset_of!(quench_parameter, meaning) == 48);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_tensor_info {
    pub struct_size: u32,
    pub name: *const c_char,
    pub dtype: quench_dtype,
    pub dimensions: i32,
    pub shape: *const i64,
    pub shared_with: u64,
}
const _: () = assert!(size_of::<quench_tensor_info>() == 40);
const _: () = assert!(offset_of!(quench_tensor_info, struct_size) == 0);
const _: () = assert!(offset_of!(quench_tensor_info, name) == 8);
const _: () = assert!(offset_of!(quench_tensor_info, dtype) == 16);
const _: () = assert!(offset_of!(quench_tensor_info, dimensions) == 20);
const _: () = assert!(offset_of!(quench_tensor_info, shape) == 24);
const _: () = assert!(offset_of!(quench_tensor_info, shared_with) == 32);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_source {
    pub struct_size: u32,
    pub context: *mut c_void,
    pub count: Option<unsafe extern "C" fn(*const quench_source) -> u64>,
    pub info: Option<unsafe extern "C" fn(*const quench_source, u64, *mut quench_tensor_info, *mut quench_error) -> quench_status>,
    pub find: Option<unsafe extern "C" fn(*const quench_source, *const c_char, *mut u64, *mut quench_error) -> quench_status>,
    pub read: Option<unsafe extern "C" fn(*const quench_source, u64, u64, u64, *mut c_void, *mut quench_error) -> quench_status>,
}
const _: () = assert!(size_of::<quench_source>() == 48);
const _: () = assert!(offset_of!(quench_source, struct_size) == 0);
const _: () = assert!(offset_of!(quench_source, context) == 8);
const _: () = assert!(offset_of!(quench_source, count) == 16);
const _: () = assert!(offset_of!(quench_source, info) == 24);
const _: () = assert!(offset_of!(quench_source, find) == 32);
const _: () = assert!(offset_of!(quench_source, read) == 40);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_error {
    pub struct_size: u32,
    pub code: i32,
    pub message: [c_char; 504],
}
const _: () = assert!(size_of::<quench_error>() == 512);
const _: () = assert!(offset_of!(quench_error, struct_size) == 0);
const _: () = assert!(offset_of!(quench_error, code) == 4);
const _: () = assert!(offset_of!(quench_error, message) == 8);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_device {
    pub r#type: i32,
    pub index: i32,
}
const _: () = assert!(size_of::<quench_device>() == 8);
const _: () = assert!(offset_of!(quench_device, r#type) == 0);
const _: () = assert!(offset_of!(quench_device, index) == 4);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_dtype {
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
}
const _: () = assert!(size_of::<quench_dtype>() == 4);
const _: () = assert!(offset_of!(quench_dtype, code) == 0);
const _: () = assert!(offset_of!(quench_dtype, bits) == 1);
const _: () = assert!(offset_of!(quench_dtype, lanes) == 2);

#[repr(C)]
#[derive(Clone, Copy)]
pub struct quench_tensor {
    pub data: *mut c_void,
    pub device: quench_device,
    pub dimensions: i32,
    pub dtype: quench_dtype,
    pub shape: *const i64,
    pub strides: *const i64,
    pub byte_offset: u64,
}
const _: () = assert!(size_of::<quench_tensor>() == 48);
const _: () = assert!(offset_of!(quench_tensor, data) == 0);
const _: () = assert!(offset_of!(quench_tensor, device) == 8);
const _: () = assert!(offset_of!(quench_tensor, dimensions) == 16);
const _: () = assert!(offset_of!(quench_tensor, dtype) == 20);
const _: () = assert!(offset_of!(quench_tensor, shape) == 24);
const _: () = assert!(offset_of!(quench_tensor, strides) == 32);
const _: () = assert!(offset_of!(quench_tensor, byte_offset) == 40);
