//! Templates that nobody wrote: every function with arguments of its kinds, sometimes of the wrong
//! kind, inside each other and inside every construct of the language.
//!
//! The ordinary test looks that each ends and gives the same twice. The oracle compares a fresh batch
//! with Helm; `GENERATED` says how many, `SEED` which. What it finds becomes a row of
//! `expressions.tsv`.

mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use helm::{KubeVersion, Options};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::{BoxedStrategy, Union, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::command::render;
use crate::corpus::{Answer, difference, report, write_folder};
use crate::expressions::{body, ours, probe, theirs};
use crate::real_helm::RealHelm;

/// Expressions that stand in one chart when all of them are expected to succeed.
const BATCH: usize = 50;

/// Name, kinds of the arguments, kind of the result. A star: any number of the last one.
///
/// `s` text, `i` integer, `z` small integer as written, `n` number, `f` fraction, `b` truth, `l` list,
/// `m` map, `d` map of our own that may be changed, `a` anything, `t` time, `v` version, `r` regular
/// expression, `c` version constraint, `y` date layout, `u` address, `j` JSON, `w` YAML, `o` TOML,
/// `h` duration, `p` path, `g` template.
const FUNCTIONS: &str = "
abbrev zs s|abbrevboth zzs s|add n* i|add1 n i|add1f n n|addf n* n|adler32sum s s|all a* b|any a* b
append la l|atoi s i|b32dec s s|b32enc s s|b64dec s s|b64enc s s|base p s|biggest n* i|camelcase s s|cat a* s
ceil n n|chunk zl l|clean p s|coalesce a* a|compact l l|concat l* l|contains ss b|date yt s|dateInZone ytS s
dateModify ht t|date_in_zone ytS s|date_modify ht t|must_date_modify ht t|push la l|mustPush la l|decryptAES ss s|deepCopy a a|deepEqual aa b|default aa a|dict ka m|dig kaM a|dir p s|div nn i
divf nn* n|duration i s|duration h s|durationRound h s|empty a b|ext p s|fail s s|first l a|float64 a n|floor n n
fromJson j m|fromJsonArray j l|fromToml o m|fromYaml w m|fromYamlArray w l|get mk a|getHostByName s s|has al b
hasKey mk b|hasPrefix ss b|hasSuffix ss b|hello  s|htmlDate t s|htmlDateInZone tS s|include q. s|indent zs s|initial l l
initials s s|int a i|int64 a i|isAbs p b|join sl s|kebabcase s s|kindIs ka b|kindOf a s|last l a|list a* l
lookup ssss m|lower s s|max n* i|maxf n* n|merge dm* m|mergeOverwrite dm* m|min n* i|minf n* n|mod nn i|mul nn* i|mulf nn* n
mustAppend la l|mustChunk zl l|mustCompact l l|mustDateModify ht t|mustDeepCopy a a|mustFirst l a|mustFromJson j a
mustHas al b|mustInitial l l|mustLast l a|mustMerge dm* m|mustMergeOverwrite dm* m|mustPrepend la l|mustRegexFind rs s
mustRegexFindAll rsz l|mustRegexMatch rs b|mustRegexReplaceAll rss s|mustRegexReplaceAllLiteral rss s|mustRegexSplit rsz l
mustRest l l|mustReverse l l|mustSlice lz l|mustToDate ys t|mustToJson a s|mustToPrettyJson a s|mustToRawJson a s
mustToToml m s|mustToYaml a s|mustUniq l l|mustWithout la* l|nindent zs s|nospace s s|omit mk* m|osBase p s|osClean p s
osDir p s|osExt p s|osIsAbs p b|pick mk* m|pluck km* l|plural ssz s|prepend la l|quote a* s|regexFind rs s
regexFindAll rsz l|regexMatch rs b|regexQuoteMeta s s|regexReplaceAll rss s|regexReplaceAllLiteral rss s|regexSplit rsz l
repeat zs s|replace sss s|required sa a|rest l l|reverse l l|round nz n|semver v v|semverCompare cv b|seq z* s|set dka m
sha1sum s s|sha256sum s s|sha512sum s s|slice lz l|slice lzz l|snakecase s s|sortAlpha l l|split ss m|splitList ss l|splitn szs m
squote a* s|sub nn i|subf nn* n|substr zzs s|swapcase s s|ternary aab a|title s s|toDate ys t|toDecimal a i|toJson a s
toPrettyJson a s|toRawJson a s|toString a s|toStrings l l|toToml m s|toYaml a s|toYamlPretty a s|tpl g. s|trim s s
trimAll ss s|trimPrefix ss s|trimSuffix ss s|trimall ss s|trunc zs s|tuple a* l|typeIs ka b|typeIsLike ka b|typeOf a s
uniq l l|unixEpoch t s|unset dk m|until z l|untilStep zzz l|untitle s s|upper s s|urlJoin m s|urlParse u m|without la* l
wrap zs s|wrapWith zss s|and a* a|or a* a|not a b|eq aa* b|ne aa b|lt aa b|le aa b|gt aa b|ge aa b|index la a|index mk a
len a i|print a* s|println a* s|printf Va s|html a* s|js a* s|urlquery a* s|slice sz s";

/// What a batch cannot compare, and why.
const EXCUSED: &str = "
ago now: tell the time
bcrypt buildCustomCert encryptAES genCA genCAWithKey genPrivateKey genSelfSignedCert: random
genSelfSignedCertWithKey genSignedCert genSignedCertWithKey htpasswd: random
randAlpha randAlphaNum randAscii randBytes randInt randNumeric shuffle uuidv4: random
keys values: in random order in Go
derivePassword: a second of work each
call: needs a function as a value, which no template has";

/// Kinds of which anything may be asked.
const PLAIN: &str = "sinfblm";

struct Signature {
    name: &'static str,
    arguments: Vec<char>,
    repeats: bool,
    result: char,
}

fn signatures() -> Vec<Signature> {
    let cells = FUNCTIONS.lines().flat_map(|line| line.split('|')).filter(|it| !it.is_empty());
    cells
        .map(|cell| {
            let mut parts = cell.split(' ');
            let mut part = || parts.next().expect("name, arguments, result");
            let (name, arguments, result) = (part(), part(), part());
            let repeats = arguments.ends_with('*');
            let arguments = arguments.trim_end_matches('*').chars().collect();
            let result = result.chars().next().expect("a kind");
            Signature { name, arguments, repeats, result }
        })
        .collect()
}

/// Strategies of one depth by kind.
type Level = BTreeMap<char, BoxedStrategy<String>>;

const KINDS: &str = "sSinzfblmMdktvcryujwohpgqV.a";

fn leaves() -> Level {
    let mut level = Level::new();
    for kind in KINDS.chars() {
        level.insert(kind, words::word(kind));
    }
    with_anything(level)
}

/// `a` stands for every plain kind and for nothing at all.
fn with_anything(mut level: Level) -> Level {
    let plain = PLAIN.chars().map(|kind| level[&kind].clone());
    let anything = Union::new(plain.chain([level[&'a'].clone()])).boxed();
    level.insert('a', anything);
    level
}

/// What is of this kind, now and then something else. Where another kind would be the time of day,
/// work without end or a change to what others see, it stays.
fn argument(level: &Level, kind: char) -> BoxedStrategy<String> {
    let right = level[&kind].clone();
    if "tzdhSM.Vgq".contains(kind) {
        return right;
    }
    prop_oneof![19 => right, 1 => level[&'a'].clone()].boxed()
}

fn call(level: &Level, signature: &Signature) -> BoxedStrategy<String> {
    let name = signature.name;
    let fixed: Vec<_> = signature.arguments.iter().map(|kind| argument(level, *kind)).collect();
    let more = match (signature.repeats, signature.arguments.last()) {
        (true, Some(last)) => prop::collection::vec(argument(level, *last), 0..3).boxed(),
        _ => Just(Vec::new()).boxed(),
    };
    let piped = prop::bool::weighted(0.3);
    (fixed, more, piped)
        .prop_map(move |(mut arguments, more, piped)| {
            arguments.extend(more);
            match (piped, arguments.split_last()) {
                (true, Some((last, []))) => format!("({last} | {name})"),
                (true, Some((last, rest))) => format!("({last} | {name} {})", rest.join(" ")),
                _ if arguments.is_empty() => format!("({name})"),
                _ => format!("({name} {})", arguments.join(" ")),
            }
        })
        .boxed()
}

fn deeper(level: &Level) -> Level {
    let signatures = signatures();
    let mut next = level.clone();
    for kind in "sinblmtv".chars() {
        let calls = signatures.iter().filter(|it| it.result == kind).map(|it| call(level, it));
        let calls = Union::new(calls.collect::<Vec<_>>());
        next.insert(kind, prop_oneof![2 => level[&kind].clone(), 3 => calls].boxed());
    }
    next.insert('a', level[&'a'].clone());
    with_anything(next)
}

/// One call of every kind of function, its arguments up to two calls deep.
fn calls() -> BoxedStrategy<String> {
    let level = deeper(&deeper(&leaves()));
    Union::new(signatures().iter().map(|signature| call(&level, signature)).collect::<Vec<_>>())
        .boxed()
}

fn templates() -> BoxedStrategy<String> {
    let lists = deeper(&leaves())[&'l'].clone();
    let maps = deeper(&leaves())[&'m'].clone();
    let show =
        select(&["", " | toJson", " | toYaml", " | typeOf", " | printf \"%v\"", " | quote"][..]);
    let shown = (calls(), show).prop_map(|(call, show)| format!("{{{{ {call}{show} }}}}"));
    let constructs = prop_oneof![
        calls().prop_map(|call| format!("{{{{ if {call} }}}}yes{{{{ else }}}}no{{{{ end }}}}")),
        (calls(), calls()).prop_map(|(first, second)| format!(
            "{{{{ if {first} }}}}1{{{{- else if {second} -}}}} 2 {{{{ end }}}}"
        )),
        calls().prop_map(|call| format!(
            "{{{{ with {call} }}}}{{{{ . | toJson }}}}{{{{ else }}}}-{{{{ end }}}}"
        )),
        (calls(), calls()).prop_map(|(first, second)| format!(
            "{{{{ with $x := {first} }}}}{{{{ $x }}}}{{{{ else with {second} }}}}{{{{ . }}}}{{{{ end }}}}"
        )),
        (lists, calls()).prop_map(|(list, call)| format!(
            "{{{{ range $i, $e := {list} }}}}{{{{ $i }}}}={{{{ $e }}}}{{{{ if {call} }}}}{{{{ break }}}}{{{{ end }}}};{{{{ else }}}}none{{{{ end }}}}"
        )),
        maps.prop_map(|map| format!(
            "{{{{ range $k, $v := {map} }}}}{{{{- $k }}}}:{{{{ $v -}}}} ,{{{{ end }}}}"
        )),
        (calls(), calls()).prop_map(|(first, second)| format!(
            "{{{{ $x := {first} }}}}{{{{ if true }}}}{{{{ $x = {second} }}}}{{{{ end }}}}{{{{ $x | toJson }}}}"
        )),
        calls().prop_map(|call| format!("{{{{- {call} -}}}}\n tail")),
        calls().prop_map(|call| format!("{{{{ {call}.name }}}}")),
        (calls(), calls())
            .prop_map(|(first, second)| format!("{{{{ eq {first} {second} }}}}{{{{ lt {first} {second} }}}}")),
    ];
    let whole = prop_oneof![3 => shown, 1 => constructs].boxed();
    prop_oneof![8 => whole.clone(), 1 => there_and_back(), 1 => mutilated(whole)].boxed()
}

/// A time as a layout writes it, read by the same layout.
fn there_and_back() -> BoxedStrategy<String> {
    let parts = (words::word('y'), words::word('t'));
    parts
        .prop_map(|(layout, time)| {
            format!("{{{{ $t := {time} }}}}{{{{ $s := date {layout} $t }}}}{{{{ $s }}}} {{{{ toDate {layout} $s }}}}")
        })
        .boxed()
}

/// A template in which a character became something else: what is wrong, and where?
fn mutilated(whole: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let slip = select(
        &[
            "", "", "{{", "}}", "(", ")", " | ", "\"", "$", ".", " ", ",", " end ", ":=", "'", "`",
            "0", "é", "-", "\n", " else ", "$x", "%", "/*",
        ][..],
    );
    (whole, any::<prop::sample::Index>(), slip)
        .prop_map(|(text, place, slip)| {
            let place = place.index(text.chars().count());
            let slipped = text.chars().enumerate();
            slipped.map(|(at, c)| if at == place { slip.to_owned() } else { c.into() }).collect()
        })
        .boxed()
}

fn generate(count: usize, seed: u64) -> Vec<String> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let templates = templates();
    (0..count)
        .map(|_| templates.new_tree(&mut runner).expect("nothing is filtered").current())
        .collect()
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn every_function_is_generated_or_excused() {
    let signatures = signatures();
    let excused = EXCUSED.lines().filter_map(|line| line.split_once(':'));
    let mut known: BTreeSet<&str> = excused.flat_map(|(names, _)| names.split(' ')).collect();
    known.extend(signatures.iter().map(|signature| signature.name));
    let missing: Vec<&str> = helm::function_names().filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "neither generated nor excused: {missing:?}");
}

