//! The words of generated templates: what stands for each kind of argument, as written and as put
//! together from pieces.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::BoxedStrategy;

/// An argument of this kind: one that somebody thought of, or one that nobody did.
pub(super) fn word(kind: char) -> BoxedStrategy<String> {
    let written = select(literals(kind)).prop_map(str::to_owned);
    let made = match kind {
        'V' => format_text(),
        'g' => return prop_oneof![3 => written, 1 => inner_template()].boxed(),
        _ => {
            let pieces = pieces(kind);
            if pieces.is_empty() {
                return written.boxed();
            }
            let text = prop::collection::vec(select(pieces), 1..7);
            text.prop_map(|text| format!("\"{}\"", text.concat())).boxed()
        }
    };
    prop_oneof![2 => written, 1 => made].boxed()
}

/// Fragments of a quoted text of this kind, with its backslashes.
fn pieces(kind: char) -> &'static [&'static str] {
    match kind {
        's' => &[
            "a", "b", "C", "De", "é", "Ü", "ß", "日本", "😀", " ", "  ", "_", "-", ".", ",", "/",
            "1", "23", "0", "x", "HTTP", "Id", "\\n", "\\t", "'", "&", "<", "\\\"", "$", "%", "+",
            "=", ":", "#", "null", "true", "\\u00a0", "ǆ", "{", "}", "\\\\",
        ],
        'r' => &[
            "a",
            "b",
            "l",
            ".",
            "\\\\w",
            "\\\\d",
            "\\\\s",
            "\\\\W",
            "[a-c]",
            "[^x]",
            "[[:alpha:]]",
            "(",
            "(?:",
            ")",
            "(?i)",
            "*",
            "+",
            "?",
            "*?",
            "{2}",
            "{1,3}",
            "|",
            "^",
            "$",
            "\\\\b",
            "é",
            "\\\\.",
            "(?P<n>",
            "\\\\pL",
            "-",
            "[",
            "]",
            "\\\\x41",
            "\\\\Q",
            "\\\\E",
            "(?s)",
        ],
        'y' => &[
            "2006", "06", "01", "1", "Jan", "January", "02", "2", "_2", "002", "Mon", "Monday",
            "15", "03", "3", "04", "4", "05", "5", "PM", "pm", "MST", "-0700", "-07:00", "Z07:00",
            "-07", "Z0700", ".000", ".999", " ", "-", "/", ":", "T", "x", ",", "é",
        ],
        'v' => &["0", "1", "2", "10", ".", ".", ".", "-", "+", "rc", "alpha.1", "x", "v", "01"],
        'c' => &[
            ">=", "<", "^", "~", "!=", "=", ">", " ", ", ", " || ", " - ", "*", "1", "2", "0", ".",
            ".", ".2", ".3", "-0", "-rc.1", "x", "v", "+b", "1.2.3", "0.1",
        ],
        'u' => &[
            "http",
            "https",
            "mailto",
            ":",
            "://",
            "/",
            "//",
            "@",
            "u",
            "p",
            "example.com",
            "[::1]",
            ":80",
            "?",
            "#",
            "x=1",
            "%20",
            "%zz",
            "&",
            "a b",
            "é",
            "..",
            "1",
        ],
        'j' => &[
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\\\"a\\\"",
            "\\\"b\\\"",
            "1",
            "2.5",
            "null",
            "true",
            "-",
            "e3",
            " ",
            "\\\"",
            "x",
            "\\\\u00e9",
        ],
        'h' => &["1", "2.5", "-", "+", "h", "m", "s", "ms", "us", "µs", "ns", ".5", "d", "90"],
        'p' => &["/", "a", "..", ".", "b.c", "//", "é", "./", "../", ".d"],
        _ => &[],
    }
}

