//! The value files of a chart: found by path, by pattern, in another source's
//! repository or on another server.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::environment::Environment;
use crate::tree::{self, EntryKind, PathError, Recorder, Tree, TreePath};
use crate::value_patterns::matching;
use crate::world::Outside;
use crate::{RenderContext, RenderError};

/// Value files of a chart, together.
const MAX_BYTES: usize = 64 << 20;

/// Where the files that a chart's parameters name are looked for.
pub(crate) struct Shelves<'s> {
    pub(crate) tree: &'s dyn Tree,
    /// The chart.
    pub(crate) path: &'s TreePath,
    pub(crate) refs: &'s BTreeMap<String, Recorder<'s>>,
    pub(crate) outside: &'s dyn Outside,
    pub(crate) environment: &'s Environment<'s>,
    pub(crate) context: &'s RenderContext,
}

/// A value file: its name for messages, and its content.
pub(crate) type ValueFile = (String, Vec<u8>);

/// Where a name leads.
enum Located<'s> {
    Remote(String),
    Path { shelf: Shelf<'s>, path: TreePath },
    Pattern { shelf: Shelf<'s>, directory: TreePath, pattern: String },
}

/// One repository: our own, or that of the source with this `ref`.
#[derive(Clone, Copy)]
struct Shelf<'s> {
    name: &'s str,
    tree: &'s dyn Tree,
}

impl<'s> Shelves<'s> {
    /// The contents of the files, in the order in which they override each
    /// other. A file that is named and also matched by a pattern counts where
    /// it is named.
    pub(crate) fn value_files(
        &self,
        names: &[String],
        ignore_missing: bool,
    ) -> Result<Vec<ValueFile>, RenderError> {
        let located = names.iter().map(|name| self.locate(name)).collect::<Result<Vec<_>, _>>()?;
        let mut taken: BTreeSet<(&str, TreePath)> = BTreeSet::new();
        for it in &located {
            if let Located::Path { shelf, path } = it {
                taken.insert((shelf.name, path.clone()));
            }
        }
        let mut read: BTreeSet<(&str, TreePath)> = BTreeSet::new();
        let mut files = Vec::new();
        for (name, located) in names.iter().zip(&located) {
            match located {
                Located::Remote(url) => files.push((url.clone(), self.fetch(url)?.to_vec())),
                Located::Path { shelf, path } => {
                    if !read.insert((shelf.name, path.clone())) {
                        continue;
                    }
                    match self.read(*shelf, path)? {
                        Some(content) => files.push((path.to_string(), content.to_vec())),
                        None if ignore_missing => {}
                        None => return Err(missing(path)),
                    }
                }
                Located::Pattern { shelf, directory, pattern } => {
                    let matches = matching(shelf.tree, directory, pattern)?;
                    if matches.is_empty() && !ignore_missing {
                        return Err(RenderError::ValueFiles {
                            problem: format!("values file glob {name:?} matched no files"),
                        });
                    }
                    for path in matches {
                        let key = (shelf.name, path.clone());
                        if taken.contains(&key) || !read.insert(key) {
                            continue;
                        }
                        if let Some(content) = self.read(*shelf, &path)? {
                            files.push((path.to_string(), content.to_vec()));
                        }
                    }
                }
            }
            if files.iter().map(|(_, content)| content.len()).sum::<usize>() > MAX_BYTES {
                let problem = format!("the value files have more than {MAX_BYTES} bytes together");
                return Err(RenderError::ValueFiles { problem });
            }
        }
        Ok(files)
    }

    /// The content of the one file a parameter names.
    pub(crate) fn file(&self, name: &str) -> Result<Bytes, RenderError> {
        match self.locate(name)? {
            Located::Remote(url) => self.fetch(&url),
            Located::Path { shelf, path } => self.read(shelf, &path)?.ok_or_else(|| missing(&path)),
            Located::Pattern { .. } => Err(RenderError::ValueFiles {
                problem: format!("{name:?} is a pattern; name one file"),
            }),
        }
    }

    /// A name that begins with `$` may be that of another source; only what
    /// follows it is then subject to substitution.
    fn locate(&self, name: &str) -> Result<Located<'s>, RenderError> {
        let referred =
            name.strip_prefix('$').map(|rest| rest.split_once('/').unwrap_or((rest, "")));
        if let Some((source, rest)) = referred
            && let Some((source, tree)) = self.refs.get_key_value(source)
        {
            let shelf = Shelf { name: source.as_str(), tree };
            return self.place(shelf, &format!("/{}", self.environment.substitute(rest)));
        }
        let text = self.environment.substitute(name);
        if let Some(scheme) = scheme(&text) {
            let allowed = &self.context.values_file_schemes;
            if allowed.iter().any(|it| it.eq_ignore_ascii_case(scheme)) {
                return Ok(Located::Remote(text));
            }
            let problem = format!("the URL scheme '{scheme}' is not allowed");
            return Err(RenderError::ValueFiles { problem });
        }
        self.place(Shelf { name: "", tree: self.tree }, &text)
    }

    /// A path from the chart, or from the top of the repository when it begins
    /// with a slash.
    fn place(&self, shelf: Shelf<'s>, text: &str) -> Result<Located<'s>, RenderError> {
        let outside = |_: PathError| RenderError::ValueFiles {
            problem: format!("file '{text}' resolved to outside repository root"),
        };
        let (base, relative) = match text.strip_prefix('/') {
            Some(rest) => (TreePath::root(), rest.trim_start_matches('/')),
            None => (self.path.clone(), text),
        };
        if !relative.contains(['*', '?', '[']) {
            let path = base.resolve_relative(relative).map_err(outside)?;
            return Ok(Located::Path { shelf, path });
        }
        let parts: Vec<&str> = relative.split('/').collect();
        let literal = parts.iter().take_while(|part| !part.contains(['*', '?', '[', '{'])).count();
        let directory = base.resolve_relative(&parts[..literal].join("/")).map_err(outside)?;
        let pattern = parts[literal..].join("/");
        Ok(Located::Pattern { shelf, directory, pattern })
    }

    fn read(&self, shelf: Shelf<'s>, path: &TreePath) -> Result<Option<Bytes>, RenderError> {
        match tree::resolve(shelf.tree, path)? {
            Some((target, entry)) if entry.kind == EntryKind::File => {
                Ok(shelf.tree.read(&target, self.context.limits.max_file)?)
            }
            _ => Ok(None),
        }
    }

    fn fetch(&self, url: &str) -> Result<Bytes, RenderError> {
        self.outside.file(url).map_err(|error| RenderError::ValueFiles {
            problem: format!("could not fetch {url}: {error}"),
        })
    }
}

/// Helm's words, which users search for.
fn missing(path: &TreePath) -> RenderError {
    RenderError::ValueFiles { problem: format!("Error: open {path}: no such file or directory") }
}

/// `https` of `https://example.com/values.yaml`.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let fits = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(fits))
        .then_some(scheme)
}
