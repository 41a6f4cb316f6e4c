//! Charts that mean no good: each ends in a clear error, soon and within bounds.

use std::fmt::Write as _;
use std::io::Write as _;

use helm::{ArchiveLimits, Chart, MemoryFiles, Options};
use template::{Limits, Still};

fn chart(template: &str) -> MemoryFiles {
    MemoryFiles::from([
        ("Chart.yaml", "apiVersion: v2\nname: bad\nversion: 1.0.0\n"),
        ("values.yaml", "x: 1\n"),
        ("templates/a.yaml", template),
    ])
}

#[track_caller]
fn refuses(template: &str, reason: &str) {
    let loaded = Chart::load(&chart(template)).expect("the chart itself is well-formed");
    let mut options = Options::new("rel", "default");
    options.limits = Limits { steps: 2_000_000, output: 4 << 20, ..Limits::default() };
    let error = helm::template(&loaded, &options, &Still).expect_err("must be refused");
    assert!(error.to_string().contains(reason), "{template}: {error}");
}

#[test]
fn recursion_ends() {
    refuses("{{ define \"r\" }}{{ include \"r\" . }}{{ end }}{{ include \"r\" . }}", "nested");
    refuses(
        "{{ define \"r\" }}{{ template \"r\" . }}{{ end }}{{ template \"r\" . }}",
        "maximum template depth",
    );
    refuses(
        "{{ define \"r\" }}{{ tpl \"{{ include \\\"r\\\" . }}\" . }}{{ end }}{{ include \"r\" . }}",
        "nested",
    );
    refuses(
        "{{ define \"t\" }}{{ tpl .v . }}{{ end }}{{ tpl \"{{ tpl .v . }}\" (dict \"v\" \"{{ tpl .v . }}\") }}",
        "maximum template depth",
    );
}

#[test]
fn recursion_through_deep_blocks_ends() {
    let open = "{{ if true }}{{ with . }}{{ range list 1 }}".repeat(10);
    let close = "{{ end }}{{ end }}{{ end }}".repeat(10);
    refuses(
        &format!(
            "{{{{ define \"r\" }}}}{open}{{{{ include \"r\" . | upper | quote | indent 2 }}}}{close}{{{{ end }}}}{{{{ include \"r\" . }}}}"
        ),
        "maximum template depth",
    );
}

#[test]
fn loops_and_large_texts_end() {
    refuses("{{ range 1000000000 }}{{ end }}", "more than 2000000 steps");
    refuses("{{ range until 1000000000 }}{{ end }}", "more than 2000000 steps");
    refuses("{{ seq 1 1000000000 }}", "more than 2000000 steps");
    refuses("{{ repeat 1000000000 \"xx\" }}", "longer than 4194304 bytes");
    refuses("{{ range 10000 }}{{ printf \"%1000000d\" 1 }}{{ end }}", "longer than 4194304 bytes");
    refuses(
        "{{ $s := \"x\" }}{{ range 60 }}{{ $s = print $s $s }}{{ end }}",
        "longer than 4194304 bytes",
    );
    refuses(
        "{{ $s := \"x\" }}{{ range 60 }}{{ $s = cat $s $s }}{{ end }}",
        "longer than 4194304 bytes",
    );
    refuses(
        "{{ $s := printf \"%1000000d\" 1 }}{{ range 10 }}{{ $s = printf \"%s%1000000s\" $s $s }}{{ end }}",
        "longer than 4194304 bytes",
    );
    refuses("{{ indent 100000000 \"a\\nb\" }}", "longer than 4194304 bytes");
    refuses("{{ randAlphaNum 100000000 }}", "longer than 4194304 bytes");
    refuses(
        "{{ regexReplaceAll \"\" (repeat 100000 \"a\") (repeat 100000 \"b\") }}",
        "longer than",
    );
    // Small in memory, endless as a tree.
    for show in ["toJson", "toYaml", "toToml", "toString", "toPrettyJson", "quote", "toYamlPretty"]
    {
        refuses(
            &format!(
                "{{{{ $d := dict }}}}{{{{ range until 40 }}}}{{{{ $d = dict \"a\" $d \"b\" $d }}}}{{{{ end }}}}{{{{ {show} $d }}}}"
            ),
            &format!("error calling {show}"),
        );
    }
}

