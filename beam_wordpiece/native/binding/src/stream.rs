//! A document that comes in pieces, and what is carried from one to the next.

use crate::arrow::{EncodedColumn, Texts};
use crate::encoding::Encoding;
use crate::{Encoder, SHORT, counts, exception, guard, kernel_error, run};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use wordpiece::document::Document;
use wordpiece::encoder::{Encoded, Part, encode_parts};
use wordpiece::error::Error;
use wordpiece::state;

/// Flags of a state.
const ADD_SPECIAL_TOKENS: u64 = 1;

/// See `beam_wordpiece.Stream`.
#[pyclass(module = "beam_wordpiece._core")]
pub struct Stream {
    encoder: Py<Encoder>,
    document: Document,
}

impl Stream {
    /// Encode parts that go on with the document. After an error nothing has changed.
    fn parts<'t>(
        &mut self,
        encoder: &Encoder,
        parts: impl Iterator<Item = Part<'t>> + Clone,
        out: &mut Encoded,
    ) -> Result<(), Error> {
        let before = (encoder.options.strict || encoder.kernel.refuses_text()).then(|| self.document.clone());
        let mut buffers = encoder.idle.take();
        let (document, workspace) = (&mut self.document, &mut buffers.workspace);
        let result = encode_parts(&encoder.kernel, parts.clone(), &encoder.options, document, workspace, out);
        encoder.idle.put(buffers);
        if result.is_err()
            && let Some(before) = before
        {
            self.document = before;
            if encoder.options.strict {
                // The place in the document, which may have begun long before the row.
                self.document.check(parts)?;
            }
        }
        result
    }

    /// The ids of parts, side by side.
    fn encoding<'t>(
        &mut self,
        py: Python<'_>,
        length: usize,
        fed: Fed,
        parts: impl Iterator<Item = Part<'t>> + Clone + Send,
    ) -> PyResult<Encoding> {
        let bound = self.encoder.clone_ref(py).into_bound(py);
        let encoder = bound.get();
        let mut out = Encoded::default();
        let work = || self.parts(encoder, parts, &mut out);
        let encoded = if length <= SHORT { guard(work) } else { run(py, work) };
        encoded?.map_err(|error| stream_error(py, error, fed))?;
        Ok(Encoding::of_part(out, &bound, self.document.has_offsets()))
    }
}

/// There is an end for each chunk.
pub fn require_ends(py: Python<'_>, texts: &Texts, ends: &[u8]) -> PyResult<()> {
    if ends.len() == texts.rows() {
        return Ok(());
    }
    let message = format!("there are {} chunks, and {} ends", texts.rows(), ends.len());
    Err(exception(py, "InputError", (message,)))
}

/// Chunks of one document after the other. `ends`: one byte for each of them, not 0 where a document ends.
pub fn parts_of<'t>(texts: &'t Texts, ends: &'t [u8]) -> impl Iterator<Item = Part<'t>> + Clone {
    texts.iter().zip(ends).map(|(text, &ends)| Part { text, ends: ends != 0 })
}

/// What was fed when text was refused.
#[derive(Clone, Copy)]
pub enum Fed {
    Rows,
    Chunk,
    End,
}

/// Text that is not UTF-8 is named by its place in the document, which may have begun long before the row.
pub fn stream_error(py: Python<'_>, error: Error, fed: Fed) -> PyErr {
    match error {
        Error::InvalidText { row, position } => {
            let what = match fed {
                Fed::Rows => format!("The chunk in row {row} is not UTF-8, at byte {position} of its document"),
                Fed::Chunk => format!("The chunk is not UTF-8, at byte {position} of its document"),
                Fed::End => format!("The document ends within a character, at byte {position}"),
            };
            let message = format!("{what}; repair it, or give errors=\"replace\" to read each bad part as U+FFFD.");
            let fault =
                format!("is not UTF-8, at byte {position} of the document; repair it, or set `errors` to replace.");
            exception(py, "TextError", (message, row, fault))
        }
        error => kernel_error(py, error),
    }
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (encoder, *, offsets))]
    fn new(encoder: Py<Encoder>, offsets: bool) -> Stream {
        let document = if offsets { Document::with_offsets() } else { Document::default() };
        Stream { encoder, document }
    }

    #[getter]
    fn offsets(&self) -> bool {
        self.document.has_offsets()
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, encoder: Py<Encoder>, data: &[u8]) -> PyResult<Stream> {
        let read = guard(|| state::from_bytes(&encoder.get().kernel, data))?;
        let (document, flags) = read.map_err(|error| kernel_error(py, error))?;
        let (had, has) = (flags & ADD_SPECIAL_TOKENS != 0, encoder.get().options.add_special_tokens);
        if had != has {
            let [had, has] = [had, has].map(|flag| if flag { "True" } else { "False" });
            let message = format!(
                "the stream had a tokenizer with add_special_tokens={had}, and this one has {has}; give it one like that"
            );
            return Err(exception(py, "ConfigError", (message,)));
        }
        Ok(Stream { encoder, document })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let encoder = self.encoder.get();
        let flags = u64::from(encoder.options.add_special_tokens) * ADD_SPECIAL_TOKENS;
        let bytes = guard(|| state::to_bytes(&encoder.kernel, flags, &self.document))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn feed(&mut self, py: Python<'_>, text: &str, ends: bool) -> PyResult<Encoding> {
        self.feed_bytes(py, text.as_bytes(), ends)
    }

    fn feed_bytes(&mut self, py: Python<'_>, text: &[u8], ends: bool) -> PyResult<Encoding> {
        let fed = if ends && text.is_empty() { Fed::End } else { Fed::Chunk };
        self.encoding(py, text.len(), fed, std::iter::once(Part { text: Some(text), ends }))
    }

    fn feed_arrays(&mut self, py: Python<'_>, arrays: Vec<Bound<'_, PyAny>>) -> PyResult<Encoding> {
        let texts = guard(|| Texts::import(&arrays))??;
        self.encoding(py, texts.bytes(), Fed::Rows, texts.iter().map(|text| Part { text, ends: false }))
    }

    fn feed_arrow<'py>(
        &mut self,
        py: Python<'py>,
        arrays: Vec<Bound<'py, PyAny>>,
        ends: &[u8],
    ) -> PyResult<(EncodedColumn, Bound<'py, PyDict>)> {
        let texts = guard(|| Texts::import(&arrays))??;
        require_ends(py, &texts, ends)?;
        let encoder = self.encoder.clone_ref(py);
        let encoder = encoder.get();
        let encoded = run(py, || {
            let mut out = Encoded { ids: encoder.pool.take(texts.bytes()), ..Encoded::default() };
            self.parts(encoder, parts_of(&texts, ends), &mut out).map(|()| out)
        })?;
        let out = encoded.map_err(|error| stream_error(py, error, Fed::Rows))?;
        let documents = ends.iter().filter(|&&ends| ends != 0).count();
        let counts = counts(py, documents, texts.bytes(), &out)?;
        let column = run(py, || EncodedColumn::new(out, None, &encoder.pool))?;
        Ok((column, counts))
    }
}
