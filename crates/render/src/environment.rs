//! The build environment: `$ARGOCD_APP_NAME` and its siblings in parameters.

use std::cell::Cell;

use api::ApplicationSource;

use crate::RenderContext;

/// The variables that parameters may refer to, and whether any was that
/// depends on more than the source's own parameters.
pub(crate) struct Environment<'r> {
    app_name: &'r str,
    namespace: &'r str,
    project: &'r str,
    commit: &'r str,
    repo_url: &'r str,
    path: &'r str,
    target_revision: &'r str,
    revision_was_asked: Cell<bool>,
}

impl<'r> Environment<'r> {
    pub(crate) fn new(
        source: &'r ApplicationSource,
        context: &'r RenderContext,
        commit: &'r str,
    ) -> Self {
        Self {
            app_name: &context.app_name,
            namespace: &context.namespace,
            project: &context.project,
            commit,
            repo_url: &source.repo_url,
            path: &source.path,
            target_revision: &source.target_revision,
            revision_was_asked: Cell::new(false),
        }
    }

    /// Did a parameter refer to the commit, the revision or the address?
    pub(crate) fn revision_was_asked(&self) -> bool {
        self.revision_was_asked.get()
    }

    /// Every variable, for a program of its own: whatever it asks, it was told
    /// the revision.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        let all = NAMES.iter().map(|name| ((*name).to_owned(), self.value(name).to_owned()));
        all.collect()
    }

    /// The same as [`Self::substitute`], with further variables.
    pub(crate) fn substitute_also(&self, text: &str, more: &[(String, String)]) -> String {
        self.substitute_with(text, &|name| {
            let known = more.iter().find(|(it, _)| it == name);
            known.map_or_else(|| self.value(name), |(_, value)| value.as_str())
        })
    }

    /// The text with `$NAME` and `${NAME}` replaced, as Go's `os.Expand` does:
    /// unknown names are empty, `$$` is a dollar.
    pub(crate) fn substitute(&self, text: &str) -> String {
        self.substitute_with(text, &|name| self.value(name))
    }

    fn substitute_with<'v>(&self, text: &str, value: &dyn Fn(&str) -> &'v str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let after = &rest[at + 1..];
            out.push_str(&rest[..at]);
            match reference(after) {
                _ if after.is_empty() => out.push('$'),
                Reference::None => out.push('$'),
                Reference::Malformed { length } => {
                    rest = &after[length..];
                    continue;
                }
                Reference::Name { name, length } => {
                    out.push_str(value(name));
                    rest = &after[length..];
                    continue;
                }
            }
            rest = after;
        }
        out.push_str(rest);
        out
    }

    fn value(&self, name: &str) -> &str {
        let of_revision = |value| {
            self.revision_was_asked.set(true);
            value
        };
        match name {
            "$" => "$",
            "ARGOCD_APP_NAME" => self.app_name,
            "ARGOCD_APP_NAMESPACE" => self.namespace,
            "ARGOCD_APP_PROJECT_NAME" => self.project,
            "ARGOCD_APP_SOURCE_PATH" => self.path,
            "ARGOCD_APP_REVISION" => of_revision(self.commit),
            "ARGOCD_APP_REVISION_SHORT" => of_revision(self.commit.get(..7).unwrap_or(self.commit)),
            "ARGOCD_APP_REVISION_SHORT_8" => {
                of_revision(self.commit.get(..8).unwrap_or(self.commit))
            }
            "ARGOCD_APP_SOURCE_REPO_URL" => of_revision(self.repo_url),
            "ARGOCD_APP_SOURCE_TARGET_REVISION" => of_revision(self.target_revision),
            _ => "",
        }
    }
}

/// The names of all variables.
const NAMES: [&str; 9] = [
    "ARGOCD_APP_NAME",
    "ARGOCD_APP_NAMESPACE",
    "ARGOCD_APP_PROJECT_NAME",
    "ARGOCD_APP_REVISION",
    "ARGOCD_APP_REVISION_SHORT",
    "ARGOCD_APP_REVISION_SHORT_8",
    "ARGOCD_APP_SOURCE_PATH",
    "ARGOCD_APP_SOURCE_REPO_URL",
    "ARGOCD_APP_SOURCE_TARGET_REVISION",
];

/// What follows a dollar.
enum Reference<'t> {
    /// No name: the dollar stands for itself.
    None,
    /// Braces that hold no name: they vanish.
    Malformed { length: usize },
    /// A name that takes up so many bytes, braces included.
    Name { name: &'t str, length: usize },
}

fn reference(text: &str) -> Reference<'_> {
    if let Some(braced) = text.strip_prefix('{') {
        return match braced.find('}') {
            Some(0) => Reference::Malformed { length: 2 },
            Some(end) => Reference::Name { name: &braced[..end], length: end + 2 },
            None => Reference::Malformed { length: 1 },
        };
    }
    let is_special = |c: char| "*#$@!?-".contains(c) || c.is_ascii_digit();
    if text.starts_with(is_special) {
        return Reference::Name { name: &text[..1], length: 1 };
    }
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    match text.find(|c| !is_part(c)).unwrap_or(text.len()) {
        0 => Reference::None,
        length => Reference::Name { name: &text[..length], length },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_context;

    #[track_caller]
    fn check(text: &str, expect: &str, expect_revision_asked: bool) {
        let source = ApplicationSource {
            repo_url: "https://example.com/repo".to_owned(),
            path: "apps/web".to_owned(),
            target_revision: "main".to_owned(),
            ..Default::default()
        };
        let context = RenderContext { project: "shop".to_owned(), ..test_context() };
        let environment = Environment::new(&source, &context, "0123456789abcdef");
        assert_eq!(environment.substitute(text), expect);
        assert_eq!(environment.revision_was_asked(), expect_revision_asked);
    }

    #[test]
    fn names_are_replaced_with_and_without_braces() {
        check("$ARGOCD_APP_NAME-x", "guestbook-x", false);
        check("a${ARGOCD_APP_NAMESPACE}b", "awebb", false);
        check("$ARGOCD_APP_PROJECT_NAME/$ARGOCD_APP_SOURCE_PATH", "shop/apps/web", false);
        check("$HOME$nobody", "", false);
    }

    #[test]
    fn what_depends_on_the_revision_is_noticed() {
        check("$ARGOCD_APP_REVISION", "0123456789abcdef", true);
        check("${ARGOCD_APP_REVISION_SHORT}", "0123456", true);
        check("${ARGOCD_APP_REVISION_SHORT_8}", "01234567", true);
        check("$ARGOCD_APP_SOURCE_TARGET_REVISION", "main", true);
        check("$ARGOCD_APP_SOURCE_REPO_URL", "https://example.com/repo", true);
    }

    #[test]
    fn dollars_are_escaped_and_malformed_references_vanish_as_in_go() {
        check("$$ARGOCD_APP_NAME", "$ARGOCD_APP_NAME", false);
        check("10$", "10$", false);
        check("a$ b", "a$ b", false);
        check("a${}b${c", "abc", false);
        check("$1st", "st", false);
    }
}
