//! rust_rounding: rounding to nearest with one scale for each row, in Rust.
//!
//! | parameter | type | default | range  | meaning       |
//! |-----------|------|---------|--------|---------------|
//! | bits      | int  | 4       | 2 .. 8 | bits per code |
//!
//!     quantizers:
//!       - rust_rounding: {bits: 4}
//!
//! scale = max|w| / (2^(bits-1) - 1), code = round(w / scale) + 2^(bits-1). Built with `cargo build --release`; the plugin is
//! target/release/librust_rounding.so.
use core::ffi::{c_char, c_void, CStr};
use core::mem::size_of;
use core::ptr::{null, null_mut};
use core::slice::{from_raw_parts, from_raw_parts_mut};
use quench_abi::*;
use std::sync::atomic::{AtomicPtr, Ordering};

static HOST: AtomicPtr<quench_host> = AtomicPtr::new(null_mut());

struct Rounding {
    bits: u32,
}

// One line, as every message: what, where, got, wanted.
unsafe fn report(error: *mut quench_error, status: quench_status, text: &str) -> quench_status {
    if let Some(error) = error.as_mut() {
        error.code = status;
        let kept = text.len().min(error.message.len() - 1);
        for (to, from) in error.message.iter_mut().zip(&text.as_bytes()[..kept]) {
            *to = *from as c_char;
        }
        error.message[kept] = 0;
    }
    status
}

// The host parses parameters, and has checked them: an object with every parameter of the schema.
unsafe fn integer(json: *const c_char, bytes: u64, key: &CStr) -> Option<i64> {
    let host = HOST.load(Ordering::Acquire);
    let service = ((*host).service?)(host, QUENCH_SERVICE_JSON.as_ptr()) as *const quench_json;
    let service = service.as_ref()?;
    let mut document = null_mut();
    if (service.parse?)(host, c"parameters".as_ptr(), json, bytes, &mut document, null_mut()) != QUENCH_OK {
        return None;
    }
    let member = (service.member?)((service.root?)(document), key.as_ptr(), key.count_bytes() as u64);
    let mut value = 0;
    let status = if member.is_null() { QUENCH_NOT_FOUND } else { (service.integer?)(member, &mut value) };
    (service.release?)(document);
    (status == QUENCH_OK).then_some(value)
}

unsafe extern "C" fn create(json: *const c_char, bytes: u64, out: *mut *mut quench_quantizer, error: *mut quench_error) -> quench_status {
    match integer(json, bytes, c"bits") {
        Some(bits @ 2..=8) => {
            *out = Box::into_raw(Box::new(Rounding { bits: bits as u32 })) as *mut quench_quantizer;
            QUENCH_OK
        }
        other => report(error, QUENCH_INVALID_ARGUMENT, &format!("bits = {other:?}, wanted 2..8")),
    }
}

unsafe extern "C" fn destroy(quantizer: *mut quench_quantizer) {
    drop(Box::from_raw(quantizer as *mut Rounding));
}

unsafe extern "C" fn needs(_: *const quench_quantizer) -> u32 {
    0
}

// Nothing is derived from a group's rows, so its state is the group's description.
unsafe extern "C" fn begin(
    _: *mut quench_quantizer, args: *const quench_group_args, state: *mut *mut quench_quantizer_state, _: *mut quench_error,
) -> quench_status {
    *state = (*args).info as *mut quench_quantizer_state;
    QUENCH_OK
}

unsafe extern "C" fn observe(
    _: *mut quench_quantizer, _: *mut quench_quantizer_state, _: *const quench_observe_args, _: *mut quench_error,
) -> quench_status {
    QUENCH_OK
}

unsafe extern "C" fn end(_: *mut quench_quantizer, _: *mut quench_quantizer_state) {}

// Memory of the host's for a tensor of the result.
unsafe fn tensor<'a, T>(
    sink: &quench_quantize_sink, name: &CStr, code: i32, shape: &[i64], error: *mut quench_error,
) -> Result<&'a mut [T], quench_status> {
    let dtype = quench_dtype { code: code as u8, bits: 8 * size_of::<T>() as u8, lanes: 1 };
    let mut view: quench_tensor = core::mem::zeroed();
    let make = sink.tensor.ok_or(QUENCH_INTERNAL)?;
    match make(sink.context, name.as_ptr(), dtype, shape.len() as i32, shape.as_ptr(), &mut view, error) {
        QUENCH_OK => Ok(from_raw_parts_mut(view.data as *mut T, shape.iter().product::<i64>() as usize)),
        status => Err(status),
    }
}

// f32 or f64, as the weight is; in C order.
trait Element: Copy {
    fn wide(self) -> f64;
    fn round(value: f64) -> Self;
}
impl Element for f32 {
    fn wide(self) -> f64 { self as f64 }
    fn round(value: f64) -> f32 { value as f32 }
}
impl Element for f64 {
    fn wide(self) -> f64 { self }
    fn round(value: f64) -> f64 { value }
}

