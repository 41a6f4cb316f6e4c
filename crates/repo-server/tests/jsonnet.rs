//! Jsonnet programs that never end or fill the memory, evaluated by a process
//! that is ended. This test is its own evaluator, so it has a `main`.

#![expect(clippy::print_stdout, reason = "it says what it tried, as other tests do")]

mod common;

use std::time::Duration;

use common::{Server, chain, query};
use repo_server::{JsonnetProgram, ManifestQuery, serve_jsonnet};
use testkit::git::Repo;

/// What makes this program an evaluator.
const EVALUATE: &str = "evaluate-jsonnet";

fn main() {
    if std::env::args().nth(1).as_deref() == Some(EVALUATE) {
        // Nobody listens: nothing to say either.
        drop(serve_jsonnet(std::io::stdin().lock(), std::io::stdout().lock()));
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.expect("a runtime").block_on(hostile_programs_are_ended_and_others_are_not());
    println!("test hostile_programs_are_ended_and_others_are_not ... ok");
}

const MAP: &str = "{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'm'}, data: {}}";

async fn hostile_programs_are_ended_and_others_are_not() {
    let repo = Repo::new();
    let commit = repo.commit(&[
        (
            "good/main.jsonnet",
            &format!("local lib = import 'lib.libsonnet'; {MAP} + lib + (import 'lib.libsonnet')"),
        ),
        ("good/lib.libsonnet", "{data+: {shown: importstr 'text.txt'}}"),
        ("good/text.txt", "x"),
        // Within the stack, and longer than the age of the world.
        ("loop/main.jsonnet", "local f(n) = if n == 0 then 1 else f(n - 1) + f(n - 1); f(200)"),
        (
            "large/main.jsonnet",
            "std.length(std.foldl(function(a, b) a + a, std.range(1, 60), 'xxxxxxxx'))",
        ),
        ("cycle/main.jsonnet", "import 'other.libsonnet'"),
        ("cycle/other.libsonnet", "import 'main.jsonnet'"),
        ("deep/main.jsonnet", "local f(n) = 1 + f(n + 1); f(0)"),
        ("missing/main.jsonnet", "import '../../../etc/passwd'"),
    ]);
    let program = JsonnetProgram::this_one(EVALUATE).expect("our own program");
    let server = Server::with(|options| {
        options.jsonnet = Some(JsonnetProgram { max_memory: 256 << 20, ..program });
        options.render_timeout = Duration::from_secs(6);
    });
    let url = repo.file_url();
    let rendered = async |path: &str| {
        let query = ManifestQuery { ignore_cache: true, ..query(&url, path) };
        match server.server.manifests(query).await {
            Ok(rendered) => rendered.manifests().collect::<Vec<_>>().join("\n"),
            Err(error) => chain(&error),
        }
    };
    let good = r#"{"apiVersion":"v1","data":{"shown":"x"},"kind":"ConfigMap","metadata":{"annotations":{"argocd.argoproj.io/tracking-id":"guestbook:/ConfigMap:web/m"},"name":"m"}}"#;
    let (looping, while_it_loops) = tokio::join!(rendered("loop"), rendered("good"));
    assert_eq!(while_it_loops, good);
    let failed = |path: &str, problem: &str| {
        format!(
            "could not render {path} of {url} at {commit}: failed to evaluate jsonnet \"{path}/main.jsonnet\": {problem}"
        )
    };
    assert_eq!(looping, failed("loop", "it did not end within 5 seconds; does it loop?"));
    assert_eq!(rendered("large").await, failed("large", "it needs more than 256 MiB of memory"));
    for (path, place, problem) in [
        (
            "cycle",
            "line 1, column 1",
            "infinite recursion; does a file import itself, or a value refer to itself?",
        ),
        ("deep", "line 1, column 18", "max stack frames exceeded."),
        (
            "missing",
            "line 1, column 1",
            "couldn't open import \"../../../etc/passwd\": no match locally or in the Jsonnet library paths",
        ),
    ] {
        let expect = format!("{path}/main.jsonnet, {place}: RUNTIME ERROR: {problem}");
        assert_eq!(rendered(path).await, failed(path, &expect));
    }
    assert_eq!(rendered("good").await, good);
}
