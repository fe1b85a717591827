//! Arrow arrays in and out, by the PyCapsule interface.
//!
//! The C data interface says nothing of the sizes of buffers and checks nothing: offsets are checked here, before any
//! text is looked at, and the kernel checks the text.

use crate::pool::Pool;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array, GenericListArray, Int32Array, Int64Array, LargeListArray, OffsetSizeTrait, StructArray};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Fields};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi::c_str;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyTuple};
use std::ffi::CStr;
use std::sync::Arc;
use wordpiece::encoder::Encoded;
use wordpiece::occurrences::Occurrences;

const ARRAY: &CStr = c_str!("arrow_array");
const SCHEMA: &CStr = c_str!("arrow_schema");

/// The texts of one array.
struct Column {
    /// One more than there are texts; they never go down and end inside `values`.
    offsets: Offsets,
    values: Buffer,
    nulls: Option<NullBuffer>,
    length: usize,
}

enum Offsets {
    Small(ScalarBuffer<i32>),
    Large(ScalarBuffer<i64>),
}

/// Texts of several arrays, one after the other.
pub struct Texts {
    columns: Vec<Column>,
}

fn invalid(py: Python<'_>, message: String) -> PyErr {
    crate::exception(py, "InputError", (message,))
}

/// Take the array out of an object with `__arrow_c_array__`.
fn import(object: &Bound<'_, PyAny>) -> PyResult<ArrayData> {
    let py = object.py();
    let capsules = object.call_method0("__arrow_c_array__")?;
    let capsules = capsules.cast::<PyTuple>().map_err(|_| PyTypeError::new_err("__arrow_c_array__ gave no tuple"))?;
    let schema = capsules.get_item(0)?;
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array = capsules.get_item(1)?;
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: a capsule of this name holds an ArrowSchema (PyCapsule interface), and the tuple keeps it alive.
    let schema = unsafe { schema.as_ref() };
    // SAFETY: the same for the ArrowArray.
    if unsafe { array.as_ref() }.is_released() {
        return Err(invalid(py, "the Arrow array was released: its capsule was used before".to_string()));
    }
    // SAFETY: the same; the consumer may move it out, and `from_raw` leaves a released one behind.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    let kind = DataType::try_from(schema).map_err(|error| invalid(py, format!("the Arrow array: {error}")))?;
    if !matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary) {
        return Err(invalid(py, format!("an Arrow array of type {kind} is not text")));
    }
    if array.is_empty() {
        // Its buffers may be missing.
        return Ok(ArrayData::new_empty(&kind));
    }
    // SAFETY: the array and its schema come from one call, so they belong together.
    unsafe { from_ffi(array, schema) }.map_err(|error| invalid(py, format!("the Arrow array: {error}")))
}

/// The offsets of an array, checked.
fn offsets<T: ArrowNativeType + Ord>(data: &ArrayData, values: usize) -> Result<ScalarBuffer<T>, String> {
    if data.is_empty() {
        return Ok(ScalarBuffer::from(vec![T::default()]));
    }
    let (buffer, end) = (&data.buffers()[0], data.offset() + data.len() + 1);
    if buffer.len() / size_of::<T>() < end {
        return Err(format!("it has fewer than {end} offsets"));
    }
    let offsets = ScalarBuffer::<T>::new(buffer.clone(), data.offset(), data.len() + 1);
    if !offsets.is_sorted() || offsets[0] < T::default() || offsets[data.len()].as_usize() > values {
        return Err("its offsets go down, or lie outside its text".into());
    }
    Ok(offsets)
}

impl Column {
    fn new(data: &ArrayData) -> Result<Column, String> {
        let values = data.buffers()[1].clone();
        let offsets = match data.data_type() {
            DataType::Utf8 | DataType::Binary => Offsets::Small(offsets(data, values.len())?),
            _ => Offsets::Large(offsets(data, values.len())?),
        };
        Ok(Column { offsets, values, nulls: data.nulls().cloned(), length: data.len() })
    }

    fn range(&self, i: usize) -> std::ops::Range<usize> {
        match &self.offsets {
            Offsets::Small(offsets) => offsets[i].as_usize()..offsets[i + 1].as_usize(),
            Offsets::Large(offsets) => offsets[i].as_usize()..offsets[i + 1].as_usize(),
        }
    }