#[test]
fn what_is_kept_in_memory_is_bounded() {
    for template in [
        "{{ $l := list }}{{ range 100000 }}{{ $l = append $l (repeat 4000000 \"x\") }}{{ end }}",
        "{{ $d := dict }}{{ range until 100000 }}{{ $_ := set $d (toString .) (printf \"%4000000d\" .) }}{{ end }}",
        "{{ $l := list 1 2 }}{{ range 40 }}{{ $l = concat $l $l }}{{ end }}",
        "{{ $d := dict }}{{ range until 100000 }}{{ $_ := set $d (toString .) (splitList \"\" (repeat 100000 \"x\")) }}{{ end }}",
        "{{ $d := dict \"l\" (until 10000) }}{{ range until 100000 }}{{ $_ := set $d (toString .) (deepCopy (until 10000)) }}{{ end }}",
        "{{ $d := dict }}{{ range until 100000 }}{{ $_ := set $d (toString .) (fromYaml (repeat 10000 \"- x\\n\")) }}{{ end }}",
    ] {
        let loaded = Chart::load(&chart(template)).expect("the chart itself is well-formed");
        let mut options = Options::new("rel", "default");
        options.limits = Limits { made: 64 << 20, ..Limits::default() };
        let error = helm::template(&loaded, &options, &Still).expect_err("must be refused");
        assert!(error.to_string().contains("more than 67108864 bytes of values"), "{error}");
    }
}

#[test]
fn values_that_contain_themselves_end() {
    refuses("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ mustToJson $d }}", "cycle");
    refuses("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ deepCopy $d }}", "nested too deeply");
    refuses("{{ $d := dict }}{{ $_ := set $d \"d\" $d }}{{ mustToYaml $d }}", "cycle");
}

#[test]
fn regular_expressions_are_bounded() {
    refuses(
        "{{ mustRegexMatch \"(((a{1000}){1000}){1000}){1000}\" \"a\" }}",
        "error parsing regexp",
    );
    // Linear whatever the expression: there is no backtracking.
    refuses(
        "{{ range 2000000 }}{{ $_ := regexMatch \"(a*)*(a|aa)*b$\" (repeat 30 \"a\") }}{{ end }}",
        "more than 2000000 steps",
    );
    // A large expression may look at every byte thousands of times.
    refuses(
        "{{ mustRegexMatch \"[^x]{300}z\" (repeat 4000000 \"a\") }}",
        "too long for so large a regular expression",
    );
    let nested = format!("{}a{}", "(".repeat(2000), ")".repeat(2000));
    refuses(&format!("{{{{ mustRegexMatch \"{nested}\" \"a\" }}}}"), "error parsing regexp");
}

/// A world in which nobody waits for the result.
struct NobodyWaits;