/// What `printf` takes: a verb with what may stand before it.
fn format_text() -> BoxedStrategy<String> {
    let flags = prop::collection::vec(select(&["+", "-", "#", " ", "0"][..]), 0..3);
    let width = select(&["", "", "1", "6", "12", "[1]", "*"][..]);
    let precision = select(&["", "", ".", ".0", ".2", ".9"][..]);
    let verb = select(
        &[
            "v", "d", "s", "q", "x", "X", "t", "T", "f", "e", "E", "g", "G", "c", "U", "o", "b",
            "O", "p", "z", "%",
        ][..],
    );
    (flags, width, precision, verb)
        .prop_map(|(flags, width, precision, verb)| {
            format!("\"%{}{width}{precision}{verb}|\"", flags.concat())
        })
        .boxed()
}

/// A template within a template: pieces of actions, rarely whole.
fn inner_template() -> BoxedStrategy<String> {
    let piece = select(
        &[
            "{{ ",
            " }}",
            "{{- ",
            " -}}",
            ".Values.text",
            ".Release.Name",
            ".Values.names",
            "$x",
            " := ",
            " = ",
            "1",
            "if ",
            "end",
            "else",
            "range ",
            "with ",
            "upper ",
            "quote ",
            "| ",
            "(",
            ")",
            ".",
            "$",
            "define ",
            "`a`",
            "/* c */",
            " ",
            "x",
            "nil",
            "true",
            "\n",
            "'a'",
            "template ",
            "block ",
            "break",
            ",",
            "0x1",
            "1.5",
        ][..],
    );
    let pieces = prop::collection::vec(piece, 1..9);
    pieces.prop_map(|text| format!("{:?}", text.concat())).boxed()
}

