//! A directory of plain YAML, JSON and Jsonnet files.
//!
//! First the files are chosen ([`manifest_files`]), then each is read.

use api::ApplicationSourceDirectory;
use bytes::Bytes;
use gocompat::glob::Glob;
use object::Object;

use crate::environment::Environment;
use crate::jsonnet::Jsonnet;
use crate::manifest::{self, Found};
use crate::tree::{self, EntryKind, Tree, TreePath};
use crate::{Outside, RenderContext, RenderError};

/// A file that holds this behind a plus, anywhere, is not rendered.
const SKIP_MARKER: &[u8] = b"argocd:skip-file-rendering";
/// Directories inside each other; git itself has no limit.
const MAX_DEPTH: usize = 512;

/// The objects of every manifest file of the directory, in the order of the
/// files' names.
pub(crate) fn render(
    tree: &dyn Tree,
    path: &TreePath,
    options: &ApplicationSourceDirectory,
    context: &RenderContext,
    environment: &Environment<'_>,
    outside: &dyn Outside,
) -> Result<Vec<Found<Object>>, RenderError> {
    let jsonnet = Jsonnet::new(tree, outside, path, &options.jsonnet, context, environment)?;
    let mut found = Vec::new();
    for (file, content) in manifest_files(tree, path, options, context)? {
        if file.name().ends_with(".jsonnet") {
            found.extend(jsonnet.objects(&file, &content)?);
        } else if file.name().ends_with(".json") {
            found.push(manifest::from_json(&file, &content)?);
        } else {
            found.extend(manifest::from_yaml(&file, &content)?);
        }
    }
    Ok(found)
}

/// The files to render, with their contents.
fn manifest_files(
    tree: &dyn Tree,
    path: &TreePath,
    options: &ApplicationSourceDirectory,
    context: &RenderContext,
) -> Result<Vec<(TreePath, Bytes)>, RenderError> {
    let choice = Choice::of(options)?;
    let mut candidates = Vec::new();
    walk(tree, path, options.recurse, MAX_DEPTH, &mut candidates)?;
    let mut budget = Budget { spent: 0, limit: context.limits.max_combined_manifests };
    let mut files = Vec::new();
    for file in candidates {
        let relative = file.below(path).expect("the walk starts at the path");
        if !choice.takes(&relative) {
            continue;
        }
        let Some(content) = read_manifest(tree, &file, context)? else { continue };
        if file.name().ends_with(".jsonnet") {
            // Programs, whose size says nothing about that of their manifests.
            if context.enabled.jsonnet {
                files.push((file, content));
            }
            continue;
        }
        budget.spend(content.len() as u64).map_err(|limit| RenderError::TooMuch {
            path: path.clone(),
            file: file.clone(),
            limit,
        })?;
        files.push((file, content));
    }
    Ok(files)
}

/// Every file and link below `path`, in the order of names. Links to
/// directories are not walked into; links out of the repository are refused
/// even where nothing would be read through them.
fn walk(
    tree: &dyn Tree,
    path: &TreePath,
    recurse: bool,
    depth: usize,
    files: &mut Vec<TreePath>,
) -> Result<(), RenderError> {
    for (name, kind) in tree.list(path)?.unwrap_or_default() {
        let child = path.child(&name);
        match kind {
            EntryKind::File => files.push(child),
            EntryKind::Symlink => {
                tree::link_target(tree, &child)?;
                files.push(child);
            }
            EntryKind::Directory if recurse => {
                let depth =
                    depth.checked_sub(1).ok_or(RenderError::TooDeep { path: child.clone() })?;
                walk(tree, &child, recurse, depth, files)?;
            }
            EntryKind::Unnameable if has_manifest_ending(&name) => {
                return Err(RenderError::BadFileName { directory: path.clone(), name });
            }
            EntryKind::Directory | EntryKind::Submodule | EntryKind::Unnameable => {}
        }
    }
    Ok(())
}

/// Which files a source takes.
struct Choice {
    include: Option<Glob>,
    exclude: Option<Glob>,
    any_ending: bool,
}

impl Choice {
    fn of(options: &ApplicationSourceDirectory) -> Result<Self, RenderError> {
        Ok(Self {
            include: compile("directory.include", &options.include)?,
            exclude: compile("directory.exclude", &options.exclude)?,
            any_ending: options.disable_extension_filter,
        })
    }

    fn takes(&self, relative: &TreePath) -> bool {
        let matches = |glob: &Glob| glob.is_match(relative.as_str());
        (self.any_ending || has_manifest_ending(relative.name()))
            && !self.exclude.as_ref().is_some_and(matches)
            && self.include.as_ref().is_none_or(matches)
    }
}

