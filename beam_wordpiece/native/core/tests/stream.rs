//! A document in parts, cut anywhere, has the ids of the whole.

mod common;

use common::{added, automaton, character, options, text, vocabulary};
use proptest::prelude::*;
use wordpiece::automaton::Automaton;
use wordpiece::document::Document;
use wordpiece::encoder::{EncodeOptions, Encoded, Part, Workspace, encode, encode_parts};
use wordpiece::options::{AddedToken, Options, Segmentation, Unknown};
use wordpiece::simd::Level;
use wordpiece::state;

/// The ids of each document: `cuts` are where the texts, side by side, are cut; rows are taken `at_once`.
fn in_parts(automaton: &Automaton, texts: &[&[u8]], cuts: &[usize], at_once: usize, level: Level) -> Encoded {
    let options = EncodeOptions { add_special_tokens: true, strict: false, level };
    let mut parts = Vec::new();
    let mut before = 0;
    for text in texts {
        let inside = cuts.iter().filter_map(|cut| cut.checked_sub(before)).filter(|&cut| cut < text.len());
        let places: Vec<usize> = std::iter::once(0).chain(inside).chain([text.len()]).collect();
        parts.extend(places.windows(2).map(|ends| Part { text: Some(&text[ends[0]..ends[1]]), ends: false }));
        parts.last_mut().unwrap().ends = true;
        before += text.len();
    }
    let (mut document, mut workspace, mut all) = (Document::default(), Workspace::default(), Encoded::default());
    for (number, rows) in parts.chunks(at_once).enumerate() {
        if number % 2 == 0 {
            let bytes = state::to_bytes(automaton, 5, &document);
            let (read, flags) = state::from_bytes(automaton, &bytes).unwrap();
            assert_eq!((state::to_bytes(automaton, 5, &read), flags), (bytes, 5));
            document = read;
        }
        let mut out = Encoded::default();
        encode_parts(automaton, rows.iter().copied(), &options, &mut document, &mut workspace, &mut out).unwrap();
        let before = all.ids.len() as u64;
        let ends = out.ends.iter().zip(rows).filter(|(_, row)| row.ends);
        all.ends.extend(ends.map(|(end, _)| before + end));
        all.ids.extend(out.ids);
        all.invalid += out.invalid;
    }
    all
}

fn parts_agree(automaton: &Automaton, texts: &[&[u8]], cuts: &[usize], at_once: usize) -> Result<(), TestCaseError> {
    for level in Level::available() {
        let options = EncodeOptions { add_special_tokens: true, strict: false, level };
        let mut whole = Encoded::default();
        encode(automaton, texts.iter().copied().map(Some), &options, &mut Workspace::default(), &mut whole).unwrap();
        let parts = in_parts(automaton, texts, cuts, at_once, level);
        prop_assert_eq!(&parts.ids, &whole.ids, "{} {:?}", level.name(), cuts);
        prop_assert_eq!(&parts.ends, &whole.ends);
        prop_assert_eq!(parts.invalid, whole.invalid);
    }
    Ok(())
}