fn literals(kind: char) -> &'static [&'static str] {
    match kind {
        's' | 'S' => &[
            r#""""#,
            r#""abc""#,
            r#""Hello big World""#,
            r#""héllo-wörld ✓""#,
            r#""a.b.c""#,
            r#""1""#,
            r#""-5""#,
            r#""0x1f""#,
            r#""1.5""#,
            r#""true""#,
            r#""a,b;c d_e""#,
            r#""  padded\t""#,
            r#""one\ntwo\n""#,
            r#""<b>&'""#,
            r#""UTC""#,
            r#""Asia/Tokyo""#,
            ".Values.text",
            ".Values.unicode",
            ".Values.lines",
            ".Release.Name",
            ".Values.empty",
            ".Chart.Version",
            "(.Files.Get \"files/lines.txt\")",
        ],
        'i' => &["0", "1", "2", "-1", "42", "100", "9223372036854775807", "(len .Values.names)"],
        'z' => &["0", "1", "2", "3", "5", "8", "-1", "20"],
        'n' => {
            &["0", "1", "-7", "2.5", "-0.5", "1e9", ".Values.whole", ".Values.fraction", r#""12""#]
        }
        'f' => &["0.0", "1.5", "-2.25", "3.0", "1e21", "1e-7", ".Values.fraction"],
        'b' => &["true", "false", ".Values.yes", ".Values.no"],
        'l' => &[
            "(list)",
            "(list 1 2 3)",
            r#"(list "b" "a" "b")"#,
            r#"(list 1 "x" nil true 2.5)"#,
            ".Values.names",
            ".Values.mixed",
            "(until 4)",
            r#"(splitList "," "x,y,z")"#,
            "(list (list 1) (dict))",
            ".Chart.Keywords",
            "(.Files.Lines \"files/lines.txt\")",
            "(list nil)",
        ],
        'm' | 'M' => &[
            "(dict)",
            r#"(dict "a" 1 "b" "x")"#,
            r#"(dict "name" nil "b" (list 1))"#,
            ".Values.person",
            ".Values.person.address",
            r#"(dict "a" (dict "b" (dict "c" 2.5)))"#,
        ],
        'd' => &[
            "(dict)",
            r#"(dict "a" 1 "b" "")"#,
            r#"(dict "a" (dict "b" 0) "l" (list 1))"#,
            r#"(dict "name" "Bob" "n" nil)"#,
        ],
        'k' => &[
            r#""a""#,
            r#""b""#,
            r#""name""#,
            r#""address""#,
            r#""string""#,
            r#""map""#,
            r#""none""#,
        ],
        't' => &[
            r#"(toDate "2006-01-02" "2024-02-29")"#,
            r#"(toDate "2006-01-02T15:04:05Z07:00" "2021-07-08T09:10:11+02:00")"#,
        ],
        'v' => &[r#""1.2.3""#, r#""v1.10.0-rc.1+b5""#, r#""2""#, r#""1.2.x""#, r#""0.4""#],
        'c' => &[
            r#"">=1.2""#,
            r#""^1.2.0 || ~2""#,
            r#""1.x""#,
            r#""<2.0.0-0, !=1.2.3""#,
            r#""1.0 - 1.9""#,
            r#""=>1""#,
            r#""*""#,
        ],
        'r' => &[
            r#""a+""#,
            r#""^[a-z]*$""#,
            r#""(\\w)(\\w)""#,
            r#""\\d{1,2}|x""#,
            r#""(?i)L""#,
            r#""""#,
            r#""[""#,
            r#""(?P<n>b)""#,
        ],
        'y' => &[
            r#""2006-01-02""#,
            r#""Mon Jan _2 15:04:05 MST 2006""#,
            r#""02/01/06 3:04PM -07:00""#,
            r#""January 2 .000""#,
            r#""x""#,
        ],
        'u' => &[
            r#""https://u:p@example.com:8443/a/b?x=1&y=2#f""#,
            r#""/only/path""#,
            r#""host:80""#,
            r#""http://[::1]/""#,
            r#""%zz""#,
        ],
        'j' => &[
            r#""{\"a\": [1, 2.5, null]}""#,
            r#""[1, \"x\", {}]""#,
            r#""{bad""#,
            r#""5""#,
            r#""\"\\u00e9\"""#,
        ],
        'w' => &[
            r#""a: 1\nb: [x, 2.0]\n""#,
            r#""- 1\n- c: d\n""#,
            r#""a: b: c""#,
            r#""k: 0o17\nl: ~\nm: yes\n""#,
        ],
        // No broken ones: what is wrong with TOML is told in other words than Go's library has.
        'o' => &[r#""a = 1\n[b]\nc = [1.5, 2.5]\n""#, r#""d = \"e\"\n""#],
        'h' => &[r#""90s""#, r#""-1.5h""#, r#""26h10m""#, r#""1y""#, r#""95""#],
        'p' => &[r#""/a/b/../c.txt""#, r#""a//b/""#, r#""""#, r#"".""#, r#""../x.tar.gz""#],
        'g' => &[
            r#""{{ .Release.Name }}-{{ .Values.text }}""#,
            r#""{{ range .Values.names }}{{ . }},{{ end }}""#,
            r#""{{ .Values.nothing.x }}""#,
            r#""{{ end }}""#,
            ".Values.template",
        ],
        'q' => &[r#""part.plain""#, r#""part.broken""#, r#""part.none""#],
        'V' => &[
            r#""%v""#,
            r#""%d""#,
            r#""%s""#,
            r#""%q""#,
            r#""%5.2f|""#,
            r#""%x""#,
            r#""%+v""#,
            r#""%T""#,
            r#""%t""#,
            r#""%08d""#,
            r#""%e""#,
            r#""%g""#,
            r#""%-6s|""#,
            r#""%c""#,
            r#""%#v""#,
            r#""%U""#,
            r#""%o %b""#,
        ],
        '.' => &["."],
        _ => &[
            "nil",
            ".Values.nothing",
            ".Values.missing",
            ".Values.whole",
            ".Values.large",
            ".Release",
            ".Chart",
            ".Chart.Maintainers",
            ".Capabilities.KubeVersion",
            "(semver \"v1.2.3-rc.1\")",
            "(toDate \"2006-01-02\" \"2024-02-29\")",
            "(.Files.GetBytes \"files/bare.txt\")",
            "(.Files.Glob \"files/*.txt\")",
            "(int64 5)",
            "'x'",
            "(rest list)",
        ],
    }
}
