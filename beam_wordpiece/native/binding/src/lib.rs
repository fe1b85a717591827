//! The compiled module `beam_wordpiece._core`: what Python calls. Types and docstrings are in `_core.pyi`.
//!
//! A batch goes through the kernel in one call, without the interpreter's lock, as does a text that is not short. No
//! panic gets out: it would reach Python as a BaseException, which nobody catches, so it becomes a RuntimeError here.

mod arrow;
mod encoding;
mod idle;
mod keywords;
mod pool;
mod stream;

use arrow::{EncodedColumn, Texts};
use encoding::Encoding;
use idle::{Buffers, Idle};
use keywords::{KeywordStream, Keywords};
use pool::Pool;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use stream::Stream;
use wordpiece::automaton::{Automaton as Kernel, OpenError};
use wordpiece::encoder::{EncodeOptions, Encoded, encode};
use wordpiece::error::Error;
use wordpiece::layout::Layout;
use wordpiece::options::{AddedToken, Options, Profile, Segmentation, Unknown, Vocabulary};
use wordpiece::simd::Level;

/// An exception of `beam_wordpiece.errors`.
fn exception(py: Python<'_>, class: &str, arguments: impl for<'a> pyo3::call::PyCallArgs<'a>) -> PyErr {
    let made = py
        .import("beam_wordpiece.errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1(arguments));
    made.map_or_else(|error| error, |instance| PyErr::from_value(instance))
}

fn kernel_error(py: Python<'_>, error: Error) -> PyErr {
    let message = error.to_string();
    match (&error, error.fault_of_text()) {
        (Error::InvalidText { row, .. }, _) => exception(py, "TextError", (message, *row)),
        (_, Some((fault, row))) => {
            exception(py, "TextError", (format!("The text in row {row} {fault}."), row, format!("{fault}.")))
        }
        (Error::Automaton(_), _) => exception(py, "AutomatonError", (message,)),
        _ => exception(py, "VocabularyError", (message,)),
    }
}

/// Run kernel code without the interpreter's lock; a panic in it becomes a RuntimeError.
fn run<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> PyResult<T> {
    py.detach(|| guard(work))
}

/// A panic becomes a RuntimeError.
fn guard<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        PyRuntimeError::new_err(format!("beam_wordpiece failed inside; please report this: {text}"))
    })
}

type AddedTuple = (String, u32, bool, bool, bool, bool, bool);

#[pyfunction]
#[pyo3(signature = (tokens, ids, *, profile, lowercase, strip_accents, clean_text, handle_chinese_chars, unk_token,
    continuing_subword_prefix, max_input_chars_per_word, pretokenize, unknown, added_tokens, prefix_ids, suffix_ids,
    metadata, backward=false, segmentation="greedy", unknown_cost=1, rules=vec![], layout="failure_links",
    sample=None))]
#[allow(clippy::too_many_arguments)]
fn compile(
    py: Python<'_>,
    tokens: Vec<String>,
    ids: Vec<u32>,
    profile: &str,
    lowercase: bool,
    strip_accents: bool,
    clean_text: bool,
    handle_chinese_chars: bool,
    unk_token: String,
    continuing_subword_prefix: String,
    max_input_chars_per_word: u32,
    pretokenize: bool,
    unknown: &str,
    added_tokens: Vec<AddedTuple>,
    prefix_ids: Vec<u32>,
    suffix_ids: Vec<u32>,
    metadata: String,
    backward: bool,
    segmentation: &str,
    unknown_cost: u32,
    rules: Vec<(String, String)>,
    layout: &str,
    sample: Option<Vec<Bound<'_, PyAny>>>,
) -> PyResult<Automaton> {
    if tokens.len() != ids.len() {
        let message = format!("there are {} tokens and {} ids", tokens.len(), ids.len());
        return Err(exception(py, "VocabularyError", (message,)));
    }
    let options = Options {
        profile: Profile::named(profile).map_err(|error| kernel_error(py, error))?,
        lowercase,
        strip_accents,
        clean_text,
        handle_chinese_chars,
        unk_token,
        continuing_subword_prefix,
        max_input_chars_per_word,
        pretokenize,
        unknown: Unknown::named(unknown).map_err(|error| kernel_error(py, error))?,
        backward,
        segmentation: Segmentation::named(segmentation).map_err(|error| kernel_error(py, error))?,
        unknown_cost,
        rules,
    };
    let added_tokens = added_tokens
        .into_iter()
        .map(|(content, id, special, single_word, lstrip, rstrip, normalized)| AddedToken {
            content,
            id,
            special,
            single_word,
            lstrip,
            rstrip,
            normalized,
        })
        .collect();
    let tokens = tokens.into_iter().zip(ids).collect();
    let vocabulary = Vocabulary { tokens, added_tokens, prefix_ids, suffix_ids, options, metadata };
    let layout = Layout::named(layout).map_err(|error| kernel_error(py, error))?;
    let sample = sample.map(|arrays| guard(|| Texts::import(&arrays))?).transpose()?;
    let compiled = run(py, || {
        let bytes = match &sample {
            None => wordpiece::compile::compile_with_layout(&vocabulary, layout),
            Some(texts) => wordpiece::compile::compile_with_sample(&vocabulary, layout, texts.iter()),
        };
        bytes.and_then(|bytes| Kernel::from_bytes(&bytes))
    })?;
    compiled.map(Automaton::new).map_err(|error| kernel_error(py, error))
}

#[pyclass(frozen, module = "beam_wordpiece._core")]
struct Automaton {
    kernel: Arc<Kernel>,
}

impl Automaton {
    fn new(kernel: Kernel) -> Automaton {
        Automaton { kernel: Arc::new(kernel) }
    }
}

