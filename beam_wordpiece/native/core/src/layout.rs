//! How the automaton lies in memory and in its file. It changes neither ids nor the fingerprint.

use crate::automaton::Automaton;
use crate::error::Error;

/// One of the layouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A trie with failure links and failure pops, as in the paper's algorithms: [`crate::double_array`].
    FailureLinks,
    /// Without failure transitions, one transition for each character: [`crate::transducer`].
    Transducer,
}

impl Layout {
    /// The layout of this name.
    pub fn named(name: &str) -> Result<Layout, Error> {
        let known = [Layout::FailureLinks, Layout::Transducer].into_iter().find(|layout| layout.name() == name);
        known.ok_or_else(|| {
            Error::Vocabulary(format!("layout is {name:?}; it has to be \"failure_links\" or \"transducer\""))
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Layout::FailureLinks => "failure_links",
            Layout::Transducer => "transducer",
        }
    }

    /// The layout of an automaton.
    pub fn of(automaton: &Automaton) -> Layout {
        if automaton.tables().transitions.is_empty() { Layout::FailureLinks } else { Layout::Transducer }
    }
}
