//! Where the keys of a dictionary stand in texts, and in texts that come in pieces.

use crate::arrow::{EncodedColumn, Texts};
use crate::stream::{Fed, parts_of, require_ends, stream_error};
use crate::{Automaton, SHORT, guard, kernel_error, run};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString};
use std::sync::{Arc, OnceLock};
use wordpiece::automaton::Automaton as Kernel;
use wordpiece::encoder::Part;
use wordpiece::error::Error;
use wordpiece::keywords::{Lengths, Links};
use wordpiece::occurrences::{Occurrences, OpenText, find};

/// Finds keys. What it needs beside the automaton is made when it is first asked for, outside of any lock, so that no
/// fork can leave one locked: threads that ask at once may all make it, and one of them keeps it.
#[pyclass(frozen, module = "beam_wordpiece._core")]
pub struct Keywords {
    kernel: Arc<Kernel>,
    strict: bool,
    lengths: OnceLock<Lengths>,
    links: OnceLock<Links>,
}

/// First characters, ends, and numbers of keys.
type Lists<'py> = (Bound<'py, PyList>, Bound<'py, PyList>, Bound<'py, PyList>);

impl Keywords {
    fn lengths(&self) -> Result<&Lengths, Error> {
        match self.lengths.get() {
            Some(lengths) => Ok(lengths),
            None => Lengths::of(&self.kernel).map(|made| self.lengths.get_or_init(|| made)),
        }
    }

    fn links(&self) -> Result<&Links, Error> {
        let lengths = self.lengths()?;
        Ok(self.links.get().unwrap_or_else(|| {
            let made = Links::build(&self.kernel, lengths);
            self.links.get_or_init(|| made)
        }))
    }

    fn find_in<'t>(
        &self,
        parts: impl Iterator<Item = Part<'t>>,
        overlapping: bool,
        open: &mut OpenText,
    ) -> Result<Occurrences, Error> {
        let links = overlapping.then(|| self.links()).transpose()?;
        find(&self.kernel, self.lengths()?, links, parts, self.strict, open)
    }

    /// Run work on so many bytes of text, which is short where they are few and all is made that it needs.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        bytes: usize,
        overlapping: bool,
        work: impl Send + FnOnce() -> T,
    ) -> PyResult<T> {
        let made = self.lengths.get().is_some() && (self.links.get().is_some() || !overlapping);
        if bytes <= SHORT && made { guard(work) } else { run(py, work) }
    }
}

fn lists(py: Python<'_>, found: Occurrences) -> PyResult<Lists<'_>> {
    Ok((PyList::new(py, found.starts)?, PyList::new(py, found.ends)?, PyList::new(py, found.keys)?))
}

#[pymethods]
impl Keywords {
    #[new]
    #[pyo3(signature = (automaton, *, strict))]
    fn new(automaton: &Automaton, strict: bool) -> Keywords {
        Keywords { kernel: automaton.kernel.clone(), strict, lengths: OnceLock::new(), links: OnceLock::new() }
    }

    /// The first characters, the ends and the numbers of the keys in a text.
    fn find<'py>(&self, text: &Bound<'py, PyString>, overlapping: bool) -> PyResult<Lists<'py>> {
        let (py, utf8) = (text.py(), text.to_str()?);
        let part = Part { text: Some(utf8.as_bytes()), ends: true };
        let work = || self.find_in(std::iter::once(part), overlapping, &mut OpenText::default());
        let found = self.run(py, utf8.len(), overlapping, work)?;
        lists(py, found.map_err(|error| kernel_error(py, error))?)
    }

    /// A list of structs (start, end, number) for each text of these arrays, and how many texts are not UTF-8.
    fn find_arrow(
        &self,
        py: Python<'_>,
        arrays: Vec<Bound<'_, PyAny>>,
        overlapping: bool,
    ) -> PyResult<(EncodedColumn, usize)> {
        let texts = guard(|| Texts::import(&arrays))??;
        let parts = texts.iter().map(|text| Part { text, ends: true });
        let found = run(py, || self.find_in(parts, overlapping, &mut OpenText::default()))?;
        let found = found.map_err(|error| kernel_error(py, error))?;
        let invalid = found.invalid;
        Ok((run(py, || EncodedColumn::of_occurrences(found, texts.validity()))?, invalid))
    }

    /// Bytes that finding every occurrence holds beside the dictionary; 0 before it was asked for.
    #[getter]
    fn link_bytes(&self) -> usize {
        self.links.get().map_or(0, Links::bytes)
    }
}

