//! How fast manifests are read and written. `cargo bench -p gocompat`.

use std::fmt::Write as _;

use divan::Bencher;
use divan::counter::BytesCount;
use gocompat::yaml;

fn main() {
    divan::main();
}

#[divan::bench]
fn read_yaml(bencher: Bencher<'_, '_>) {
    let text = schema(400);
    bencher.counter(BytesCount::of_str(&text)).bench(|| yaml::to_value(&text));
}

#[divan::bench]
fn read_json(bencher: Bencher<'_, '_>) {
    let text = yaml::to_value(&schema(400)).expect("our own text").to_string();
    bencher.counter(BytesCount::of_str(&text)).bench(|| yaml::to_value(&text));
}

#[divan::bench]
fn write_yaml(bencher: Bencher<'_, '_>) {
    let text = schema(400);
    let value = yaml::to_value(&text).expect("our own text");
    bencher.counter(BytesCount::of_str(&text)).bench(|| yaml::from_value(&value));
}

/// Something like a custom resource definition: deep, wordy, mostly plain scalars.
fn schema(fields: usize) -> String {
    let mut text =
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n".to_owned();
    text.push_str("spec:\n  versions:\n  - name: v1\n    schema:\n      properties:\n");
    for field in 0..fields {
        write!(
            text,
            "        field{field}:\n          \
             description: |-\n            Field {field} says how the controller\n            \
             should treat resources: see 'the manual'.\n          \
             type: object\n          nullable: true\n          properties:\n            \
             limit:\n              type: integer\n              format: int64\n              \
             minimum: {field}\n            names:\n              type: array\n              \
             items:\n                type: string\n                pattern: \"^[a-z]+-{field}$\"\n"
        )
        .expect("writing to a string");
    }
    text
}
