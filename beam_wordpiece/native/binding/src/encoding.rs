//! What Python gets for one text. Most callers want the ids, and of those some want them as numbers only: the lists are
//! made when they are asked for.

use crate::guard;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyList, PyTuple};
use std::sync::Arc;
use wordpiece::automaton::Automaton as Kernel;

/// The tokens of one text: `ids` and, of the same length, the `tokens` that they stand for.
///
/// Both are lists that are made when they are first asked for, and then stay the same objects. Equal to another Encoding
/// where both lists are.
#[pyclass(frozen, module = "beam_wordpiece")]
pub struct Encoding {
    /// What the lists are made from; None where Python gave them.
    source: Option<(Box<[u32]>, Arc<Kernel>)>,
    ids: PyOnceLock<Py<PyAny>>,
    tokens: PyOnceLock<Py<PyAny>>,
}

impl Encoding {
    /// The encoding with these ids of the automaton.
    pub fn of(ids: &[u32], kernel: &Arc<Kernel>) -> Encoding {
        let source = Some((ids.into(), kernel.clone()));
        Encoding { source, ids: PyOnceLock::new(), tokens: PyOnceLock::new() }
    }

    fn numbers(&self) -> &[u32] {
        self.source.as_ref().map_or(&[], |(ids, _)| ids)
    }

    fn token_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let token = |&id: &u32| self.source.as_ref().and_then(|(_, kernel)| kernel.token(id)).unwrap_or_default();
        let tokens: Vec<&str> = guard(|| self.numbers().iter().map(token).collect())?;
        PyList::new(py, tokens)
    }
}

#[pymethods]
impl Encoding {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("ids", "tokens")
    }

    #[new]
    fn new(py: Python<'_>, ids: Py<PyAny>, tokens: Py<PyAny>) -> Encoding {
        let made = Encoding { source: None, ids: PyOnceLock::new(), tokens: PyOnceLock::new() };
        made.ids.get_or_init(py, || ids);
        made.tokens.get_or_init(py, || tokens);
        made
    }

    /// The ids, special tokens of the template included.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let ids = self.ids.get_or_try_init(py, || PyList::new(py, self.numbers()).map(|ids| ids.into_any().unbind()));
        ids.map(|ids| ids.bind(py))
    }

    /// The token of each id; empty where an id is no token's.
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let tokens = self.tokens.get_or_try_init(py, || self.token_list(py).map(|tokens| tokens.into_any().unbind()));
        tokens.map(|tokens| tokens.bind(py))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.ids.get(py) {
            Some(ids) => ids.bind(py).len(),
            None => Ok(self.numbers().len()),
        }
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, Encoding>) -> PyResult<bool> {
        let other = other.get();
        Ok(self.ids(py)?.eq(other.ids(py)?)? && self.tokens(py)?.eq(other.tokens(py)?)?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Encoding(ids={}, tokens={})", self.ids(py)?.repr()?, self.tokens(py)?.repr()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, encoding) = (slf.py(), slf.get());
        (slf.get_type(), (encoding.ids(py)?, encoding.tokens(py)?)).into_pyobject(py)
    }
}