#[test]
fn what_nobody_wrote_ends_and_gives_the_same_twice() {
    for template in generate(600, number("SEED", 1)) {
        assert_eq!(ours(&template), ours(&template), "{template}");
    }
}

#[test]
#[ignore = "cargo xtask oracle helm"]
fn what_nobody_wrote_gives_what_is_given_by_the_real_helm() {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let count = number("GENERATED", 2000) as usize;
    let templates = generate(count, number("SEED", 1));
    let helm = RealHelm::from_environment();
    let answers: Vec<Answer> = templates.iter().map(|template| ours(template)).collect();
    let (accepted, refused): (Vec<usize>, Vec<usize>) =
        (0..count).partition(|index| answers[*index].is_ok());

    // What we render is asked in batches; where one disagrees, each of it by itself.
    let batches: Vec<&[usize]> = accepted.chunks(BATCH).collect();
    let batch_answers = helm.each(&batches, |helm, number, batch| {
        let members: Vec<&str> = batch.iter().map(|index| templates[*index].as_str()).collect();
        theirs_together(helm, &scratch.path().join(format!("batch-{number}")), &members)
    });
    let mut single = refused.clone();
    for (batch, answer) in batches.iter().zip(&batch_answers) {
        let members: Vec<&str> = batch.iter().map(|index| templates[*index].as_str()).collect();
        if *answer != ours_together(&members) {
            single.extend(*batch);
        }
    }
    let single_answers = helm.each(&single, |helm, number, index| {
        theirs(helm, scratch.path(), number, &templates[*index])
    });
    let mut failures = Vec::new();
    let mut listed = 0;
    for (index, want) in single.iter().zip(&single_answers) {
        match difference(want, &answers[*index]) {
            Some(_) if is_listed(&answers[*index]) => listed += 1,
            Some(where_) => failures.push(format!("{}\n{where_}", templates[*index])),
            None => {}
        }
    }
    println!(
        "generated: {} give a text, {} a message, {listed} differ as docs/differences.md says",
        accepted.len(),
        refused.len()
    );
    report("generated templates", count, &failures);
}

/// What Helm shows behind the end of a list is whatever Go's allocator left there.
fn is_listed(ours: &Answer) -> bool {
    const PAST_THE_END: &str =
        "error calling slice: reflect.Value.Slice: slice index out of bounds";
    ours.as_ref().is_err_and(|message| message.ends_with(PAST_THE_END))
}

fn together(members: &[&str]) -> helm::MemoryFiles {
    let mut files = probe();
    for (number, member) in members.iter().enumerate() {
        // Names must differ: they share one set of templates.
        let body = body(member).replace("\"case\"", &format!("\"case{number}\""));
        files.insert(format!("templates/x{number:03}.yaml"), body);
    }
    files
}

fn ours_together(members: &[&str]) -> Answer {
    let mut options = Options::new("rel", "prod");
    options.capabilities.kube_version = KubeVersion::parse("v1.33.0").expect("a version");
    Ok(render(&together(members), &options)?.text())
}

fn theirs_together(helm: &RealHelm, folder: &Path, members: &[&str]) -> Answer {
    write_folder(&together(members), &folder.join("probe"));
    let words = ["rel", "probe", "--namespace", "prod", "--kube-version", "v1.33.0"];
    helm.template(folder, &words.map(str::to_owned))
}
