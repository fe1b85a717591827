//! Automata of the layout without failure transitions: the same ids and the same fingerprint as the default, at any level
//! of vector instructions.

mod common;

use bytemuck::Zeroable;
use common::{added, automaton, character, options, text, vocabulary};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};
use wordpiece::automaton::{Automaton, Parameters};
use wordpiece::compile::{compile, compile_with_layout, compile_with_sample};
use wordpiece::double_array::{Codes, POOL_PADDING, Packed, ROOT_UNIT};
use wordpiece::encoder::{EncodeOptions, Encoded, Workspace, encode, encode_with_offsets};
use wordpiece::failure::Failure;
use wordpiece::layout::Layout;
use wordpiece::options::{Unknown, Vocabulary};
use wordpiece::simd::Level;
use wordpiece::transducer::{Transition, build, validate, write};
use wordpiece::trie::{NONE, Node, ROOT, Trie};

fn open(bytes: &[u8]) -> Automaton {
    Automaton::from_bytes(bytes).expect("just compiled")
}

fn ids(automaton: &Automaton, texts: &[&[u8]], level: Level) -> (Vec<u32>, Vec<u64>, usize) {
    let options = EncodeOptions { add_special_tokens: true, strict: false, level };
    let mut out = Encoded::default();
    encode(automaton, texts.iter().copied().map(Some), &options, &mut Workspace::default(), &mut out).unwrap();
    (out.ids, out.ends, out.unknowns)
}

/// The same ids and offsets as the default layout gives, at all levels; the same fingerprint.
fn compare(vocabulary: &Vocabulary, texts: &[&[u8]]) {
    let default = automaton(vocabulary);
    let transducer = open(&compile_with_layout(vocabulary, Layout::Transducer).unwrap());
    let frequent = || texts.iter().chain(texts).map(|&text| Some(text));
    let sampled = open(&compile_with_sample(vocabulary, Layout::Transducer, frequent()).unwrap());
    assert_eq!((Layout::of(&default), Layout::of(&transducer)), (Layout::FailureLinks, Layout::Transducer));
    for automaton in [&transducer, &sampled] {
        assert_eq!(automaton.fingerprint(), default.fingerprint());
        for level in Level::available() {
            assert_eq!(ids(automaton, texts, level), ids(&default, texts, level), "{}", level.name());
        }
    }
    for text in texts {
        let options = EncodeOptions { add_special_tokens: true, strict: false, level: Level::detect().unwrap() };
        let [of_default, of_transducer] = [&default, &transducer].map(|automaton| {
            let mut out = Encoded::default();
            encode_with_offsets(automaton, text, &options, &mut Workspace::default(), &mut out).unwrap();
            format!("{out:?}")
        });
        assert_eq!(of_default, of_transducer);
    }
}

/// A trie of letters and its failure links.
fn made(tokens: &[String], indicator: &str) -> (Trie, Failure) {
    let tokens: BTreeSet<&String> = tokens.iter().collect();
    let tokens: Vec<(String, u32)> = tokens.into_iter().cloned().zip(0..).collect();
    let trie = Trie::build(&tokens, indicator, |_| true);
    let failure = Failure::build(&trie, Unknown::Word);
    (trie, failure)
}

/// δ′ and σ′ by following failure links; the end of the word is no character. None where the word cannot be split.
fn by_links(trie: &Trie, failure: &Failure, from: Node, c: Option<char>) -> Option<(Node, Vec<u32>)> {
    let (mut node, mut tokens) = (from, vec![]);
    loop {
        match c.map(|c| trie.transition(node, u32::from(c))) {
            Some(NONE) => {}
            Some(target) => return Some((target, tokens)),
            None if node == trie.suffix_root => return Some((node, tokens)),
            None => {}
        }
        tokens.extend(failure.lists.tokens(failure.pops[node as usize]));
        node = failure.link[node as usize];
        if node == NONE {
            return None;
        }
    }
}

/// The transducer as a map from states and characters, of the nodes that can be reached.
struct Table<'a> {
    transitions: &'a [Transition],
    pool: &'a [u32],
    codes: Codes<'a>,
    suffix_root: Transition,
}

