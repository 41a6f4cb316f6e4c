//! Every input of the corpus, once. The name of a test that fails is the target,
//! the last line printed is the input.

#![expect(clippy::print_stdout, reason = "shown only when a test fails")]

use std::path::Path;

#[test]
fn every_target_survives_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, target) in fuzz::TARGETS {
        let folder = corpus.join(name);
        let inputs = std::fs::read_dir(&folder);
        let inputs = inputs.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut count = 0;
        for input in inputs {
            let input = input.expect("an entry of the folder").path();
            println!("{}", input.display());
            target(&std::fs::read(&input).expect("a readable input"));
            count += 1;
        }
        assert!(count > 0, "no inputs for {name}");
    }
}