    fn texts(&self) -> impl Iterator<Item = Option<&[u8]>> + Clone {
        let values = self.values.as_slice();
        (0..self.length).map(move |i| match &self.nulls {
            Some(nulls) if nulls.is_null(i) => None,
            _ => Some(&values[self.range(i)]),
        })
    }
}

impl Texts {
    /// Import arrays of string, large_string, binary or large_binary.
    pub fn import(arrays: &[Bound<'_, PyAny>]) -> PyResult<Texts> {
        let column = |object: &Bound<'_, PyAny>| {
            let mut data = import(object)?;
            data.align_buffers();
            Column::new(&data).map_err(|fault| invalid(object.py(), format!("the Arrow array is malformed: {fault}")))
        };
        Ok(Texts { columns: arrays.iter().map(column).collect::<PyResult<_>>()? })
    }

    /// The texts; None for nulls.
    pub fn iter(&self) -> impl Iterator<Item = Option<&[u8]>> + Clone {
        self.columns.iter().flat_map(Column::texts)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.iter().map(|column| column.length).sum()
    }

    /// Bytes of text, without what stands under nulls.
    pub fn bytes(&self) -> usize {
        self.iter().map(|text| text.map_or(0, <[u8]>::len)).sum()
    }

    /// Which rows are there.
    pub fn validity(&self) -> Option<NullBuffer> {
        let mut builder = NullBufferBuilder::new(self.rows());
        for column in &self.columns {
            match &column.nulls {
                Some(nulls) => builder.append_buffer(nulls),
                None => builder.append_n_non_nulls(column.length),
            }
        }
        builder.finish()
    }
}

/// A list column that gives itself to Arrow.
#[pyclass(frozen, module = "beam_wordpiece._core")]
pub struct EncodedColumn {
    data: ArrayData,
}

impl EncodedColumn {
    /// The column: a list, or a large list where 32-bit offsets do not hold the ids.
    pub fn new(encoded: Encoded, validity: Option<NullBuffer>, pool: &Arc<Pool>) -> EncodedColumn {
        let fits = i32::try_from(encoded.ids.len()).is_ok();
        let data = if fits { list::<i32>(encoded, validity, pool) } else { list::<i64>(encoded, validity, pool) };
        EncodedColumn { data }
    }

    /// The occurrences of keys: a large list of structs of start, end and number.
    pub fn of_occurrences(found: Occurrences, validity: Option<NullBuffer>) -> EncodedColumn {
        let numbers: Vec<i32> = found.keys.into_iter().map(|key| key as i32).collect();
        let fields = [("start", DataType::Int64), ("end", DataType::Int64), ("id", DataType::Int32)];
        let fields: Fields = fields.into_iter().map(|(name, kind)| Field::new(name, kind, true)).collect();
        let places = |places: Vec<i64>| Arc::new(Int64Array::from(places));
        let columns: Vec<Arc<dyn Array>> =
            vec![places(found.starts), places(found.ends), Arc::new(Int32Array::from(numbers))];
        let item = Arc::new(Field::new_list_field(DataType::Struct(fields.clone()), true));
        let offsets: Vec<i64> = std::iter::once(0).chain(found.rows.into_iter().map(|end| end as i64)).collect();
        let values = Arc::new(StructArray::new(fields, columns, None));
        EncodedColumn {
            data: LargeListArray::new(item, OffsetBuffer::new(offsets.into()), values, validity).into_data(),
        }
    }
}

fn list<T: OffsetSizeTrait>(encoded: Encoded, validity: Option<NullBuffer>, pool: &Arc<Pool>) -> ArrayData {
    let offsets: Vec<T> =
        std::iter::once(T::default()).chain(encoded.ends.iter().map(|&end| T::usize_as(end as usize))).collect();
    let count = encoded.ids.len();
    let ids = Int32Array::new(ScalarBuffer::new(pool.lend(encoded.ids), 0, count), None);
    let item = Arc::new(Field::new_list_field(DataType::Int32, true));
    GenericListArray::<T>::new(item, OffsetBuffer::new(offsets.into()), Arc::new(ids), validity).into_data()
}

#[pymethods]
impl EncodedColumn {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A producer need not follow the request; the consumer casts.
        drop(requested_schema);
        let (array, schema) = to_ffi(&self.data).map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        Ok((PyCapsule::new_with_value(py, schema, SCHEMA)?, PyCapsule::new_with_value(py, array, ARRAY)?))
    }
}