impl helm::Facts for NobodyWaits {
    fn now(&self) -> i128 {
        0
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    fn is_over(&self) -> bool {
        true
    }
}

#[test]
fn a_render_ends_when_nobody_waits_for_it() {
    for template in [
        "{{ range 1000000000 }}{{ end }}",
        // Few calls, each with much to do.
        "{{ $t := repeat 2000000 \"a\" }}{{ range 1000 }}{{ $_ := sha256sum $t }}{{ end }}",
        "{{ range 1000 }}{{ $_ := derivePassword 1 \"long\" \"p\" \"u\" \"s\" }}{{ end }}",
        "{{ range 1000 }}{{ $_ := bcrypt \"a\" }}{{ end }}",
        // Every search goes on to the end of the text.
        "{{ $_ := regexFindAll \"a*b|a\" (repeat 200000 \"a\") -1 }}",
        "{{ $_ := regexReplaceAll \"a*b|a\" (repeat 200000 \"a\") \"c\" }}",
        "{{ $_ := regexSplit \"a*b|a\" (repeat 200000 \"a\") -1 }}",
    ] {
        let loaded = Chart::load(&chart(template)).expect("the chart itself is well-formed");
        let error = helm::template(&loaded, &Options::new("rel", "default"), &NobodyWaits);
        let error = error.expect_err("must end").to_string();
        assert!(error.contains("template takes too long"), "{template}: {error}");
    }
}

#[test]
fn deep_nesting_is_a_parse_error() {
    let mut text = String::new();
    for _ in 0..5000 {
        text.push_str("{{ if true }}");
    }
    refuses(&text, "max expression depth exceeded");
    refuses(
        &format!("{{{{ {}1{} }}}}", "(".repeat(5000), ")".repeat(5000)),
        "max expression depth exceeded",
    );
}

#[test]
fn yaml_bombs_in_values_are_refused() {
    let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for level in 1..12 {
        let refs = vec![format!("*a{}", level - 1); 10].join(",");
        writeln!(bomb, "a{level}: &a{level} [{refs}]").expect("memory");
    }
    let mut files = chart("kind: X\n");
    files.insert("values.yaml", bomb);
    let error = Chart::load(&files).expect_err("must be refused").to_string();
    assert!(error.contains("cannot load values.yaml"), "{error}");
}

#[test]
fn charts_that_depend_on_themselves_are_refused() {
    let mut files = chart("kind: X\n");
    let metadata = "apiVersion: v2\nname: bad\nversion: 1.0.0\ndependencies:\n- {name: bad, version: 1.0.0, repository: \"file://.\"}\n";
    files.insert("Chart.yaml", metadata);
    let loaded = Chart::load(&files).expect("the chart itself is well-formed");
    let error = helm::template(&loaded, &Options::new("rel", "default"), &Still);
    let error = error.expect_err("must be refused").to_string();
    assert!(error.contains("missing in charts/ directory: bad"), "{error}");
}

const SELFISH: &str = "apiVersion: v2\nname: bad\nversion: 1.0.0\ndependencies:\n- {name: bad, version: 1.0.0, repository: \"https://charts.example.com\"}\n";

/// An archive of these files, all below `bad/`.
fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best()));
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, format!("bad/{path}"), *content).expect("memory");
    }
    builder.into_inner().expect("memory").finish().expect("memory")
}

/// Helm 4.2.4 looks for the dependencies of the outermost chart alone, and renders both.
#[test]
fn a_chart_that_holds_itself_is_rendered_as_often_as_it_is_there() {
    let template = b"kind: X\nmetadata: {name: {{ .Template.Name | quote }}}\n";
    let inner = packed(&[("Chart.yaml", SELFISH.as_bytes()), ("templates/a.yaml", template)]);
    let mut files = chart(std::str::from_utf8(template).expect("text"));
    files.insert("Chart.yaml", SELFISH);
    files.insert("charts/bad-1.0.0.tgz", inner);
    let loaded = Chart::load(&files).expect("both are well-formed");
    let text = helm::template(&loaded, &Options::new("rel", "default"), &Still);
    let text = text.expect("it renders").text();
    let sources: Vec<&str> = text.lines().filter(|line| line.starts_with("# Source")).collect();
    assert_eq!(
        sources,
        ["# Source: bad/charts/bad/templates/a.yaml", "# Source: bad/templates/a.yaml"]
    );
}

#[test]
fn a_chart_that_was_fetched_for_itself_is_rendered_once_more_and_no_further() {
    let mut files = chart("kind: X\n");
    files.insert("Chart.yaml", SELFISH);
    let mut loaded = Chart::load(&files).expect("the chart itself is well-formed");
    loaded.add_subchart(Chart::load(&files).expect("the same"));
    assert!(loaded.missing_dependencies().is_empty());
    let rendered = helm::template(&loaded, &Options::new("rel", "default"), &Still);
    assert_eq!(rendered.expect("it renders").documents().count(), 2);
}

#[test]
fn archives_inside_archives_end() {
    let metadata: (&str, &[u8]) = ("Chart.yaml", b"apiVersion: v2\nname: bad\nversion: 1.0.0\n");
    let mut archive = packed(&[metadata]);
    for _ in 0..100 {
        archive = packed(&[metadata, ("charts/bad-1.0.0.tgz", &archive)]);
    }
    let error = Chart::load_archive(&archive).expect_err("must be refused").to_string();
    assert!(error.contains("nested too deeply"), "{error}");
}

