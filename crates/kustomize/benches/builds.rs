//! How fast builds are: `cargo bench -p kustomize`.
//!
//! Prints builds per second for a small overlay, beside those of the real
//! program if `KUSTOMIZE` names one (`cargo xtask oracle kustomize --bench`
//! does), the time of large builds of growing size, which should grow with the
//! number of resources, and what several threads gain.
//!
//! `cargo bench -p kustomize -- times 1 1000` builds the tree of 1,000 resources
//! once and measures nothing, `times 100 12` the small overlay a hundred times:
//! for tools that count instructions, which are the same on a busy machine.

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a benchmark needs a clock"
)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use kustomize::{Files as _, MemoryFiles, NoRemote, Options, Overrides, build};

fn main() {
    let arguments: Vec<String> = std::env::args().skip_while(|it| it != "times").collect();
    if let [_, times, resources, ..] = arguments.as_slice() {
        let number = |text: &str| text.parse().expect("a number");
        return repeat(number(times), number(resources));
    }
    let small = overlay(12, 3, 0);
    let ours = small_builds(&small);
    println!("base of 12 resources, overlay with 3 patches, images and labels: {ours:.0} builds/s");
    if let Some(program) = std::env::var_os("KUSTOMIZE") {
        let real = real_builds(Path::new(&program), &small);
        println!("  the real process on the same tree: {real:.1} builds/s, {:.0} x", ours / real);
    }
    for count in [100, 1_000, 5_000] {
        let large = overlay(count, 50, 20);
        // The best of several: what else the machine does only adds.
        let times = (0..5).map(|_| {
            let start = Clock::start();
            run(&large);
            start.elapsed()
        });
        let time = times.min().unwrap_or_default();
        let each = time / u32::try_from(count).unwrap_or(1);
        println!("{count} resources, 50 patches, 20 replacements: {time:.1?}, {each:.1?} each");
    }
    at_once(&small);
}

fn repeat(times: usize, resources: usize) {
    let tree = if resources < 100 { overlay(resources, 3, 0) } else { overlay(resources, 50, 20) };
    for _ in 0..times {
        run(&tree);
    }
}

/// What this thread has been on a core, where the system tells it: beside other
/// work, wall time measures the others. Elsewhere it is wall time.
struct Clock(Duration, Instant);

impl Clock {
    fn start() -> Self {
        Self(Self::on_core().unwrap_or_default(), Instant::now())
    }

    fn elapsed(&self) -> Duration {
        Self::on_core().map_or_else(|| self.1.elapsed(), |now| now - self.0)
    }

    fn on_core() -> Option<Duration> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    }
}

/// Builds per second, of the best of five rounds.
fn small_builds(small: &MemoryFiles) -> f64 {
    let rounds = (0..5).map(|_| {
        let start = Clock::start();
        for _ in 0..400 {
            run(small);
        }
        400.0 / start.elapsed().as_secs_f64()
    });
    rounds.fold(0.0, f64::max)
}

/// The same overlay by the real program, from a folder: builds per second of a
/// core, as ours are counted.
fn real_builds(program: &Path, tree: &MemoryFiles) -> f64 {
    let folder = std::env::temp_dir().join(format!("kustomize-bench-{}", std::process::id()));
    for path in tree.below("") {
        let file = folder.join(&path);
        std::fs::create_dir_all(file.parent().unwrap_or(&folder)).expect("a folder");
        std::fs::write(file, tree.read(&path).unwrap_or_default()).expect("a file");
    }
    let (start, on_cores) = (Instant::now(), children_on_cores());
    for _ in 0..20 {
        let output = Command::new(program).arg("build").arg(folder.join("overlay")).output();
        assert!(output.expect("the program starts").status.success());
    }
    let time = match (on_cores, children_on_cores()) {
        (Some(before), Some(after)) => after - before,
        _ => start.elapsed(),
    };
    std::fs::remove_dir_all(folder).expect("the folder is ours");
    20.0 / time.as_secs_f64()
}

