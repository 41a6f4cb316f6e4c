//! Charts: templates, settings, archives, formats and date layouts.

use std::io::Write as _;
use std::rc::Rc;

use helm::{ArchiveLimits, Chart, MemoryFiles, Options};
use template::{Engine, Functions, Limits, MissingKey, Still, Templates, Value, print};

use crate::{text, two_texts};

const SMALL: Limits =
    Limits { depth: 50, steps: 20_000, output: 1 << 20, made: 64 << 20, stack: 1 << 19 };

/// A template is refused or ends, and its text stays within the limit.
pub(crate) fn go_template(bytes: &[u8]) {
    let mut functions = Functions::sprig();
    functions.add_helm_formats();
    // Seconds of work each, by design.
    for slow in ["derivePassword", "bcrypt", "htpasswd", "genCA", "genPrivateKey"] {
        functions.remove(slow);
    }
    let data = Value::map([
        ("text", Value::from("a b")),
        ("number", Value::Float(1.5)),
        ("list", Value::list(vec![Value::int(1), Value::Nil])),
        ("map", Value::map([("k", Value::from("v"))])),
    ]);
    if let Some(output) = run(&functions, bytes, &data) {
        assert!(output.len() <= SMALL.output);
    }
}

fn run(functions: &Functions, source: &[u8], data: &Value) -> Option<Vec<u8>> {
    let mut templates = Templates::new();
    templates.parse("main", source, functions).ok()?;
    let engine = Engine { functions, missing_key: MissingKey::Zero, limits: SMALL, facts: &Still };
    engine.execute(&Rc::new(templates), "main", data).ok()
}

/// What `--set` and its siblings accept can be printed.
pub(crate) fn strvals(bytes: &[u8]) {
    let Some(setting) = text(bytes) else { return };
    let chart = MemoryFiles::from([
        ("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n"),
        ("templates/x.yaml", "values: {{ .Values | toJson }}\n"),
    ]);
    let chart = Chart::load(&chart).expect("a chart");
    for place in 0..4 {
        let mut options = Options::new("rel", "default");
        let values = &mut options.values;
        let settings =
            [&mut values.set, &mut values.set_string, &mut values.json, &mut values.set_literal];
        settings.into_iter().nth(place).expect("one of four").push(setting.to_owned());
        drop(helm::template(&chart, &options, &Still));
    }
}

/// An archive, or what lies inside of one: it is refused or stays within its limits.
pub(crate) fn chart_archive(bytes: &[u8]) {
    let limits = ArchiveLimits { total: 1 << 20, file: 1 << 18, files: 100 };
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    packed.write_all(bytes).expect("memory");
    for archive in [bytes.to_vec(), packed.finish().expect("memory")] {
        if let Ok(files) = helm::unpack(&archive, limits) {
            assert!(files.len() <= limits.files);
            assert!(files.iter().all(|(name, _)| !name.split('/').any(|part| part == "..")));
        }
        drop(Chart::load_archive_within(&archive, limits));
    }
}

/// A format with arguments, one per line: whatever it says, it ends.
pub(crate) fn printf(bytes: &[u8]) {
    let Some((format, arguments)) = two_texts(bytes) else { return };
    let arguments: Vec<Value> = arguments
        .split('\n')
        .take(8)
        .map(|argument| match (argument.parse::<i64>(), argument.parse::<f64>()) {
            (Ok(number), _) => Value::int(number),
            (_, Ok(number)) => Value::Float(number),
            _ if argument.starts_with('[') => Value::list(vec![Value::from(argument), Value::Nil]),
            _ => Value::from(argument),
        })
        .collect();
    assert!(print::format(format.as_bytes(), &arguments).len() < 40 << 20);
}

/// A layout and a date: what was read by a layout can be printed by it.
pub(crate) fn date_layout(bytes: &[u8]) {
    let Some((layout, date)) = two_texts(bytes) else { return };
    let data = Value::map([("layout", Value::from(layout)), ("date", Value::from(date))]);
    let source = b"{{ date .layout (mustToDate .layout .date) }}";
    drop(run(&Functions::sprig(), source, &data));
}