#[test]
fn archives_of_many_archives_are_bounded_together() {
    let metadata: (&str, &[u8]) = ("Chart.yaml", b"apiVersion: v2\nname: bad\nversion: 1.0.0\n");
    let zeros = vec![0; 4 << 20];
    let mut archive = packed(&[metadata, ("zeros", &zeros)]);
    for _ in 0..3 {
        let names: Vec<String> = (0..16).map(|it| format!("charts/bad{it}-1.0.0.tgz")).collect();
        let copies = names.iter().map(|name| (name.as_str(), archive.as_slice()));
        archive = packed(&std::iter::once(metadata).chain(copies).collect::<Vec<_>>());
    }
    assert!(archive.len() < 1 << 20, "16 GiB in {} bytes", archive.len());
    let error = Chart::load_archive(&archive).expect_err("must be refused").to_string();
    assert!(error.contains("larger than the maximum size"), "{error}");
}

#[test]
fn charts_inside_charts_end() {
    let mut files = MemoryFiles::default();
    let mut folder = String::new();
    for _ in 0..100 {
        files.insert(format!("{folder}Chart.yaml"), "apiVersion: v2\nname: bad\nversion: 1.0.0\n");
        folder.push_str("charts/bad/");
    }
    let error = Chart::load(&files).expect_err("must be refused").to_string();
    assert!(error.contains("nested too deeply"), "{error}");
}

#[test]
fn an_archive_of_a_million_files_is_refused_early() {
    let mut builder =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    // As many as are read before it is refused: what follows is never looked at.
    for number in 0..=ArchiveLimits::default().files {
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        let path = format!("c/{number}");
        builder.append_data(&mut header, path, std::io::empty()).expect("memory");
    }
    let archive = builder.into_inner().expect("memory").finish().expect("memory");
    let error = Chart::load_archive(&archive).expect_err("must be refused").to_string();
    assert_eq!(error, "chart archive has more than 50000 files");
}

#[test]
fn a_link_in_an_archive_leads_nowhere() {
    let mut builder =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    let mut add = |path: &str, content: &str| {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, path, content.as_bytes()).expect("memory");
    };
    add("c/Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n");
    add("c/templates/a.yaml", "text: {{ .Files.Get \"secret\" | quote }}\n");
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder.append_link(&mut header, "c/secret", "/etc/passwd").expect("memory");
    let archive = builder.into_inner().expect("memory").finish().expect("memory");
    let loaded = Chart::load_archive(&archive).expect("the link is an empty file");
    let rendered = helm::template(&loaded, &Options::new("rel", "default"), &Still);
    assert!(rendered.expect("it renders").text().ends_with("text: \"\"\n"));
}

fn tgz(entries: &[(&str, usize)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, size) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(*size as u64);
        header.as_gnu_mut().expect("a GNU header").name[..path.len()]
            .copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, vec![b'a'; *size].as_slice()).expect("memory");
    }
    let tar = builder.into_inner().expect("memory");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&tar).expect("memory");
    encoder.finish().expect("memory")
}

#[test]
fn archives_stay_within_bounds() {
    let limits = ArchiveLimits { total: 10_000, file: 5_000, files: 3 };
    for (entries, reason) in [
        (&[("c/../../evil", 1)][..], "parent directory"),
        (&[("c//etc/passwd", 1)], "absolute paths"),
        (&[("Chart.yaml", 1)], "base directory"),
        (&[("c/big", 6_000)], "larger than the maximum file size 5000"),
        (&[("c/a", 4_000), ("c/b", 4_000), ("c/d", 4_000)], "larger than the maximum size 10000"),
        (&[("c/a", 1), ("c/b", 1), ("c/d", 1), ("c/e", 1)], "more than 3 files"),
    ] {
        let error = Chart::load_archive_within(&tgz(entries), limits).expect_err("must be refused");
        assert!(error.to_string().contains(reason), "{entries:?}: {error}");
    }
    assert!(Chart::load_archive(b"\x1f\x8b garbage").is_err());
}