/// What processes that we started and saw end have been on cores, where the
/// system tells it, in its hundredths of a second.
fn children_on_cores() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    let ticks = fields.split(' ').skip(13).take(2).map(|field| field.parse::<u64>().ok());
    let ticks = ticks.sum::<Option<u64>>()?;
    Some(Duration::from_millis(ticks * 10))
}

/// One hundred builds of one tree, by one thread and by as many as there are cores.
fn at_once(tree: &MemoryFiles) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let timed = |threads: usize| {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for _ in 0..1_000 / threads {
                        run(tree);
                    }
                });
            }
        });
        start.elapsed()
    };
    let (alone, together) = (timed(1), timed(cores));
    let gain = alone.as_secs_f64() / together.as_secs_f64();
    println!(
        "1,000 builds of one tree: {alone:.1?} in one thread, {together:.1?} in {cores}: {gain:.1} x"
    );
}

fn run(tree: &MemoryFiles) {
    let output = build(tree, "overlay", &Overrides::default(), &Options::default(), &NoRemote);
    let output = output.expect("the overlay builds");
    assert!(!output.text.is_empty());
}

fn overlay(resources: usize, patches: usize, replacements: usize) -> MemoryFiles {
    let mut tree = MemoryFiles::default();
    let mut base = String::from("resources:\n");
    for number in 0..resources {
        base.push_str(&format!("- r{number}.yaml\n"));
        let text = if number % 3 == 2 { service(number) } else { deployment(number) };
        tree.insert(format!("base/r{number}.yaml"), text);
    }
    base.push_str("configMapGenerator:\n- {name: settings, literals: [a=b]}\n");
    tree.insert("base/kustomization.yaml", base);
    let mut overlay = String::from(
        "resources: [../base]\nnamespace: shop\nnamePrefix: prod-\n\
         labels: [{pairs: {env: prod}, includeSelectors: true}]\n\
         images: [{name: registry.example.com/web, newTag: v2}]\npatches:\n",
    );
    let deployments: Vec<usize> = (0..resources).filter(|number| number % 3 != 2).collect();
    for number in 0..patches {
        let target = deployments[number % deployments.len()];
        overlay.push_str(&format!("- path: p{number}.yaml\n"));
        tree.insert(
            format!("overlay/p{number}.yaml"),
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: r{target}}}\nspec:\n  \
                 template: {{spec: {{containers: [{{name: web, env: [{{name: N{number}, value: x}}]}}]}}}}\n"
            ),
        );
    }
    if replacements > 0 {
        overlay.push_str("replacements:\n");
    }
    for number in 0..replacements {
        let source = deployments[number % deployments.len()];
        overlay.push_str(&format!(
            "- source: {{kind: Deployment, name: r{source}}}\n  targets:\n  - select: {{kind: \
             Service}}\n    fieldPaths: [metadata.annotations.n{number}]\n    options: {{create: true}}\n"
        ));
    }
    tree.insert("overlay/kustomization.yaml", overlay);
    tree
}

fn deployment(number: usize) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: r{number}\n  labels:\n    app: \
         r{number}\nspec:\n  replicas: 2\n  selector:\n    matchLabels:\n      app: r{number}\n  \
         template:\n    metadata:\n      labels:\n        app: r{number}\n    spec:\n      \
         containers:\n      - name: web\n        image: registry.example.com/web:1.0\n        \
         env:\n        - name: A\n          value: \"1\"\n        - name: B\n          valueFrom:\n            \
         configMapKeyRef:\n              name: settings\n              key: a\n        ports:\n        \
         - containerPort: 8080\n      volumes:\n      - name: data\n        emptyDir: {{}}\n"
    )
}

fn service(number: usize) -> String {
    format!(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: r{number}\nspec:\n  selector:\n    app: \
         r{number}\n  ports:\n  - port: 80\n    targetPort: 8080\n"
    )
}
