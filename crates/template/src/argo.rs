//! The functions Argo CD adds to sprig for the templates of ApplicationSets.

use crate::arguments::text;
use crate::call::{Function, Functions, Parameter};
use crate::error::Error;
use crate::formats::{from_yaml, to_yaml};
use crate::json::Target;
use crate::value::{IntType, Value};

/// The longest DNS subdomain name.
const LONGEST_NAME: usize = 253;
/// The longest slug, unless another length is asked for.
const LONGEST_SLUG: i64 = 50;

impl Functions {
    /// Adds what Argo CD gives the templates of ApplicationSets beside sprig: YAML functions that
    /// fail on bad input, `normalize` and `slugify`.
    pub fn add_argo(&mut self) {
        use Parameter::{Any, String};
        self.add("toYaml", Function::new(&[Any], |_, a| Ok(Value::string(to_yaml(&a[0])?))));
        self.add("fromYaml", Function::new(&[String], |_, a| from_yaml(&text(&a[0]), Target::Map)));
        self.add(
            "fromYamlArray",
            Function::new(&[String], |_, a| from_yaml(&text(&a[0]), Target::List)),
        );
        self.add(
            "normalize",
            Function::new(&[String], |_, a| Ok(Value::string(normalize(&text(&a[0]))))),
        );
        self.add("slugify", Function::variadic(&[Any], |_, a| Ok(Value::string(slugify(a)?))));
    }
}

/// A DNS subdomain name out of any text.
fn normalize(name: &str) -> String {
    // Letter by letter, as Go does it: no letter becomes two.
    let lower = name.chars().map(|c| c.to_lowercase().next().unwrap_or(c));
    let plain: String = lower
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' { c } else { '-' })
        .take(LONGEST_NAME)
        .collect();
    plain.trim_matches(['-', '.']).to_owned()
}

/// `slugify [longest [whole words]] name`: words with dashes between them.
fn slugify(arguments: &[Value]) -> Result<String, Error> {
    let Some((name, before)) = arguments.split_last() else { return Ok(String::new()) };
    let longest = match before.first() {
        None => LONGEST_SLUG,
        Some(Value::Int(IntType::Int, number)) => *number,
        Some(other) => return Err(not_a(other, "int")),
    };
    let whole_words = match before.get(1) {
        None => true,
        Some(Value::Bool(truth)) => *truth,
        Some(other) => return Err(not_a(other, "bool")),
    };
    let Value::String(name) = name else { return Err(not_a(name, "string")) };
    let name = normalize(&name.as_str());
    if whole_words {
        let longest = usize::try_from(longest).unwrap_or_default();
        return Ok(up_to_a_word(dashed(&name), longest));
    }
    match usize::try_from(longest) {
        Ok(longest) => Ok(dashed(&name[..longest.min(name.len())])),
        Err(_) => {
            Err(Error::function(format!("runtime error: slice bounds out of range [:{longest}]")))
        }
    }
}

/// What Go's type assertion panics with.
fn not_a(value: &Value, wanted: &str) -> Error {
    let got = match value {
        Value::Nil | Value::Nothing => "nil".into(),
        value => value.type_name(),
    };
    Error::function(format!("interface conversion: interface {{}} is {got}, not {wanted}"))
}

/// One dash where there were dots and dashes, none at the ends.
fn dashed(name: &str) -> String {
    let words: Vec<&str> = name.split(['.', '-']).filter(|word| !word.is_empty()).collect();
    words.join("-")
}

/// The first words that fit; a single word is cut. No length at all is no limit.
fn up_to_a_word(mut slug: String, longest: usize) -> String {
    if longest == 0 || slug.len() <= longest {
        return slug;
    }
    let end = slug[..=longest].rfind('-').unwrap_or(longest);
    slug.truncate(end);
    slug
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalized_names_are_dns_names() {
        assert_eq!(normalize("-Feature/ABC_1."), "feature-abc-1");
        assert_eq!(normalize("İstanbul"), "istanbul");
    }

    /// The Go libraries' own answers, more of them, are in `tests/golden/applicationset.jsonl`.
    #[track_caller]
    fn check(arguments: &[Value], expect: Result<&str, &str>) {
        let got = slugify(arguments).map_err(|error| error.to_string());
        assert_eq!(got.as_deref().map_err(String::as_str), expect, "{arguments:?}");
    }

    #[test]
    fn slugs_end_with_a_whole_word_unless_told_otherwise() {
        let branch = || {
            Value::from(
                "feat/a_really+long_pull_request_name_to_test_argo_slugification_and_branch_name_shortening_feature",
            )
        };
        check(&[branch()], Ok("feat-a-really-long-pull-request-name-to-test-argo"));
        check(&[Value::int(30), branch()], Ok("feat-a-really-long-pull"));
        check(
            &[Value::int(30), Value::Bool(false), branch()],
            Ok("feat-a-really-long-pull-reques"),
        );
        check(&[Value::int(3), Value::from("Abcdef")], Ok("abc"));
        check(&[Value::from("a..b--c.")], Ok("a-b-c"));
        check(
            &[Value::int(0), branch()],
            Ok(
                "feat-a-really-long-pull-request-name-to-test-argo-slugification-and-branch-name-shortening-feature",
            ),
        );
        check(&[], Ok(""));
    }

    #[test]
    fn slugs_of_something_else_are_refused_as_in_go() {
        check(&[Value::int(5)], Err("interface conversion: interface {} is int, not string"));
        check(
            &[Value::from("5"), Value::from("a")],
            Err("interface conversion: interface {} is string, not int"),
        );
        check(
            &[Value::int(-1), Value::Bool(false), Value::from("a")],
            Err("runtime error: slice bounds out of range [:-1]"),
        );
    }
}