impl Table<'_> {
    fn tokens(&self, list: u32) -> Vec<u32> {
        let mut out = vec![0; Packed(list).length(self.pool) + 1];
        let count = write(Packed(list), self.pool, &mut out);
        out[..count].to_vec()
    }

    /// One transition: the state that it leads to, and what it writes.
    fn step(&self, state: Transition, c: char) -> Option<(Transition, Vec<u32>)> {
        let code = self.codes.code(u32::from(c));
        let own = self.transitions[(state.base ^ code) as usize];
        if own.check == state.base {
            return Some((own, self.tokens(own.output)));
        }
        let of_root = self.transitions[(self.suffix_root.base ^ code) as usize];
        let possible = state.rest != NONE && of_root.check == self.suffix_root.base;
        possible.then(|| (of_root, self.tokens(state.rest)))
    }
}

/// Every node by every character, and its end: the table says what following failure links does.
fn check_table(tokens: &[String], indicator: &str, letters: &[char]) {
    let (trie, failure) = made(tokens, indicator);
    let (array, transitions) = build(&trie, &failure).unwrap();
    let codes = Codes { index: &array.code_index, codes: &array.codes, mask: (1 << array.bits) - 1 };
    let suffix_root = transitions[array.suffix_root as usize];
    let table = Table { transitions: &transitions, pool: &array.pool, codes, suffix_root };
    // States by their nodes: those of the roots stand at the roots' units, others are found by the trie's own edges.
    let mut states = HashMap::from([(trie.suffix_root, suffix_root), (ROOT, transitions[ROOT_UNIT as usize])]);
    for node in ROOT..trie.len() as Node {
        let state = states[&node];
        for child in trie.children(node) {
            let c = char::from_u32(trie.label[child as usize]).unwrap();
            let (target, output) = table.step(state, c).expect("a child is a transition");
            assert_eq!(output, []);
            states.insert(child, target);
        }
    }
    for (&node, &state) in &states {
        let rest = (state.rest != NONE).then(|| table.tokens(state.rest));
        assert_eq!(rest, by_links(&trie, &failure, node, None).map(|(_, tokens)| tokens));
        for &c in letters {
            let found = table.step(state, c).map(|(target, tokens)| ((target.base, target.rest), tokens));
            let expected = by_links(&trie, &failure, node, Some(c));
            let state_of = |node: Node| (states[&node].base, states[&node].rest);
            assert_eq!(found, expected.map(|(target, tokens)| (state_of(target), tokens)), "{node} {c}");
        }
    }
}

fn strings(tokens: &[&str]) -> Vec<String> {
    tokens.iter().map(ToString::to_string).collect()
}

