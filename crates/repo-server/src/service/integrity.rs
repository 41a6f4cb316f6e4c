//! What came of the checks of where commits come from, as Argo CD tells it.
//!
//! A problem of ours begins with the name of its check (`GIT/GPG: …`). On the
//! wire the name stands beside its problems, and whoever shows them puts it back.

use std::collections::BTreeMap;

use api::{SourceIntegrityCheckResult, SourceIntegrityCheckResultItem};

/// The check that every rule asks for.
const GPG: &str = "GIT/GPG";
/// For problems that are no check's: rules that contradict each other.
const NO_CHECK: &str = "GIT";

/// Problems by their checks.
pub(super) fn result(problems: &[String]) -> SourceIntegrityCheckResult {
    let mut checks: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for problem in problems {
        let named = problem.split_once(": ").filter(|(name, _)| *name == GPG);
        let (name, text) = named.unwrap_or((NO_CHECK, problem));
        checks.entry(name).or_default().push(text.to_owned());
    }
    if checks.is_empty() {
        checks.insert(GPG, Vec::new());
    }
    let checks = checks.into_iter().map(|(name, problems)| {
        let name = name.to_owned();
        SourceIntegrityCheckResultItem { name, problems }
    });
    SourceIntegrityCheckResult { checks: checks.collect() }
}

/// Problems as they are shown.
#[must_use]
pub fn problems(result: &SourceIntegrityCheckResult) -> Vec<String> {
    let shown = |it: &SourceIntegrityCheckResultItem| -> Vec<String> {
        let SourceIntegrityCheckResultItem { name, problems } = it;
        match name.as_str() {
            NO_CHECK => problems.clone(),
            name => problems.iter().map(|problem| format!("{name}: {problem}")).collect(),
        }
    };
    result.checks.iter().flat_map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ours: &[&str], expect: &[(&str, &[&str])]) {
        let ours: Vec<String> = ours.iter().map(|it| (*it).to_owned()).collect();
        let told = result(&ours);
        let found: Vec<(&str, Vec<&str>)> = told
            .checks
            .iter()
            .map(|it| (it.name.as_str(), it.problems.iter().map(String::as_str).collect()))
            .collect();
        let expect: Vec<_> = expect.iter().map(|(name, it)| (*name, it.to_vec())).collect();
        assert_eq!(found, expect);
        assert_eq!(problems(&told), ours, "the other side shows what we would");
    }

    #[test]
    fn a_problem_goes_with_the_name_of_its_check() {
        check(&[], &[("GIT/GPG", &[])]);
        check(&["GIT/GPG: unsigned", "GIT/GPG: bad"], &[("GIT/GPG", &["unsigned", "bad"])]);
        let several = "multiple (2) git source integrity policies found for repo URL: x";
        check(&[several], &[("GIT", &[several])]);
    }
}