#[pymethods]
impl Automaton {
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Automaton> {
        match run(py, || Kernel::open(&path))? {
            Ok(kernel) => Ok(Automaton::new(kernel)),
            Err(OpenError::Io(error)) => Err(error.into()),
            Err(OpenError::Automaton(error)) => Err(kernel_error(py, error)),
        }
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Automaton> {
        let opened = run(py, || Kernel::from_bytes(data))?;
        opened.map(Automaton::new).map_err(|error| kernel_error(py, error))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.kernel.as_bytes())
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.kernel.fingerprint().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[getter]
    fn metadata(&self, py: Python<'_>) -> PyResult<String> {
        run(py, || self.kernel.metadata().to_string())
    }

    #[getter]
    fn layout(&self) -> &'static str {
        Layout::of(&self.kernel).name()
    }

    fn sections(&self) -> Vec<(&'static str, usize)> {
        self.kernel.sections()
    }

    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let statistics = PyDict::new(py);
        for (name, count) in run(py, || self.kernel.statistics())? {
            statistics.set_item(name, count)?;
        }
        Ok(statistics)
    }

    fn vocabulary<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let tokens = guard(|| self.kernel.tokens())?;
        let offsets: Vec<u8> = tokens.offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
        Ok((PyBytes::new(py, tokens.bytes), PyBytes::new(py, &offsets)))
    }

    fn token(&self, py: Python<'_>, id: u32) -> PyResult<Option<String>> {
        run(py, || self.kernel.token(id).map(str::to_string))
    }

    fn id(&self, py: Python<'_>, token: &str) -> PyResult<Option<u32>> {
        run(py, || self.kernel.id(token))
    }
}

/// A text of more bytes is encoded without the interpreter's lock. A shorter one takes 5 µs, or 25 where all of it is
/// strange: nobody waits long for the lock, and letting go of it and taking it again would cost 0.2 µs, which is a good
/// part of the time of a line of text.
const SHORT: usize = 2048;

#[pyclass(frozen, module = "beam_wordpiece._core")]
struct Encoder {
    kernel: Arc<Kernel>,
    options: EncodeOptions,
    idle: Idle,
    pool: Arc<Pool>,
}

impl Encoder {
    fn encode_texts<'t>(&self, texts: impl Iterator<Item = Option<&'t [u8]>>, out: &mut Encoded) -> Result<(), Error> {
        let mut buffers = self.idle.take();
        let result = encode(&self.kernel, texts, &self.options, &mut buffers.workspace, out);
        self.idle.put(buffers);
        result
    }
}

#[pymethods]
impl Encoder {
    #[new]
    #[pyo3(signature = (automaton, *, add_special_tokens, strict))]
    fn new(py: Python<'_>, automaton: &Automaton, add_special_tokens: bool, strict: bool) -> PyResult<Encoder> {
        let options = EncodeOptions { add_special_tokens, strict, level: level(py)? };
        Ok(Encoder { kernel: automaton.kernel.clone(), options, idle: Idle::default(), pool: Arc::default() })
    }

    fn encode(slf: &Bound<'_, Self>, text: &Bound<'_, PyString>) -> PyResult<Encoding> {
        let (py, encoder, utf8) = (slf.py(), slf.get(), text.to_str()?);
        let mut buffers = encoder.idle.take();
        let work = || {
            let Buffers { workspace, out } = &mut *buffers;
            encode(&encoder.kernel, std::iter::once(Some(utf8.as_bytes())), &encoder.options, workspace, out)
        };
        let encoded = if utf8.len() <= SHORT { guard(work) } else { run(py, work) };
        encoded?.map_err(|error| kernel_error(py, error))?;
        let encoding = Encoding::of_text(&buffers.out.ids, slf, text);
        encoder.idle.put(buffers);
        Ok(encoding)
    }

    fn encode_arrow<'py>(
        &self,
        py: Python<'py>,
        arrays: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<(EncodedColumn, Bound<'py, PyDict>)> {
        let texts = guard(|| Texts::import(&arrays))??;
        let bytes = texts.bytes();
        let encoded = run(py, || {
            let mut out = Encoded { ids: self.pool.take(bytes), ..Encoded::default() };
            self.encode_texts(texts.iter(), &mut out).map(|()| out)
        })?;
        let out = encoded.map_err(|error| kernel_error(py, error))?;
        let counts = counts(py, texts.rows(), bytes, &out)?;
        let column = run(py, || EncodedColumn::new(out, texts.validity(), &self.pool))?;
        Ok((column, counts))
    }
}

/// What was counted, as `beam_wordpiece.Counts` has it.
fn counts<'py>(py: Python<'py>, documents: usize, bytes: usize, out: &Encoded) -> PyResult<Bound<'py, PyDict>> {
    let counts = PyDict::new(py);
    let counted = [
        ("documents", documents),
        ("nulls", out.nulls),
        ("bytes", bytes),
        ("tokens", out.ids.len()),
        ("unknowns", out.unknowns),
        ("invalid", out.invalid),
    ];
    counted.into_iter().try_for_each(|(name, count)| counts.set_item(name, count))?;
    Ok(counts)
}

fn level(py: Python<'_>) -> PyResult<Level> {
    Level::detect().map_err(|message| exception(py, "ConfigError", (message,)))
}

#[pyfunction]
fn simd_level(py: Python<'_>) -> PyResult<&'static str> {
    level(py).map(Level::name)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(compile, module)?)?;
    module.add_function(wrap_pyfunction!(simd_level, module)?)?;
    module.add_class::<Automaton>()?;
    module.add_class::<Encoder>()?;
    module.add_class::<Encoding>()?;
    module.add_class::<Stream>()?;
    module.add_class::<Keywords>()?;
    module.add_class::<KeywordStream>()?;
    module.add_class::<EncodedColumn>()
}
