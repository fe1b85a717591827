//! Making and opening an automaton.

mod texts;

use criterion::Criterion;
use std::hint::black_box;
use texts::{Kind, Language};
use wordpiece::automaton::Automaton;
use wordpiece::compile::compile;

fn automaton(criterion: &mut Criterion) {
    let language = Language::made();
    let vocabulary = language.vocabulary();
    let bytes = language.automaton();
    let name = format!("wordpiece-bench-{}.bwp", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, &bytes).expect("the folder for temporary files can be written to");

    let mut group = criterion.benchmark_group(format!("automaton of {} tokens", vocabulary.tokens.len()));
    group.sample_size(20);
    group.bench_function("compile", |bencher| bencher.iter(|| compile(black_box(&vocabulary)).expect("compiles")));
    group.bench_function("from_bytes", |bencher| {
        bencher.iter(|| Automaton::from_bytes(black_box(&bytes)).expect("just compiled"));
    });
    group.bench_function("open", |bencher| bencher.iter(|| Automaton::open(black_box(&path)).expect("just written")));
    group.finish();
    std::fs::remove_file(&path).expect("the file was written here");
}

/// The vocabulary is made for these texts: were most of their words unknown, the figures would speak of nothing.
fn check_texts() {
    let language = Language::made();
    let automaton = Automaton::from_bytes(&language.automaton()).expect("just compiled");
    for kind in Kind::ALL {
        let (ids, unknown) = texts::count_ids(&automaton, &language.texts(kind, 4_000, 100_000));
        assert!(ids > 10_000 && unknown * 10 < ids, "{}: {unknown} of {ids} ids are unknown", kind.name());
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    check_texts();
    automaton(&mut criterion);
    criterion.final_summary();
}
