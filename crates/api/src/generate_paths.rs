//! Where changes matter to a source: the annotation `manifest-generate-paths`.

use crate::ApplicationSource;

impl ApplicationSource {
    /// The paths that the annotation names, relative to the repository. An item is
    /// relative to the source unless it begins with a slash. None is everywhere.
    pub fn generate_paths(&self, annotation: &str) -> Vec<String> {
        let path = |item: &str| match item.strip_prefix('/') {
            Some(absolute) => absolute.to_owned(),
            None => clean_path(&format!("{}/{item}", self.path)),
        };
        let items = annotation.split(';').map(str::trim);
        items.filter(|it| !it.is_empty()).map(path).collect()
    }
}

/// Without `.` and `..`, as Go cleans a path.
#[must_use]
pub fn clean_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|it| !it.is_empty() && *it != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_the_source_unless_they_begin_with_a_slash() {
        let source = ApplicationSource { path: "apps/web".into(), ..ApplicationSource::default() };
        let check = |annotation: &str, expect: &[&str]| {
            assert_eq!(source.generate_paths(annotation), expect, "{annotation}");
        };
        check("", &[]);
        check(".", &["apps/web"]);
        check(". ; ;/shared", &["apps/web", "shared"]);
        check("../*.yaml", &["apps/*.yaml"]);
    }
}