/// A pattern that cannot be read is an error. Argo CD lets it match nothing,
/// so that a mistyped include prunes the whole application.
fn compile(option: &'static str, pattern: &str) -> Result<Option<Glob>, RenderError> {
    if pattern.is_empty() {
        return Ok(None);
    }
    // No separators: a star also takes slashes, as in Argo CD.
    Glob::new(pattern, &[]).map(Some).map_err(|error| RenderError::BadPattern {
        option,
        pattern: pattern.to_owned(),
        problem: error.to_string(),
    })
}

fn has_manifest_ending(name: &str) -> bool {
    [".yaml", ".yml", ".json", ".jsonnet"].iter().any(|ending| name.ends_with(ending))
}

/// The file's content, unless it is no regular file, dangles or says "skip me".
fn read_manifest(
    tree: &dyn Tree,
    file: &TreePath,
    context: &RenderContext,
) -> Result<Option<Bytes>, RenderError> {
    let Some((target, entry)) = tree::resolve(tree, file)? else { return Ok(None) };
    if entry.kind != EntryKind::File {
        return Ok(None);
    }
    let content = tree.read(&target, context.limits.max_file)?.unwrap_or_default();
    let mut after_plus = content.split(|byte| *byte == b'+').skip(1);
    let skipped = after_plus.any(|rest| rest.starts_with(SKIP_MARKER));
    Ok((!skipped).then_some(content))
}

/// How much has been read of what may be read; a limit of 0 is none.
struct Budget {
    spent: u64,
    limit: u64,
}

impl Budget {
    fn spend(&mut self, bytes: u64) -> Result<(), u64> {
        self.spent += bytes;
        if self.limit != 0 && self.spent > self.limit { Err(self.limit) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use api::ApplicationSource;

    use super::*;
    use crate::Limits;
    use crate::tree::MemoryTree;

    fn config_map(name: &str) -> String {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n")
    }

    fn options(recurse: bool, include: &str, exclude: &str) -> ApplicationSourceDirectory {
        let (include, exclude) = (include.to_owned(), exclude.to_owned());
        ApplicationSourceDirectory { recurse, include, exclude, ..Default::default() }
    }

    /// Renders `app` and prints the names of what came out, or the error.
    #[track_caller]
    fn check(tree: &MemoryTree, options: ApplicationSourceDirectory, expect: &str) {
        check_within(tree, options, Limits::default(), expect);
    }

    #[track_caller]
    fn check_within(
        tree: &MemoryTree,
        options: ApplicationSourceDirectory,
        limits: Limits,
        expect: &str,
    ) {
        let source = ApplicationSource {
            path: "app".to_owned(),
            directory: Some(Box::new(options)),
            ..Default::default()
        };
        let context = RenderContext { limits, ..RenderContext::new("", "") };
        let answer = match crate::render_alone(tree, &source, &context).0 {
            Ok(manifests) => manifests
                .objects
                .iter()
                .map(|it| it.key().to_string())
                .collect::<Vec<_>>()
                .join(", "),
            Err(error) => error.to_string(),
        };
        assert_eq!(answer, expect);
    }

    #[track_caller]
    fn check_file(name: &str, content: &str, expect: &str) {
        let tree = MemoryTree::new().file(&format!("app/{name}"), content);
        check(&tree, options(false, "", ""), expect);
    }

    fn two_levels() -> MemoryTree {
        MemoryTree::new()
            .file("app/b.yaml", config_map("b"))
            .file("app/a.yml", config_map("a"))
            .file("app/notes.txt", "not a manifest")
            .file("app/sub/c.yaml", config_map("c"))
            .file(
                "app/sub/deep/d.json",
                r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"d"}}"#,
            )
            .file("other/e.yaml", config_map("e"))
    }

    #[test]
    fn manifest_files_are_rendered_in_the_order_of_names() {
        check(&two_levels(), options(false, "", ""), "ConfigMap a, ConfigMap b");
        check(
            &two_levels(),
            options(true, "", ""),
            "ConfigMap a, ConfigMap b, ConfigMap c, Secret d",
        );
    }

