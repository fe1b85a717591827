//! Vocabularies and texts that tests have in common.

use proptest::prelude::*;
use wordpiece::automaton::Automaton;
use wordpiece::compile::compile;
use wordpiece::options::{AddedToken, Options, Profile, Segmentation, Unknown, Vocabulary};

pub fn options(switches: [bool; 4], indicator: &str, limit: u32) -> Options {
    let [lowercase, strip_accents, clean_text, handle_chinese_chars] = switches;
    Options {
        profile: Profile::Hf,
        lowercase,
        strip_accents,
        clean_text,
        handle_chinese_chars,
        unk_token: "[UNK]".into(),
        continuing_subword_prefix: indicator.into(),
        max_input_chars_per_word: limit,
        pretokenize: true,
        unknown: Unknown::Word,
        backward: false,
        segmentation: Segmentation::Greedy,
        rules: vec![],
        unknown_cost: 1,
    }
}

pub fn vocabulary(tokens: Vec<String>, options: Options, added_tokens: Vec<AddedToken>) -> Vocabulary {
    let mut all = vec!["[UNK]".to_string()];
    tokens.into_iter().for_each(|token| {
        if !all.contains(&token) {
            all.push(token);
        }
    });
    Vocabulary {
        tokens: all.into_iter().zip(0..).collect(),
        added_tokens,
        prefix_ids: vec![900],
        suffix_ids: vec![901],
        options,
        metadata: String::new(),
    }
}

/// Characters of all the kinds that normalization and word splitting tell apart.
pub fn character() -> impl Strategy<Value = char> {
    prop_oneof![
        8 => prop::char::range('a', 'e'),
        2 => prop::char::range('A', 'E'),
        3 => Just(' '),
        1 => prop::char::range('\0', '~'),
        2 => prop::sample::select(vec!['[', ']', '#', 'é', 'É', 'İ', 'ß', 'б', 'Б', 'Σ', '中', '가', '각', 'ᄀ', 'ᅡ', 'か', 'が']),
        1 => prop::sample::select(vec!['\u{301}', '\u{323}', '\u{302E}', '\u{1B44}', '\u{1D165}', '\u{200B}', '\u{AD}', '\u{FFFD}']),
        1 => prop::sample::select(vec!['😀', '\u{1D15E}', '\u{20000}', '\u{2FA1D}', '\u{E0020}', '\u{10FFFF}', '\u{3000}', '\u{85}']),
        1 => any::<char>(),
    ]
}

pub fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::collection::vec(character(), 0..40), 0..8)
        .prop_map(|parts| parts.into_iter().map(String::from_iter).collect::<Vec<_>>().join(" "))
}

pub fn added(content: &str, id: u32, flags: u8) -> AddedToken {
    AddedToken {
        content: content.into(),
        id,
        special: true,
        single_word: flags & 1 != 0,
        lstrip: flags & 2 != 0,
        rstrip: flags & 4 != 0,
        normalized: flags & 8 != 0,
    }
}

/// Compiled and opened.
pub fn automaton(vocabulary: &Vocabulary) -> Automaton {
    Automaton::from_bytes(&compile(vocabulary).unwrap()).unwrap()
}