/// Added tokens of the characters of the texts, with any flags; those that a vocabulary refuses are left out.
fn added_tokens() -> impl Strategy<Value = Vec<AddedToken>> {
    let content = prop_oneof![
        3 => prop::sample::select(vec!["[ab]", "éc", "ab ", " a", "a\u{302E}", "\u{FFFD}", "中 a", "aa", "aab", "]\u{3000}["])
            .prop_map(String::from),
        1 => prop::collection::vec(character(), 1..4).prop_map(String::from_iter),
    ];
    prop::collection::vec((content, 0..16u8), 0..4).prop_map(|tokens| {
        tokens.into_iter().zip(950..).map(|((content, flags), id)| added(&content, id, flags)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn cuts_change_nothing(
        tokens in prop::collection::vec(prop::collection::vec(character(), 1..4), 0..40),
        texts in prop::collection::vec(text(), 1..4),
        switches in any::<[bool; 4]>(),
        added in added_tokens(),
        limit in 1..60u32,
        pretokenize in prop::bool::weighted(0.7),
        unknown in prop::sample::select(vec![Unknown::Word, Unknown::Word, Unknown::Character, Unknown::Run, Unknown::Byte]),
        fewest in prop::bool::weighted(0.1),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        at_once in 1..5usize,
    ) {
        let spelled = |(i, token): (usize, Vec<char>)| {
            let token = String::from_iter(token);
            if i % 2 == 0 { token } else { format!("##{token}") }
        };
        let bytes = ["<0x61>", "<0x20>", "<0xC3>", "<0xA9>"].map(String::from);
        let tokens = tokens.into_iter().enumerate().map(spelled).chain(bytes).collect();
        let mut options = options(switches, "##", limit);
        (options.pretokenize, options.unknown) = (pretokenize, unknown);
        if !pretokenize && unknown == Unknown::Word {
            options.unknown = Unknown::Character;
        }
        if fewest {
            (options.segmentation, options.unknown_cost) = (Segmentation::Fewest, 2);
        }
        let vocabulary = vocabulary(tokens, options, added);
        let Ok(bytes) = wordpiece::compile::compile(&vocabulary) else { return Ok(()) };
        let Ok(automaton) = Automaton::from_bytes(&bytes) else { return Ok(()) };
        let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        let length = texts.iter().map(|text| text.len()).sum::<usize>();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.index(length + 1)).collect();
        cuts.sort_unstable();
        parts_agree(&automaton, &texts, &cuts, at_once)?;
        let everywhere: Vec<usize> = (0..=length).collect();
        parts_agree(&automaton, &texts, &everywhere, at_once)?;
    }

    #[test]
    fn cuts_change_nothing_in_any_bytes(
        bytes in prop::collection::vec(prop_oneof![Just(0xE0u8), Just(0x80), Just(0xF0), Just(b'a'), Just(b' '), any::<u8>()], 0..80),
        added in added_tokens(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let vocabulary = vocabulary(vec!["a".into(), "##a".into()], options([true; 4], "##", 100), added);
        let Ok(bytes_of) = wordpiece::compile::compile(&vocabulary) else { return Ok(()) };
        let Ok(automaton) = Automaton::from_bytes(&bytes_of) else { return Ok(()) };
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        parts_agree(&automaton, &[&bytes], &cuts, 1)?;
        parts_agree(&automaton, &[&bytes], &(0..=bytes.len()).collect::<Vec<_>>(), 1)?;
    }
}

#[test]
fn a_long_text_in_parts_of_every_size_has_the_ids_of_the_whole() {
    let line = "The étude [ab] costs 5€ — [a 中文 b] aab  éc\u{3000}naïve 각하 x\u{302E}\u{1B44} ";
    let text = line.repeat(2000) + &"a".repeat(70_000) + &" \u{85}".repeat(40_000) + "[ab] end";
    let tokens = ["the", "a", "##a", "b", "##b", "etude", "cost", "##s", "5", "中", "文", "end", "na", "##ive"]
        .map(String::from);
    for flags in [0, 2, 6, 8] {
        let added = vec![added("[ab]", 950, flags), added("éc", 951, flags | 1), added("b ", 952, 8)];
        let automaton = automaton(&vocabulary(tokens.to_vec(), options([true; 4], "##", 100), added));
        for size in [100_000, 65_536, 4096, 61, 1] {
            let cuts: Vec<usize> = (0..text.len()).step_by(size).collect();
            parts_agree(&automaton, &[text.as_bytes()], &cuts, 3).unwrap();
        }
    }
}

/// A document in the middle of a word, of marks, of an added token, in a window of normalized text, behind a token.
fn open_document(automaton: &Automaton) -> Document {
    let options = EncodeOptions { add_special_tokens: true, strict: false, level: Level::detect().unwrap() };
    let text = "x [ab] yé\u{302E}\u{1B44}".as_bytes();
    let parts = [Part { text: Some(text), ends: false }, Part { text: Some(b"\xE0[a"), ends: false }];
    let (mut document, mut out) = (Document::default(), Encoded::default());
    encode_parts(automaton, parts.into_iter(), &options, &mut document, &mut Workspace::default(), &mut out).unwrap();
    document
}

#[test]
fn a_state_that_is_not_whole_is_refused_and_no_other_does_harm() {
    for (pretokenize, unknown, flags) in
        [(true, Unknown::Word, 6), (true, Unknown::Run, 6), (false, Unknown::Character, 0), (false, Unknown::Run, 0)]
    {
        let options = Options { pretokenize, unknown, ..options([true, true, true, true], "##", 100) };
        forged_states_do_no_harm(options, flags);
    }
}

fn forged_states_do_no_harm(options: Options, flags: u8) {
    let tokens = ["x", "y", "##e", "##\u{1100}\u{1161}b"].map(String::from).to_vec();
    let added = vec![added("[ab]", 950, flags), added("y\u{302E}a", 951, 8)];
    let automaton = automaton(&vocabulary(tokens, options, added));
    let good = state::to_bytes(&automaton, 0, &open_document(&automaton));
    for end in 0..good.len() {
        assert!(state::from_bytes(&automaton, &good[..end]).is_err());
    }
    let body = 4 + 16;
    for (at, bit) in (0..good.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
        let mut forged = good.clone();
        forged[at] ^= 1 << bit;
        assert!(state::from_bytes(&automaton, &forged).is_err(), "byte {at}");
        // The same with a checksum that fits.
        let end = forged.len() - 8;
        let checksum = xxhash_rust::xxh3::xxh3_64(&forged[..end]).to_le_bytes();
        forged[end..].copy_from_slice(&checksum);
        let Ok((mut document, _)) = state::from_bytes(&automaton, &forged) else { continue };
        assert!(at >= body);
        for level in Level::available() {
            let options = EncodeOptions { add_special_tokens: true, strict: false, level };
            let rest = [None, Some("b] y\u{302E}a z".as_bytes())].map(|text| Part { text, ends: true });
            let mut out = Encoded::default();
            encode_parts(&automaton, rest.into_iter(), &options, &mut document, &mut Workspace::default(), &mut out)
                .unwrap();
            document = state::from_bytes(&automaton, &forged).unwrap().0;
        }
    }
}

#[test]
fn what_no_document_has_is_written_and_refused() {
    let automaton = automaton(&vocabulary(vec!["x".into()], options([true; 4], "##", 100), vec![]));
    let refused = |document: &mut Document| {
        let bytes = state::to_bytes(&automaton, 0, document);
        state::from_bytes(&automaton, &bytes).unwrap_err().to_string()
    };
    // An open stretch would go on from document to document where nothing but the end of a stretch closes it.
    let mut in_a_stretch = Document { begun: true, ..Document::default() };
    in_a_stretch.stretch.at_root = false;
    assert!(refused(&mut in_a_stretch).contains("not split into words"));
    let mut too_long = Document::with_offsets();
    too_long.exact.origins.as_mut().unwrap().read = u64::MAX;
    assert!(refused(&mut too_long).contains("cannot be used"));
}

#[test]
fn a_state_of_another_automaton_is_refused_by_name() {
    let of = |token: &str| automaton(&vocabulary(vec![token.into()], options([true; 4], "##", 100), vec![]));
    let bytes = state::to_bytes(&of("a"), 0, &Document::default());
    let message = state::from_bytes(&of("b"), &bytes).unwrap_err().to_string();
    let fingerprint =
        |automaton: Automaton| automaton.fingerprint().iter().map(|b| format!("{b:02x}")).collect::<String>();
    assert!(message.contains(&fingerprint(of("a"))) && message.contains(&fingerprint(of("b"))), "{message}");
    assert!(state::from_bytes(&of("a"), b"BWS\x03").unwrap_err().to_string().contains("version 3"));
}

#[test]
fn a_state_is_as_large_as_a_word_and_an_added_token() {
    let tokens = ["a", "##a"].map(String::from).to_vec();
    let automaton = automaton(&vocabulary(tokens, options([true; 4], "##", 100), vec![added("[ab]", 950, 6)]));
    let options = EncodeOptions { add_special_tokens: true, strict: false, level: Level::detect().unwrap() };
    let (mut document, mut workspace) = (Document::default(), Workspace::default());
    let longest = ["a", "𝒳", "a\u{302E}", "\u{302E}\u{1B44}", " \u{85}", "[a", "\u{301}", "\u{200B}"];
    for text in longest.iter().flat_map(|unit| std::iter::repeat_n(unit, 3000)) {
        let part = [Part { text: Some(text.as_bytes()), ends: false }];
        let mut out = Encoded::default();
        encode_parts(&automaton, part.into_iter(), &options, &mut document, &mut workspace, &mut out).unwrap();
        assert!(state::to_bytes(&automaton, 0, &document).len() < 1024, "{text:?}");
    }
}