    #[test]
    fn include_and_exclude_choose_by_path_below_the_source() {
        check(&two_levels(), options(true, "sub/*", ""), "ConfigMap c, Secret d");
        check(&two_levels(), options(true, "", "sub/*"), "ConfigMap a, ConfigMap b");
        check(&two_levels(), options(true, "{a.yml,sub/c.yaml}", "*.yml"), "ConfigMap c");
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_an_error() {
        let answer = |include: &str| match Choice::of(&options(false, include, "")) {
            Ok(_) => "fine".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(answer("{a,b}*.yaml"), "fine");
        let error = answer("[z-a].yaml");
        assert!(error.starts_with("directory.include \"[z-a].yaml\" is no pattern: "), "{error}");
    }

    #[test]
    fn every_file_is_a_candidate_when_the_ending_does_not_matter() {
        let tree = MemoryTree::new().file("app/sealed.yaml.sealed", config_map("a"));
        check(&tree, options(false, "", ""), "");
        let any =
            ApplicationSourceDirectory { disable_extension_filter: true, ..options(false, "", "") };
        check(&tree, any, "ConfigMap a");
    }

    #[test]
    fn documents_and_lists_are_taken_apart() {
        let two = format!("---\n# nothing\n---\n{}---\n{}", config_map("a"), config_map("b"));
        check_file("two.yaml", &two, "ConfigMap a, ConfigMap b");
        let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n";
        check_file("list.yaml", list, "Pod a");
        check_file("empty.yaml", "apiVersion: v1\nkind: ConfigMapList\nitems: null\n", "");
    }

    #[test]
    fn yaml_that_is_no_manifest_is_left_alone() {
        check_file("values.yaml", "image: nginx\nreplicas: 3\n", "");
        check_file("broken-values.yaml", "image: [\n", "");
        check_file("list.yaml", "- a\n- b\n", "");
    }

    #[test]
    fn a_broken_manifest_is_an_error_with_its_place() {
        check_file(
            "deploy.yaml",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a\n",
            "app/deploy.yaml, line 4, column 1: did not find expected ',' or '}' while parsing a flow mapping",
        );
        check_file(
            "two.yaml",
            &format!("{}---\nimage: nginx\n", config_map("a")),
            "app/two.yaml, line 6, column 1: the field \"apiVersion\" is missing or not a string",
        );
        check_file("a.json", "{\n  \"kind\": }", "app/a.json, line 2, column 11: expected value");
        check_file(
            "package.json",
            "{}",
            "app/package.json: the field \"apiVersion\" is missing or not a string",
        );
        check_file(
            "two.json",
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"} {}",
            "app/two.json: found multiple objects; only single objects are allowed in JSON files",
        );
    }

    #[test]
    fn a_file_that_says_so_is_skipped() {
        let skipped = format!("# +argocd:skip-file-rendering\n{}", config_map("a"));
        check_file("a.yaml", &skipped, "");
    }

    #[test]
    fn links_inside_are_followed_and_links_outside_refused() {
        let tree = two_levels()
            .link("app/link.yaml", "../other/e.yaml")
            .link("app/directory", "../other")
            .link("app/gone.yaml", "nowhere.yaml");
        check(&tree, options(false, "", ""), "ConfigMap a, ConfigMap b, ConfigMap e");
        let outside = tree.link("app/zz", "../../etc/passwd");
        check(
            &outside,
            options(false, "", ""),
            "repository contains out-of-bounds symlinks. file: app/zz (it points to \"../../etc/passwd\"; replace it by a link inside the repository or by the file itself)",
        );
    }

    #[test]
    fn too_many_manifests_are_refused_at_the_file_that_is_one_too_many() {
        let size = config_map("a").len() as u64;
        let limits = Limits { max_combined_manifests: 2 * size - 1, ..Limits::default() };
        check_within(
            &two_levels(),
            options(false, "", ""),
            limits,
            &format!(
                "exceeded max combined manifest file size: app/b.yaml brings the manifests of app over {} bytes; split the application or raise reposerver.max.combined.directory.manifests.size",
                2 * size - 1
            ),
        );
        let none = Limits { max_combined_manifests: 0, ..Limits::default() };
        check_within(&two_levels(), options(false, "", ""), none, "ConfigMap a, ConfigMap b");
    }

    #[test]
    fn utf16_and_byte_order_marks_are_understood() {
        let text = config_map("a");
        let utf16 = |bytes: fn(u16) -> [u8; 2]| {
            "\u{feff}"
                .encode_utf16()
                .chain(text.encode_utf16())
                .flat_map(bytes)
                .collect::<Vec<u8>>()
        };
        for content in [
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
            format!("\u{feff}{text}").into_bytes(),
        ] {
            let tree = MemoryTree::new().file("app/a.yaml", content);
            check(&tree, options(false, "", ""), "ConfigMap a");
        }
        let latin1 = MemoryTree::new().file("app/a.yaml", b"kind: caf\xe9".to_vec());
        check(
            &latin1,
            options(false, "", ""),
            "app/a.yaml, line 1, column 10: the text is not UTF-8",
        );
    }
}
