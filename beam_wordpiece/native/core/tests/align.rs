//! The aligner against HF's rule, spelled out: decompose all of a text, sort the marks, count the characters off.

// Other tests use the rest of it.
#[allow(dead_code)]
mod common;

use proptest::prelude::*;
use std::sync::LazyLock;
use wordpiece::align::Aligner;
use wordpiece::automaton::Automaton;
use wordpiece::code_points::Output;
use wordpiece::options::Profile;
use wordpiece::profile::Tables;

const MOST: usize = 1000;

static CLEANED: LazyLock<Automaton> = LazyLock::new(|| automaton(true, true));
static NOT_CLEANED: LazyLock<Automaton> = LazyLock::new(|| automaton(true, false));
static NOT_STRIPPED: LazyLock<Automaton> = LazyLock::new(|| automaton(false, false));

fn automaton(strip_accents: bool, clean_text: bool) -> Automaton {
    let options = common::options([true, strip_accents, clean_text, true], "##", 100);
    common::automaton(&common::vocabulary(vec![], options, vec![]))
}

/// What comes out, with the characters that it comes from.
fn expected(text: &[char], clean_text: bool) -> Vec<(u32, u64)> {
    let tables = Tables::of(Profile::Hf);
    let kept = |c: u32| !(clean_text && tables.clean_deleted.contains(c));
    let read = |c: u32| if clean_text && tables.clean_to_space.contains(c) { 0x20 } else { c };
    let characters = (0..).zip(text.iter().map(|&c| u32::from(c))).filter(|&(_, c)| kept(c));
    let characters: Vec<(u64, u32)> = characters.map(|(number, c)| (number, read(c))).collect();
    let mut sorted: Vec<(u32, u8, bool)> = Vec::new();
    let mut run = 0;
    for (_, c) in &characters {
        for (place, &d) in tables.decompose(c).iter().enumerate() {
            let class = tables.combining_class(d);
            if class == 0 {
                sorted[run..].sort_by_key(|item| item.1);
                run = sorted.len() + 1;
            }
            sorted.push((d, class, place == 0));
        }
    }
    sorted[run..].sort_by_key(|item| item.1);
    let mut numbers = characters.iter().map(|&(number, _)| number);
    let mut number = 0;
    let mut out = Vec::new();
    for (c, _, takes) in sorted {
        number = if takes { numbers.next().unwrap() } else { number };
        if !tables.nonspacing_mark.contains(c) {
            out.extend(tables.lowercase(&c).iter().map(|&l| (l, number)));
        }
    }
    out
}

fn actual(automaton: &Automaton, text: &[char], most_marks: usize) -> Vec<(u32, u64)> {
    let tables = automaton.tables();
    let mut out = Vec::new();
    let mut put = |output: Output, number: u64| out.push((output.code_point(), number));
    let mut aligner = Aligner::default();
    for (number, &c) in (0..).zip(text) {
        // It is carried from one part of a text to the next.
        aligner = Aligner::from_numbers(&aligner.to_numbers()).unwrap();
        aligner.take(&tables, u32::from(c), number, most_marks, &mut put);
    }
    aligner.finish(&mut put);
    out
}

/// Marks that stay, marks that are stripped, characters that become marks or end a run, and deleted ones.
fn character() -> impl Strategy<Value = char> {
    prop_oneof![
        6 => prop::sample::select(vec!['\u{302E}', '\u{302F}', '\u{1B44}', '\u{8D4}', '\u{8D5}', '\u{1D165}', '\u{1D16D}', '\u{1E000}']),
        6 => prop::sample::select(vec!['\u{300}', '\u{315}', '\u{323}', '\u{327}', '\u{344}', '\u{F73}', '\u{345}', '\u{5B0}']),
        2 => prop::sample::select(vec!['a', 'é', 'İ', ' ', '\u{1D15E}', '\u{1D160}', '\u{958}', '\u{CCB}', '\u{1B3B}', '\u{902}']),
        1 => prop::sample::select(vec!['\0', '\u{200B}', '\u{FFFD}']),
        1 => any::<char>().prop_filter("a syllable stays whole", |c| !('\u{AC00}'..='\u{D7A3}').contains(c)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn characters_are_counted_off(text in prop::collection::vec(character(), 0..24), clean_text: bool) {
        prop_assert_eq!(actual(if clean_text { &CLEANED } else { &NOT_CLEANED }, &text, MOST), expected(&text, clean_text));
    }

    #[test]
    fn without_stripping_everything_comes_from_itself(text in prop::collection::vec(character(), 0..24)) {
        for (place, (_, number)) in actual(&NOT_STRIPPED, &text, MOST).iter().enumerate() {
            prop_assert!(*number as usize <= place);
        }
    }

    #[test]
    fn of_too_many_marks_the_outer_ones_stay(text in prop::collection::vec(character(), 0..60)) {
        let text = [&['b'][..], &text, &['b']].concat();
        let (all, few) = (expected(&text, true), actual(&CLEANED, &text, 2));
        let words = |all: &[(u32, u64)]| -> Vec<(u64, u64, bool)> {
            all.split(|(c, _)| *c == 0x20).filter(|word| !word.is_empty())
                .map(|word| (word[0].1, word[word.len() - 1].1, word.len() > 2)).collect()
        };
        prop_assert_eq!(words(&few), words(&all));
    }

    #[test]
    fn no_numbers_do_harm(numbers in prop::collection::vec(prop_oneof![0..3u64, Just(0xE600_302E), any::<u64>()], 0..20)) {
        if let Some(mut aligner) = Aligner::from_numbers(&numbers) {
            prop_assert_eq!(aligner.to_numbers(), numbers);
            aligner.take(&CLEANED.tables(), 0x302E, 7, MOST, &mut |_, _| ());
            aligner.finish(&mut |_, _| ());
        }
    }
}

#[test]
fn many_stretches_take_little_memory() {
    let mut aligner = Aligner::default();
    for number in 0..100_000 {
        aligner.take(&CLEANED.tables(), 0x301, 2 * number, 100, &mut |_, _| ());
    }
    // Two numbers a stretch, and there are as many of these as marks are kept.
    assert!(aligner.to_numbers().len() <= 2 * 100 + 10);
}

/// What the aligner takes for granted of the tables.
#[test]
fn a_decomposition_that_begins_with_a_mark_has_only_marks_and_is_stripped_as_a_whole() {
    let tables = Tables::of(Profile::Hf);
    for c in 0..0x11_0000 {
        let decomposed = tables.decompose(&c);
        if tables.combining_class(decomposed[0]) != 0 {
            assert!(decomposed.iter().all(|&d| tables.combining_class(d) != 0), "{c:x}");
            let stripped = |&d: &u32| tables.nonspacing_mark.contains(d);
            assert_eq!(decomposed.iter().all(stripped), stripped(&decomposed[0]), "{c:x}");
            assert!(!tables.clean_deleted.contains(c), "{c:x}");
        }
    }
}