unsafe fn rounded<T: Element>(
    bits: u32, linear: &quench_linear_info, args: &quench_quantize_args, error: *mut quench_error,
) -> Result<(), quench_status> {
    let (rows, columns) = (linear.out_features as usize, linear.in_features as usize);
    let at = |view: &quench_tensor| (view.data as *mut u8).add(view.byte_offset as usize) as *mut T;
    let weight = from_raw_parts(at(&*args.weight), rows * columns);
    let dequantized = from_raw_parts_mut(at(&*args.dequantized), rows * columns);
    let sink = &*args.sink;
    let codes = tensor::<u8>(sink, c"codes", QUENCH_DTYPE_UINT, &[rows as i64, columns as i64], error)?;
    let scales = tensor::<f32>(sink, c"scales", QUENCH_DTYPE_FLOAT, &[rows as i64, 1], error)?;
    let zeros = tensor::<f32>(sink, c"zeros", QUENCH_DTYPE_FLOAT, &[rows as i64, 1], error)?;
    tensor::<i32>(sink, c"g_idx", QUENCH_DTYPE_INT, &[columns as i64], error)?.fill(0);
    let zero = f64::from(1u32 << (bits - 1));
    for row in 0..rows {
        let from = &weight[row * columns..(row + 1) * columns];
        if let Some(value) = from.iter().map(|w| w.wide()).find(|w| !w.is_finite()) {
            let name = CStr::from_ptr(linear.weight).to_string_lossy();
            return Err(report(error, QUENCH_NUMERICAL, &format!("{name}: a weight is {value}")));
        }
        let largest = from.iter().fold(0.0, |most: f64, w| most.max(w.wide().abs()));
        scales[row] = (largest / (zero - 1.0)) as f32;
        zeros[row] = zero as f32;
        for (column, value) in from.iter().enumerate() {
            let scale = f64::from(scales[row]);
            let step = if scale == 0.0 { 0.0 } else { (value.wide() / scale).round_ties_even().clamp(-zero, zero - 1.0) };
            codes[row * columns + column] = (step + zero) as u8;
            dequantized[row * columns + column] = T::round(step * scale);
        }
    }
    let spent = f64::from(bits) + 32.0 / columns as f64; // the zero is constant and is not stored
    match sink.number.ok_or(QUENCH_INTERNAL)?(sink.context, c"bits_per_weight".as_ptr(), spent, error) {
        QUENCH_OK => Ok(()),
        status => Err(status),
    }
}

unsafe extern "C" fn quantize(
    quantizer: *mut quench_quantizer, state: *mut quench_quantizer_state, args: *const quench_quantize_args, error: *mut quench_error,
) -> quench_status {
    let bits = (*(quantizer as *const Rounding)).bits;
    let linear = &*(*(state as *const quench_group_info)).linears.add((*args).linear as usize);
    let done = match (*(*args).weight).dtype.bits {
        64 => rounded::<f64>(bits, linear, &*args, error),
        _ => rounded::<f32>(bits, linear, &*args, error),
    };
    done.err().unwrap_or(QUENCH_OK)
}

unsafe extern "C" fn init(host: *const quench_host, _: *mut quench_error) -> quench_status {
    HOST.store(host as *mut quench_host, Ordering::Release);
    QUENCH_OK
}

// Constant data that the host reads from any thread.
struct Constant<T>(T);
unsafe impl<T> Sync for Constant<T> {}

static PARAMETERS: Constant<[quench_parameter; 1]> = Constant([quench_parameter {
    struct_size: size_of::<quench_parameter>() as u32,
    r#type: QUENCH_PARAMETER_INTEGER,
    name: c"bits".as_ptr(),
    default_json: c"4".as_ptr(),
    minimum: 2.0,
    maximum: 8.0,
    choices: null(),
    meaning: c"bits per code".as_ptr(),
}]);
static TABLE: Constant<quench_quantizer_table> = Constant(quench_quantizer_table {
    struct_size: size_of::<quench_quantizer_table>() as u32,
    create: Some(create),
    destroy: Some(destroy),
    needs: Some(needs),
    begin: Some(begin),
    observe: Some(observe),
    quantize: Some(quantize),
    end: Some(end),
    gram_get: None,
    gram_set: None,
    output_error: None,
    accepts: None,
    prepare: None,
    rule_fits: None,
    predict_memory: None,
    apply_plan: None,
    begin_pass: None,
});
static ITEM: Constant<quench_item> = Constant(quench_item {
    struct_size: size_of::<quench_item>() as u32,
    flags: 0,
    kind: QUENCH_KIND_QUANTIZER.as_ptr(),
    id: c"rust_rounding".as_ptr(),
    version: c"0.1.0".as_ptr(),
    summary: c"Rounding to nearest with one scale for each row, in Rust.".as_ptr(),
    reference: null(),
    example: c"{bits: 4}".as_ptr(),
    parameter_count: 1,
    parameters: PARAMETERS.0.as_ptr(),
    table: &TABLE.0 as *const quench_quantizer_table as *const c_void,
    presets_json: null(),
    model_types: null(),
});
static ITEMS: Constant<[*const quench_item; 1]> = Constant([&ITEM.0]);
static MODULE: Constant<quench_module> = Constant(quench_module {
    struct_size: size_of::<quench_module>() as u32,
    abi_major: QUENCH_ABI_MAJOR,
    abi_minor: QUENCH_ABI_MINOR,
    min_host_minor: 0,
    id: c"rust_rounding".as_ptr(),
    version: c"0.1.0".as_ptr(),
    build: c"Rust".as_ptr(),
    init: Some(init),
    shutdown: None,
    item_count: 1,
    items: ITEMS.0.as_ptr(),
});

#[no_mangle]
pub extern "C" fn quench_module_v1() -> *const quench_module {
    &MODULE.0
}
