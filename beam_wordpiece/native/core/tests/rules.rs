//! With rules a text has the ids of what they make of it, on every level of vector instructions and in parts.

// Other tests use the rest of it.
#[allow(dead_code)]
mod common;

use common::{added, automaton, character, options, text, vocabulary};
use proptest::prelude::*;
use wordpiece::automaton::Automaton;
use wordpiece::compile::compile;
use wordpiece::document::Document;
use wordpiece::encoder::{EncodeOptions, Encoded, Part, Workspace, encode_parts};
use wordpiece::options::{AddedToken, Options};
use wordpiece::simd::Level;

type Pairs = Vec<(String, String)>;

/// The ids of a document that comes in these parts.
fn ids(automaton: &Automaton, parts: &[&[u8]], level: Level) -> Vec<u32> {
    let options = EncodeOptions { add_special_tokens: true, strict: false, level };
    let mut out = Encoded::default();
    let last = parts.len() - 1;
    let rows = parts.iter().enumerate().map(|(i, &part)| Part { text: Some(part), ends: i == last });
    let (mut document, mut workspace) = (Document::default(), Workspace::default());
    encode_parts(automaton, rows, &options, &mut document, &mut workspace, &mut out).unwrap();
    out.ids
}

/// Of the keys that begin at a place the longest, and on from its end.
fn apply(rules: &Pairs, text: &str) -> String {
    let (mut rest, mut made) = (text, String::new());
    while let Some(c) = rest.chars().next() {
        let key = rules.iter().filter(|(key, _)| rest.starts_with(key.as_str())).max_by_key(|(key, _)| key.len());
        let length = key.map_or(c.len_utf8(), |(key, _)| key.len());
        made.push_str(key.map_or(&rest[..length], |(_, result)| result));
        rest = &rest[length..];
    }
    made
}

fn with_rules(switches: [bool; 4], rules: &Pairs, tokens: &[&str], added_tokens: Vec<AddedToken>) -> Automaton {
    let tokens = tokens.iter().map(|token| token.to_string()).collect();
    let options = Options { rules: rules.clone(), ..options(switches, "##", 20) };
    automaton(&vocabulary(tokens, options, added_tokens))
}

fn rules_of(pairs: Vec<(Vec<char>, Vec<char>)>) -> Pairs {
    let mut rules: Pairs =
        pairs.into_iter().map(|(key, result)| (key.iter().collect(), result.iter().collect())).collect();
    rules.sort();
    rules.dedup_by(|a, b| a.0 == b.0);
    rules
}

