//! What Python gets for one text. Most callers want the ids, and of those some want them as numbers only: the lists are
//! made when they are asked for.

use crate::{Encoder, SHORT, guard, kernel_error, run};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyIterator, PyList, PyString, PyTuple};
use wordpiece::encoder::{Encoded, encode_with_offsets};
use wordpiece::offsets::{NOWHERE, Offsets};

/// The tokens of one text: a sequence of its ids, with the tokens that they stand for and where these are in it.
///
/// The lists are made when they are first asked for, and then stay the same objects. Equal to another Encoding where ids
/// and tokens are, and to a list of the ids. For `offsets` and `word_ids` the text is encoded again, character by
/// character, so an Encoding keeps its text alive.
#[pyclass(frozen, sequence, module = "beam_wordpiece")]
pub struct Encoding {
    /// What the lists are made from; None where Python gave them.
    source: Option<Source>,
    ids: PyOnceLock<Py<PyAny>>,
    tokens: PyOnceLock<Py<PyAny>>,
    offsets: PyOnceLock<Py<PyAny>>,
    word_ids: PyOnceLock<Py<PyAny>>,
}

struct Source {
    ids: Box<[u32]>,
    encoder: Py<Encoder>,
    /// The text, if it is whole.
    text: Option<Py<PyString>>,
    /// Where the ids stand in it.
    places: PyOnceLock<Offsets>,
}

impl Encoding {
    /// The encoding of a whole text.
    pub(crate) fn of_text(ids: &[u32], encoder: &Bound<'_, Encoder>, text: &Bound<'_, PyString>) -> Encoding {
        Encoding::new_from(ids, encoder, Some(text.clone().unbind()), PyOnceLock::new())
    }

    /// The encoding of a part of a document, with the offsets of its ids if they are known.
    pub(crate) fn of_part(out: Encoded, encoder: &Bound<'_, Encoder>, with_offsets: bool) -> Encoding {
        let places = PyOnceLock::new();
        if with_offsets {
            places.get_or_init(encoder.py(), || out.offsets);
        }
        Encoding::new_from(&out.ids, encoder, None, places)
    }

    fn new_from(
        ids: &[u32],
        encoder: &Bound<'_, Encoder>,
        text: Option<Py<PyString>>,
        places: PyOnceLock<Offsets>,
    ) -> Encoding {
        let source = Source { ids: ids.into(), encoder: encoder.clone().unbind(), text, places };
        Encoding { source: Some(source), ..Encoding::empty() }
    }

    fn empty() -> Encoding {
        let [ids, tokens, offsets, word_ids] = [const { PyOnceLock::new() }; 4];
        Encoding { source: None, ids, tokens, offsets, word_ids }
    }

    fn numbers(&self) -> &[u32] {
        self.source.as_ref().map_or(&[], |source| &source.ids)
    }

    fn token_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let kernel = self.source.as_ref().map(|source| &source.encoder.get().kernel);
        let token = |&id: &u32| kernel.and_then(|kernel| kernel.token(id)).unwrap_or_default();
        let tokens: Vec<&str> = guard(|| self.numbers().iter().map(token).collect())?;
        PyList::new(py, tokens)
    }

    /// Where the ids stand; None where nobody knows.
    fn places(&self, py: Python<'_>) -> PyResult<Option<&Offsets>> {
        let Some(source) = &self.source else { return Ok(None) };
        match &source.text {
            Some(text) => source.places.get_or_try_init(py, || source.find_places(text.bind(py))).map(Some),
            None => Ok(source.places.get(py)),
        }
    }

    fn offset_list<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let Some(places) = self.places(py)? else { return Ok(None) };
        PyList::new(py, places.ranges.iter().map(|&[start, end]| (start, end))).map(Some)
    }

    fn word_list<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let Some(places) = self.places(py)? else { return Ok(None) };
        PyList::new(py, places.words.iter().map(|&word| (word != NOWHERE).then_some(word))).map(Some)
    }
}

impl Source {
    fn find_places(&self, text: &Bound<'_, PyString>) -> PyResult<Offsets> {
        let (py, text, encoder) = (text.py(), text.to_str()?, self.encoder.get());
        let work = || {
            let (mut buffers, mut out) = (encoder.idle.take(), Encoded::default());
            let workspace = &mut buffers.workspace;
            let result = encode_with_offsets(&encoder.kernel, text.as_bytes(), &encoder.options, workspace, &mut out);
            encoder.idle.put(buffers);
            assert!(result.is_err() || out.ids[..] == *self.ids, "the ids are the same");
            result.map(|()| out.offsets)
        };
        let found = if text.len() <= SHORT { guard(work) } else { run(py, work) };
        found?.map_err(|error| kernel_error(py, error))
    }
}

