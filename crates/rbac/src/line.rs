//! One line of a policy: what it says, and what is wrong with it.
//!
//! `p, subject, resource, action, object, effect` allows or denies;
//! `g, member, role` gives somebody a role. Lines are CSV as Go reads them:
//! blanks before a cell do not count, those after it do; quotes hold commas.

/// Something about a policy that its author should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line, from 1; 0 when it is about the whole.
    pub line: usize,
    /// The policy cannot be used while this stands.
    pub is_fatal: bool,
    /// What is wrong, as one sentence.
    pub message: String,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Rule {
        subject: String,
        resource: String,
        action: String,
        object: String,
        effect: Effect,
    },
    Member {
        name: String,
        role: String,
    },
    /// Blank, a comment, or a section of the policy language that no request reaches.
    Nothing,
}

/// What a rule does when it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Allow,
    Deny,
    /// Any other word is accepted and does nothing.
    Nothing,
}

/// Reads all lines with their numbers; those that cannot be read are findings.
pub(crate) fn read(text: &str) -> (Vec<(usize, Line)>, Vec<Finding>) {
    let mut lines = Vec::new();
    let mut findings = Vec::new();
    for (number, line) in text.split('\n').enumerate().map(|(index, line)| (index + 1, line)) {
        match parse(line.trim()) {
            Ok(Line::Nothing) => {}
            Ok(line) => lines.push((number, line)),
            Err(message) => findings.push(Finding { line: number, is_fatal: true, message }),
        }
    }
    (lines, findings)
}

fn parse(line: &str) -> Result<Line, String> {
    if line.is_empty() || line.starts_with('#') {
        return Ok(Line::Nothing);
    }
    let cells = cells(line)?;
    let mut cells = cells.into_iter();
    let kind = cells.next().unwrap_or_default();
    let rest: Vec<String> = cells.collect();
    match (kind.as_str(), rest.len()) {
        ("p", _) => {
            let [subject, resource, action, object, effect] = exactly(rest, "p")?;
            let effect = match effect.as_str() {
                "allow" => Effect::Allow,
                "deny" => Effect::Deny,
                _ => Effect::Nothing,
            };
            Ok(Line::Rule { subject, resource, action, object, effect })
        }
        ("g", _) => {
            let [name, role] = exactly(rest, "g")?;
            Ok(Line::Member { name, role })
        }
        // Names of other sections; Argo CD stores such lines and never looks at them.
        ("r" | "e" | "m", _) => Ok(Line::Nothing),
        _ => Err(format!("a line begins with p or g, not with {kind:?}")),
    }
}

fn exactly<const N: usize>(cells: Vec<String>, kind: &str) -> Result<[String; N], String> {
    <[String; N]>::try_from(cells).map_err(|cells| {
        format!("a {kind} line has {N} cells after the {kind}, this one has {}", cells.len())
    })
}

fn cells(line: &str) -> Result<Vec<String>, String> {
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        rest = rest.trim_start();
        let (cell, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted_cell(quoted)?,
            None => plain_cell(rest)?,
        };
        cells.push(cell);
        match after {
            Some(after) => rest = after,
            None => return Ok(cells),
        }
    }
}

fn plain_cell(text: &str) -> Result<(String, Option<&str>), String> {
    let (cell, after) =
        text.split_once(',').map_or((text, None), |(cell, after)| (cell, Some(after)));
    if cell.contains('"') {
        return Err("a quote stands inside of a cell that is not quoted".into());
    }
    Ok((cell.to_owned(), after))
}

/// The cell after its opening quote; a quote inside is written twice.
fn quoted_cell(text: &str) -> Result<(String, Option<&str>), String> {
    let mut cell = String::new();
    let mut rest = text;
    loop {
        let Some((part, after)) = rest.split_once('"') else {
            return Err("a quoted cell is not closed".into());
        };
        cell.push_str(part);
        match after.chars().next() {
            Some('"') => {
                cell.push('"');
                rest = &after[1..];
            }
            Some(',') => return Ok((cell, Some(&after[1..]))),
            None => return Ok((cell, None)),
            Some(_) => return Err("something stands between a closing quote and a comma".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expect: &Result<&[&str], &str>) {
        let cells = cells(line);
        let told = cells.as_ref().map(|it| it.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(told.as_deref().map_err(|it| it.as_str()), expect.as_deref().map_err(|it| *it));
    }

    #[test]
    fn blanks_count_only_after_a_cell() {
        check("p,  a ,b", &Ok(&["p", "a ", "b"]));
        check("p,", &Ok(&["p", ""]));
    }

    #[test]
    fn quotes_hold_commas_and_quotes() {
        check(r#"p, "{a,b}", "x""y""#, &Ok(&["p", "{a,b}", "x\"y"]));
        check(r#"p, """#, &Ok(&["p", ""]));
    }

    #[test]
    fn quotes_in_the_wrong_place_are_told() {
        check(r#"p, a"b"#, &Err("a quote stands inside of a cell that is not quoted"));
        check(r#"p, "a"#, &Err("a quoted cell is not closed"));
        check(r#"p, "a" , b"#, &Err("something stands between a closing quote and a comma"));
    }

    #[track_caller]
    fn check_line(line: &str, expect: &str) {
        assert_eq!(parse(line).err().unwrap_or_default(), expect);
    }

    #[test]
    fn a_line_has_its_number_of_cells() {
        check_line("p, a, b, c, d, allow", "");
        check_line("p, a, b, c", "a p line has 5 cells after the p, this one has 3");
        check_line("g, a, b, c", "a g line has 2 cells after the g, this one has 3");
        check_line("x, a", "a line begins with p or g, not with \"x\"");
        check_line("# p, a", "");
        check_line("m, whatever", "");
    }

    #[test]
    fn findings_name_their_line() {
        let (lines, findings) = read("# ours\n\n  p, a, b, c, d, deny  \nnonsense");
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].0, 3);
        assert_eq!(findings.iter().map(|it| it.line).collect::<Vec<_>>(), [4]);
    }
}