const TOKENS: [&str; 9] = ["a", "##a", "b", "##b", "中", "##é", "é", "[", "##,"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn ids_are_those_of_what_the_rules_make_of_the_text(
        pairs in prop::collection::vec((prop::collection::vec(character(), 1..4), prop::collection::vec(character(), 0..4)), 0..6),
        text in text(),
        switches in any::<[bool; 4]>(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let rules = rules_of(pairs);
        let made = apply(&rules, &text);
        let (with, without) = (with_rules(switches, &rules, &TOKENS, vec![]), with_rules(switches, &vec![], &TOKENS, vec![]));
        let mut cuts: Vec<usize> = places.iter().map(|place| place.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let parts: Vec<&[u8]> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
        for level in Level::available() {
            let expected = ids(&without, &[made.as_bytes()], level);
            prop_assert_eq!(&ids(&with, &[text.as_bytes()], level), &expected, "{}", level.name());
            prop_assert_eq!(&ids(&with, &parts, level), &expected, "{} in parts", level.name());
        }
    }

    #[test]
    fn keys_stand_at_every_place_of_a_block(before in 0..130usize, key in "[ab],?|…|中中|é", result in "[ab ]{0,3}|ééé") {
        let rules = vec![(key.clone(), result.clone()), ("[X".into(), "b".into())];
        let added_tokens = || vec![added("[X]", 950, 0)];
        let (with, without) = (with_rules([true; 4], &rules, &TOKENS, added_tokens()), with_rules([true; 4], &vec![], &TOKENS, added_tokens()));
        for filler in ["z", "é", "中", "😀"] {
            let text = format!("{} {key}{key}[X]{key}[X ", filler.repeat(before));
            let parts: Vec<String> = text.split("[X]").map(|part| apply(&rules, part)).collect();
            for level in Level::available() {
                let expected = ids(&without, &[parts.join("[X]").as_bytes()], level);
                prop_assert_eq!(ids(&with, &[text.as_bytes()], level), expected, "{} {}", filler, level.name());
            }
        }
    }
}

#[test]
fn no_rule_reaches_into_an_added_token() {
    let rules: Pairs =
        [("a[", "b"), ("a[X]a", "b"), ("]a", ""), ("X", "a")].map(|(a, b)| (a.into(), b.into())).to_vec();
    let automaton = with_rules([true; 4], &rules, &TOKENS, vec![added("[X]", 950, 0)]);
    let text = b"a[X]a a[Xa]a";
    for level in Level::available() {
        let whole = ids(&automaton, &[text], level);
        // "a", the token, "a", and then "baa" of which "]a" is gone.
        let read: Vec<&str> = whole.iter().map(|&id| automaton.token(id).unwrap_or("-")).collect();
        assert_eq!(read[1..read.len() - 1], ["a", "[X]", "a", "b", "##a", "##a"], "{}", level.name());
        for cut in 0..text.len() {
            assert_eq!(ids(&automaton, &[&text[..cut], &text[cut..]], level), whole, "{cut} {}", level.name());
        }
    }
}

#[test]
fn rules_that_cannot_be_used_are_refused() {
    let long = "a".repeat(65);
    let result = "a".repeat(256);
    for (key, result, why) in [
        ("", "a", "no character"),
        ("b", result.as_str(), "more than 255"),
        (&long, "", "65 bytes"),
        ("bb", &"\u{1D160}".repeat(100), "more than 255"),
    ] {
        let options =
            Options { rules: vec![(key.into(), result.into())], ..options([false, true, false, false], "##", 9) };
        let error = compile(&vocabulary(vec![], options, vec![])).err().unwrap().to_string();
        assert!(error.contains(&format!("the rule for {key:?}")) && error.contains(why), "{error}");
    }
    let twice = vec![("ab".to_string(), "c".to_string()), ("ab".into(), "d".into())];
    let twice = Options { rules: twice, ..options([true; 4], "##", 9) };
    assert!(compile(&vocabulary(vec![], twice, vec![])).unwrap_err().to_string().contains("two of them"));
    let spaces = Options { rules: vec![("a b".into(), "c".into())], ..options([true; 4], "##", 9) };
    let strips = vocabulary(vec![], spaces, vec![added("[X]", 950, 2)]);
    assert!(compile(&strips).unwrap_err().to_string().contains("\"[X]\" (id 950)"));
}

#[test]
fn rules_are_part_of_the_meaning() {
    let print = |rules: &[(&str, &str)]| {
        let rules = rules.iter().map(|&(a, b)| (a.into(), b.into())).collect();
        with_rules([true; 4], &rules, &TOKENS, vec![]).fingerprint()
    };
    assert_eq!(print(&[("a", "b"), ("c", "")]), print(&[("c", ""), ("a", "b")]));
    let all = [print(&[]), print(&[("a", "b")]), print(&[("a", "c")]), print(&[("ab", "")]), print(&[("", "ab"); 0])];
    assert_eq!(all[0], all[4]);
    assert!((0..4).all(|i| (0..i).all(|j| all[i] != all[j])));
}

#[test]
fn keys_take_linear_time() {
    let rules = vec![("a".repeat(63) + "b", "c".into()), ("aa".into(), "b".into()), ("é".into(), "b".repeat(255))];
    let automaton = with_rules([true; 4], &rules, &TOKENS, vec![]);
    let begin = std::time::Instant::now();
    for text in ["a".repeat(400_000), "é ".repeat(4_000)] {
        ids(&automaton, &[text.as_bytes()], Level::detect().unwrap());
    }
    assert!(begin.elapsed().as_secs() < 20, "{:?}", begin.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Most places where an added token or a key may begin are none, by the byte behind them. With an added token of one
    /// byte, which is nowhere in the text, every place is searched from.
    #[test]
    fn no_place_is_passed_over_where_a_token_or_a_key_begins(
        contents in prop::collection::hash_set("[\\[\\]ab€é]{1,3}|\u{FFFD}a?|\\[U\\]|€", 0..4),
        flags in any::<[u8; 4]>(),
        pairs in prop::collection::vec((prop::collection::vec(character(), 1..4), prop::collection::vec(character(), 0..2)), 0..3),
        pieces in prop::collection::vec("[\\[\\]abU€é ]{0,9}|[ab]{40,70}\\[?", 0..24),
        (invalid, cuts) in (any::<bool>(), prop::collection::vec(any::<prop::sample::Index>(), 0..5)),
    ) {
        let (switches, rules) = ([false, false, true, false], rules_of(pairs));
        // A token that takes white space wants no rules for it.
        let mask = if rules.is_empty() { 7 } else { 1 };
        let with_ids = contents.iter().zip(950..).zip(flags);
        let added_tokens: Vec<AddedToken> =
            with_ids.map(|((content, id), flags)| added(content, id, flags & mask)).collect();
        prop_assume!(rules.iter().all(|(key, _)| !key.contains('\u{7F}')));
        let some = with_rules(switches, &rules, &TOKENS, added_tokens.clone());
        let all = with_rules(switches, &rules, &TOKENS, [added_tokens, vec![added("\u{7F}", 990, 0)]].concat());
        let glue: &[u8] = if invalid { b"[\xE2\x82" } else { b"" };
        let text: Vec<u8> = pieces.iter().flat_map(|piece| [piece.as_bytes(), glue].concat()).collect();
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        ends.extend([0, text.len()]);
        ends.sort_unstable();
        let parts: Vec<&[u8]> = ends.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        for level in Level::available() {
            prop_assert_eq!(ids(&some, &parts, level), ids(&all, &parts, level), "{}", level.name());
        }
    }
}