/// What is kept, or made and then kept.
fn kept<'py>(
    place: &PyOnceLock<Py<PyAny>>,
    py: Python<'py>,
    make: impl FnOnce() -> PyResult<Option<Bound<'py, PyList>>>,
) -> PyResult<Bound<'py, PyAny>> {
    let unknown = || {
        PyValueError::new_err(
            "this Encoding does not know where its tokens stand in the text: it comes from a Stream without offsets, \
             or was made without; give the Stream offsets=True",
        )
    };
    let list = place.get_or_try_init(py, || Ok::<_, PyErr>(make()?.ok_or_else(unknown)?.into_any().unbind()))?;
    Ok(list.bind(py).clone())
}

#[pymethods]
impl Encoding {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str) {
        ("ids", "tokens")
    }

    #[new]
    #[pyo3(signature = (ids, tokens, offsets=None, word_ids=None))]
    fn new(
        py: Python<'_>,
        ids: Py<PyAny>,
        tokens: Py<PyAny>,
        offsets: Option<Py<PyAny>>,
        word_ids: Option<Py<PyAny>>,
    ) -> Encoding {
        let made = Encoding::empty();
        let fields = [(&made.ids, Some(ids)), (&made.tokens, Some(tokens))];
        for (place, list) in fields.into_iter().chain([(&made.offsets, offsets), (&made.word_ids, word_ids)]) {
            if let Some(list) = list {
                place.get_or_init(py, || list);
            }
        }
        made
    }

    /// The ids, special tokens of the template included.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        kept(&self.ids, py, || PyList::new(py, self.numbers()).map(Some))
    }

    /// The token of each id; empty where an id is no token's.
    #[getter]
    fn tokens<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        kept(&self.tokens, py, || self.token_list(py).map(Some))
    }

    /// Where in the text each token stands: the number of its first character and the end of its last, in characters.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        kept(&self.offsets, py, || self.offset_list(py))
    }

    /// The number of the word that each token is a part of; None for special tokens of the template.
    #[getter]
    fn word_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        kept(&self.word_ids, py, || self.word_list(py))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match self.ids.get(py) {
            Some(ids) => ids.bind(py).len(),
            None => Ok(self.numbers().len()),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, index: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.ids(py)?.get_item(index)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.ids(py)?.try_iter()
    }

    fn __contains__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.ids(py)?.contains(id)
    }

    /// How often an id is there.
    #[pyo3(signature = (id, /))]
    fn count<'py>(&self, py: Python<'py>, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.ids(py)?.call_method1("count", (id,))
    }

    /// The first place of an id.
    #[pyo3(signature = (id, /, *range))]
    fn index<'py>(
        &self,
        py: Python<'py>,
        id: Bound<'py, PyAny>,
        range: Vec<Bound<'py, PyInt>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = std::iter::once(id).chain(range.into_iter().map(Bound::into_any));
        self.ids(py)?.call_method1("index", PyTuple::new(py, arguments.collect::<Vec<_>>())?)
    }

    fn __add__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match ids_of(other)? {
            Some(other) => self.ids(py)?.add(other),
            None => Ok(py.NotImplemented().into_bound(py)),
        }
    }

    fn __radd__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match ids_of(other)? {
            Some(other) => other.add(self.ids(py)?),
            None => Ok(py.NotImplemented().into_bound(py)),
        }
    }

    fn __eq__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Some(ids) = ids_of(other)? else { return Ok(py.NotImplemented().into_bound(py)) };
        let mut equal = self.ids(py)?.eq(ids)?;
        if let Ok(other) = other.cast::<Encoding>() {
            equal = equal && self.tokens(py)?.eq(other.get().tokens(py)?)?;
        }
        Ok(equal.into_pyobject(py)?.to_owned().into_any())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Encoding(ids={}, tokens={})", self.ids(py)?.repr()?, self.tokens(py)?.repr()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, encoding) = (slf.py(), slf.get());
        let known = encoding.places(py)?.is_some() || encoding.offsets.get(py).is_some();
        let offsets = known.then(|| encoding.offsets(py)).transpose()?;
        let known = encoding.places(py)?.is_some() || encoding.word_ids.get(py).is_some();
        let word_ids = known.then(|| encoding.word_ids(py)).transpose()?;
        (slf.get_type(), (encoding.ids(py)?, encoding.tokens(py)?, offsets, word_ids)).into_pyobject(py)
    }
}

/// The ids of an Encoding, or a list.
fn ids_of<'py>(other: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Ok(encoding) = other.cast::<Encoding>() {
        return encoding.get().ids(other.py()).map(Some);
    }
    Ok(other.is_instance_of::<PyList>().then(|| other.clone()))
}
