//! Where the keys of a dictionary stand in texts.

use crate::arrow::{EncodedColumn, Texts};
use crate::{Automaton, SHORT, guard, kernel_error, run};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};
use std::sync::{Arc, OnceLock};
use wordpiece::automaton::Automaton as Kernel;
use wordpiece::error::Error;
use wordpiece::keywords::{Lengths, Links, Occurrences, find};

/// Finds keys. What it needs beside the automaton is made when it is first asked for, outside of any lock, so that no
/// fork can leave one locked: threads that ask at once may all make it, and one of them keeps it.
#[pyclass(frozen, module = "beam_wordpiece._core")]
pub struct Keywords {
    kernel: Arc<Kernel>,
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
        texts: impl Iterator<Item = Option<&'t [u8]>>,
        overlapping: bool,
        strict: bool,
    ) -> Result<Occurrences, Error> {
        let links = overlapping.then(|| self.links()).transpose()?;
        find(&self.kernel, self.lengths()?, links, texts, strict)
    }
}

#[pymethods]
impl Keywords {
    #[new]
    fn new(automaton: &Automaton) -> Keywords {
        Keywords { kernel: automaton.kernel.clone(), lengths: OnceLock::new(), links: OnceLock::new() }
    }

    /// The first characters, the ends and the numbers of the keys in a text.
    fn find<'py>(&self, text: &Bound<'py, PyString>, overlapping: bool) -> PyResult<Lists<'py>> {
        let (py, utf8) = (text.py(), text.to_str()?);
        let work = || self.find_in(std::iter::once(Some(utf8.as_bytes())), overlapping, false);
        let made = self.lengths.get().is_some() && (self.links.get().is_some() || !overlapping);
        let found = if utf8.len() <= SHORT && made { guard(work) } else { run(py, work) };
        let found = found?.map_err(|error| kernel_error(py, error))?;
        Ok((PyList::new(py, found.starts)?, PyList::new(py, found.ends)?, PyList::new(py, found.keys)?))
    }

    /// A list of structs (start, end, number) for each text of these arrays.
    fn find_arrow(
        &self,
        py: Python<'_>,
        arrays: Vec<Bound<'_, PyAny>>,
        overlapping: bool,
        strict: bool,
    ) -> PyResult<EncodedColumn> {
        let texts = guard(|| Texts::import(&arrays))??;
        let found = run(py, || self.find_in(texts.iter(), overlapping, strict))?;
        let found = found.map_err(|error| kernel_error(py, error))?;
        run(py, || EncodedColumn::of_occurrences(found, texts.validity()))
    }

    /// Bytes that finding every occurrence holds beside the dictionary; 0 before it was asked for.
    #[getter]
    fn link_bytes(&self) -> usize {
        self.links.get().map_or(0, Links::bytes)
    }
}