/// See `beam_wordpiece.KeywordStream`.
#[pyclass(module = "beam_wordpiece._core")]
pub struct KeywordStream {
    keywords: Py<Keywords>,
    overlapping: bool,
    open: OpenText,
}

impl KeywordStream {
    /// Find keys in parts that go on with the text. After an error nothing has changed.
    fn parts<'t>(
        &mut self,
        py: Python<'_>,
        bytes: usize,
        fed: Fed,
        parts: impl Iterator<Item = Part<'t>> + Send,
    ) -> PyResult<Occurrences> {
        let keywords = self.keywords.clone_ref(py);
        let (keywords, overlapping) = (keywords.get(), self.overlapping);
        let before = keywords.strict.then(|| self.open.clone());
        let open = &mut self.open;
        let found = keywords.run(py, bytes, overlapping, || keywords.find_in(parts, overlapping, open))?;
        found.map_err(|error| {
            if let Some(before) = before {
                self.open = before;
            }
            stream_error(py, error, fed)
        })
    }
}

#[pymethods]
impl KeywordStream {
    #[new]
    #[pyo3(signature = (keywords, *, overlapping))]
    fn new(keywords: Py<Keywords>, overlapping: bool) -> KeywordStream {
        KeywordStream { keywords, overlapping, open: OpenText::default() }
    }

    #[getter]
    fn overlapping(&self) -> bool {
        self.overlapping
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, keywords: Py<Keywords>, data: &[u8]) -> PyResult<KeywordStream> {
        let finder = keywords.get();
        let read = guard(|| OpenText::from_bytes(&finder.kernel, finder.lengths()?, data))?;
        let (open, overlapping) = read.map_err(|error| kernel_error(py, error))?;
        Ok(KeywordStream { keywords, overlapping, open })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = guard(|| self.open.to_bytes(&self.keywords.get().kernel, self.overlapping))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn feed<'py>(&mut self, py: Python<'py>, text: &str, ends: bool) -> PyResult<Lists<'py>> {
        self.feed_bytes(py, text.as_bytes(), ends)
    }

    fn feed_bytes<'py>(&mut self, py: Python<'py>, text: &[u8], ends: bool) -> PyResult<Lists<'py>> {
        let fed = if ends && text.is_empty() { Fed::End } else { Fed::Chunk };
        let part = Part { text: Some(text), ends };
        lists(py, self.parts(py, text.len(), fed, std::iter::once(part))?)
    }

    fn feed_arrays<'py>(&mut self, py: Python<'py>, arrays: Vec<Bound<'py, PyAny>>) -> PyResult<Lists<'py>> {
        let texts = guard(|| Texts::import(&arrays))??;
        let parts = texts.iter().map(|text| Part { text, ends: false });
        lists(py, self.parts(py, texts.bytes(), Fed::Rows, parts)?)
    }

    fn feed_arrow(&mut self, py: Python<'_>, arrays: Vec<Bound<'_, PyAny>>, ends: &[u8]) -> PyResult<EncodedColumn> {
        let texts = guard(|| Texts::import(&arrays))??;
        require_ends(py, &texts, ends)?;
        let found = self.parts(py, texts.bytes(), Fed::Rows, parts_of(&texts, ends))?;
        run(py, || EncodedColumn::of_occurrences(found, None))
    }
}