#[test]
fn the_example_of_the_paper() {
    let tokens = strings(&["a", "abcdx", "##b", "##c", "##cdy", "##dz"]);
    check_table(&tokens, "##", &['a', 'b', 'c', 'd', 'x', 'y', 'z', '!', '😀']);
    let (trie, failure) = made(&tokens, "##");
    let node = |from: Node, text: &str| text.chars().fold(from, |node, c| trie.transition(node, u32::from(c)));
    let abcd = node(ROOT, "abcd");
    let dz = node(trie.suffix_root, "dz");
    assert_eq!(by_links(&trie, &failure, abcd, Some('z')), Some((dz, vec![4, 0, 1])));
    assert_eq!(by_links(&trie, &failure, abcd, Some('y')).unwrap().1, [4, 0]);
    assert_eq!(by_links(&trie, &failure, abcd, None), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn one_transition_does_what_failure_links_do(
        tokens in prop::collection::vec("(##)?(a{1,20}b?|[abé😀]{1,6})", 0..24),
        empty in any::<bool>(),
    ) {
        check_table(&tokens, if empty { "" } else { "##" }, &['a', 'b', '#', 'é', '😀', 'z']);
    }

    #[test]
    fn the_layouts_agree(
        tokens in prop::collection::vec(prop::collection::vec(character(), 1..6), 0..40),
        texts in prop::collection::vec(text(), 0..6),
        switches in any::<[bool; 4]>(),
        flags in any::<[u8; 2]>(),
        limit in 1..60u32,
        indicator in prop::sample::select(vec!["##", "", "a"]),
    ) {
        let tokens: Vec<String> = tokens
            .into_iter()
            .map(String::from_iter)
            .enumerate()
            .map(|(i, token)| if i % 2 == 0 { token } else { format!("{indicator}{token}") })
            .collect();
        let tokens_added = vec![added("[ab]", 950, flags[0]), added("éc", 951, flags[1])];
        let vocabulary = vocabulary(tokens, options(switches, indicator, limit), tokens_added);
        let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        compare(&vocabulary, &texts);
    }

    #[test]
    fn the_layouts_agree_on_words_of_few_letters(
        tokens in prop::collection::vec("(##)?(a{1,40}b?|b{1,9}a|[abé]{1,4})", 0..20),
        words in prop::collection::vec("a{1,90}|[ab]{1,60}|[abé]{1,20}", 1..40),
    ) {
        let vocabulary = vocabulary(tokens, options([false; 4], "##", 80), vec![]);
        compare(&vocabulary, &[words.join(" ").as_bytes()]);
    }
}

#[test]
fn a_vocabulary_made_to_hurt_stays_small() {
    let letters: Vec<String> = (1..600).map(|length| "a".repeat(length)).collect();
    let continuing = letters.iter().map(|token| format!("##{token}"));
    let families = [
        letters.iter().cloned().chain(continuing).collect::<Vec<_>>(),
        vec!["a".into(), "##a".into(), "a".repeat(10_000) + "b", "##".to_string() + &"a".repeat(10_000) + "b"],
        vec!["x".into(), "##a".into(), format!("x{}y", "a".repeat(5_000)), format!("##{}z", "a".repeat(6_000))],
    ];
    for tokens in families {
        let characters: usize = tokens.iter().map(String::len).sum();
        let vocabulary = vocabulary(tokens, options([false; 4], "##", 20_000), vec![]);
        let bytes = compile_with_layout(&vocabulary, Layout::Transducer).unwrap();
        assert!(bytes.len() < 3_000_000 + 100 * characters, "{} bytes for {characters}", bytes.len());
        let texts = ["a".repeat(15_000), "a".repeat(700) + "b", "x".to_string() + &"a".repeat(9_000), "xaay".into()];
        compare(&vocabulary, &texts.each_ref().map(|text| text.as_bytes()));
    }
}

#[test]
fn what_would_be_too_large_is_refused() {
    let letter = |number: u32| char::from_u32(0x4E00 + number).unwrap();
    // "##b" has many children, and as many nodes have it as their failure link.
    let children = (0..2_000).map(|number| format!("##b{}", letter(number)));
    let links = (0..2_000).flat_map(|number| {
        let first = letter(number);
        [format!("##{first}"), format!("##{first}bz")]
    });
    let wide = vocabulary(children.chain(links).collect(), options([false; 4], "##", 100), vec![]);
    let message = compile_with_layout(&wide, Layout::Transducer).unwrap_err().to_string();
    assert!(message.contains("transitions") && message.contains("failure_links"), "{message}");
    assert!(compile(&wide).is_ok());
}

#[test]
fn forged_pairs_of_lists_are_refused() {
    let parameters = Parameters { code_bits: 4, suffix_root: 2, ..Parameters::zeroed() };
    let (long, short) = (15 << 28, 14 << 28);
    // 14 tokens, and pairs of those and one more.
    let sound: Vec<u32> = (100..114).chain([15, NONE, 1 << 28 | 7, short, 16, NONE, 1 << 28 | 8, long | 14]).collect();
    let validated = |words: &[u32], list: u32| {
        let pool = [words, &[0; POOL_PADDING]].concat();
        let root = Transition { check: NONE, base: 0, output: 0, rest: list };
        validate(&[root; 16], &pool, &parameters)
    };
    assert_eq!(validated(&sound, long | 14), Ok(()));
    assert_eq!(validated(&sound, long | 18), Ok(()));
    // Another length; no tokens before another list; a list that holds itself; parts that lie outside.
    for (place, word) in [(18, 17), (20, 0), (21, long | 18), (20, short | 22), (21, short | 22), (21, long | 60)] {
        let mut forged = sound.clone();
        forged[place] = word;
        if place == 20 && word == 0 {
            forged[18] = 15;
        }
        assert!(validated(&forged, long | 14).is_ok() && validated(&forged, long | 18).is_err(), "{place} {word}");
    }
    assert!(validated(&sound, long | 40).is_err());
}

#[test]
fn text_without_words_is_refused() {
    let mut vocabulary = vocabulary(vec!["a".into()], options([false; 4], "", 100), vec![]);
    (vocabulary.options.pretokenize, vocabulary.options.unknown) = (false, Unknown::Character);
    let message = compile_with_layout(&vocabulary, Layout::Transducer).unwrap_err().to_string();
    assert!(message.contains("pretokenize=True"), "{message}");
    assert!(Layout::named("dense").unwrap_err().to_string().contains("\"transducer\""));
}
