//! Reading on behalf of one kustomization: what it may see, and how names in
//! it are resolved.

use std::cell::Cell;
use std::rc::Rc;

use bytes::Bytes;

use crate::error::{BuildError, Result, invalid};
use crate::files::{Files, Limit, Limits, join};
use crate::helm::HelmOptions;
use crate::remote::{Remote, RemoteBase, RemoteError, is_remote_file};

/// May a kustomization read files outside of its own directory?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadRestrictions {
    /// Files must be in or below the directory of the kustomization.
    #[default]
    RootOnly,
    /// Any file of the tree will do.
    None,
}

/// What all loaders of a build share.
pub(crate) struct World<'w> {
    pub(crate) remote: &'w dyn Remote,
    helm: Option<HelmOptions<'w>>,
    pub(crate) limits: Limits,
    files_read: Cell<usize>,
    bytes_read: Cell<usize>,
    trees: Cell<usize>,
}

impl<'w> World<'w> {
    pub(crate) fn new(
        remote: &'w dyn Remote,
        helm: Option<HelmOptions<'w>>,
        limits: Limits,
    ) -> Self {
        Self {
            remote,
            helm,
            limits,
            files_read: Cell::new(0),
            bytes_read: Cell::new(0),
            trees: Cell::new(0),
        }
    }

    fn count(&self, bytes: &Bytes) -> Result<()> {
        self.files_read.set(self.files_read.get() + 1);
        self.bytes_read.set(self.bytes_read.get().saturating_add(bytes.len()));
        if self.files_read.get() > self.limits.files {
            return Err(BuildError::TooLarge(Limit::Files(self.limits.files)));
        }
        if self.bytes_read.get() > self.limits.bytes {
            return Err(BuildError::TooLarge(Limit::Bytes(self.limits.bytes)));
        }
        Ok(())
    }
}

/// The eyes of one kustomization.
pub(crate) struct Loader<'w> {
    world: &'w World<'w>,
    tree: Tree<'w>,
    /// Tells trees apart: the same path in two trees is two places.
    tree_number: usize,
    root: String,
    restrictions: LoadRestrictions,
    repository: Option<RemoteBase>,
    referrer: Option<Rc<Self>>,
    depth: usize,
}

#[derive(Clone)]
enum Tree<'w> {
    Given(&'w dyn Files),
    Fetched(Rc<dyn Files>),
}

impl Tree<'_> {
    fn files(&self) -> &dyn Files {
        match self {
            Self::Given(files) => *files,
            Self::Fetched(files) => files.as_ref(),
        }
    }
}

impl<'w> Loader<'w> {
    /// A loader for the directory that is built.
    pub(crate) fn at(
        world: &'w World<'w>,
        files: &'w dyn Files,
        root: &str,
        restrictions: LoadRestrictions,
    ) -> Result<Rc<Self>> {
        let tree = Tree::Given(files);
        let root = confirmed_directory(&tree, "", root)?;
        Ok(Rc::new(Self {
            world,
            tree,
            tree_number: 0,
            root,
            restrictions,
            repository: None,
            referrer: None,
            depth: 0,
        }))
    }

    /// The directory, as messages show it.
    pub(crate) fn root(&self) -> String {
        shown(&self.root)
    }

    /// The last name of the directory.
    pub(crate) fn root_name(&self) -> &str {
        self.root.rsplit('/').next().unwrap_or_default()
    }

    /// Who inflates charts.
    pub(crate) fn helm(&self) -> Option<HelmOptions<'w>> {
        self.world.helm
    }

    /// The tree that the directory is in.
    pub(crate) fn files(&self) -> &dyn Files {
        self.tree.files()
    }

    /// A path of this kustomization, seen from the root of the tree; `None` if
    /// it leads out of it.
    pub(crate) fn resolve(&self, path: &str) -> Option<String> {
        join(&self.root, path)
    }

    /// Is there a file or directory of this name?
    pub(crate) fn exists(&self, path: &str) -> bool {
        join(&self.root, path).is_some_and(|path| {
            self.tree.files().is_dir(&path) || self.tree.files().read(&path).is_some()
        })
    }

    /// A loader for a base or component that this kustomization names.
    pub(crate) fn descend(self: &Rc<Self>, path: &str) -> Result<Rc<Self>> {
        if path.is_empty() {
            return Err(invalid("new root cannot be empty"));
        }
        if self.depth >= self.world.limits.depth {
            return Err(BuildError::TooLarge(Limit::Depth(self.world.limits.depth)));
        }
        if let Some(base) = RemoteBase::parse(path) {
            return self.descend_to_repository(base);
        }
        if path.starts_with('/') {
            return Err(invalid(format!("new root '{path}' cannot be absolute")));
        }
        let root = confirmed_directory(&self.tree, &self.root, path)
            .map_err(|error| invalid(format!("must build at directory: {}", error.chain())))?;
        self.refuse_cycle(&root)?;
        Ok(Rc::new(Self {
            world: self.world,
            tree: self.tree.clone(),
            tree_number: self.tree_number,
            root,
            restrictions: self.restrictions,
            repository: None,
            referrer: Some(Rc::clone(self)),
            depth: self.depth + 1,
        }))
    }

    fn descend_to_repository(self: &Rc<Self>, base: RemoteBase) -> Result<Rc<Self>> {
        self.refuse_repository_cycle(&base)?;
        let fetched =
            self.world.remote.repository(&base).map_err(|error| remote(&base.url, error))?;
        let tree = Tree::Fetched(fetched);
        let root = directory_of_base(&tree, &base.path)?;
        self.world.trees.set(self.world.trees.get() + 1);
        Ok(Rc::new(Self {
            world: self.world,
            tree,
            tree_number: self.world.trees.get(),
            root,
            restrictions: LoadRestrictions::RootOnly,
            repository: Some(base),
            referrer: Some(Rc::clone(self)),
            depth: self.depth + 1,
        }))
    }

    fn refuse_cycle(&self, candidate: &str) -> Result<()> {
        let mut loader = Some(self);
        while let Some(visited) = loader {
            if visited.tree_number == self.tree_number && is_at_or_below(&visited.root, candidate) {
                return Err(invalid(format!(
                    "cycle detected: candidate root '{}' contains visited root '{}'",
                    shown(candidate),
                    visited.root(),
                )));
            }
            loader = visited.referrer.as_deref();
        }
        Ok(())
    }

    fn refuse_repository_cycle(&self, base: &RemoteBase) -> Result<()> {
        let mut loader = Some(self);
        while let Some(visited) = loader {
            if let Some(repository) = &visited.repository
                && repository.url.starts_with(&base.url)
            {
                return Err(invalid(format!(
                    "cycle detected: URI '{}' referenced by previous URI '{}'",
                    base.url, repository.url,
                )));
            }
            loader = visited.referrer.as_deref();
        }
        Ok(())
    }

    /// Reads a file that this kustomization names.
    pub(crate) fn load(&self, path: &str) -> Result<Bytes> {
        if is_remote_file(path) {
            return self.load_remote(path);
        }
        let Some(full) = join(&self.root, path) else {
            return Err(invalid(format!("'{path}' doesn't exist")));
        };
        let files = self.tree.files();
        let missing = || invalid(format!("'{}' doesn't exist", shown(&full)));
        let real = files.real_path(&full).ok_or_else(missing)?;
        if files.is_dir(&real) {
            return Err(invalid(format!("'{}' must resolve to a file", shown(&full))));
        }
        let bytes = files.read(&real).ok_or_else(missing)?;
        let directory = real.rsplit_once('/').map_or("", |(directory, _)| directory);
        if self.restrictions == LoadRestrictions::RootOnly && !is_at_or_below(directory, &self.root)
        {
            return Err(invalid(format!(
                "security; file '{}' is not in or below '{}'",
                shown(&full),
                self.root(),
            )));
        }
        self.world.count(&bytes)?;
        Ok(bytes)
    }

    fn load_remote(&self, url: &str) -> Result<Bytes> {
        match self.world.remote.file(url) {
            Ok(bytes) => {
                self.world.count(&bytes)?;
                Ok(bytes)
            }
            Err(RemoteError::Status(_)) if RemoteBase::parse(url).is_some() => {
                Err(invalid("URL is a git repository"))
            }
            Err(error) => Err(remote(url, error)),
        }
    }
}

fn remote(url: &str, error: RemoteError) -> BuildError {
    BuildError::Remote { url: url.to_owned(), source: Box::new(error) }
}

fn shown(path: &str) -> String {
    format!("/{path}")
}

fn is_at_or_below(path: &str, ancestor: &str) -> bool {
    ancestor.is_empty()
        || path == ancestor
        || path.strip_prefix(ancestor).is_some_and(|rest| rest.starts_with('/'))
}

/// The directory of a repository that is a base. Kustomize has other words here
/// than for directories beside the kustomization.
fn directory_of_base(tree: &Tree<'_>, path: &str) -> Result<String> {
    let files = tree.files();
    let Some(real) = files.real_path(path) else {
        return Err(invalid(format!("'{}' doesn't exist", shown(path))));
    };
    if files.is_dir(&real) {
        return Ok(real);
    }
    if files.read(&real).is_some() {
        let name = real.rsplit('/').next().unwrap_or_default();
        let path = shown(path);
        return Err(invalid(format!("'{path}' refers to file '{name}'; expecting directory")));
    }
    Err(invalid(format!("'{}' doesn't exist", shown(path))))
}

fn confirmed_directory(tree: &Tree<'_>, base: &str, path: &str) -> Result<String> {
    let Some(full) = join(base, path) else {
        return Err(invalid(format!("not a valid directory: '{path}' doesn't exist")));
    };
    let files = tree.files();
    let real = files.real_path(&full);
    if let Some(real) = &real
        && files.is_dir(real)
    {
        return Ok(real.clone());
    }
    if real.is_some_and(|real| files.read(&real).is_some()) {
        return Err(invalid(format!("'{}': file is not directory", shown(&full))));
    }
    Err(invalid(format!("not a valid directory: '{}' doesn't exist", shown(&full))))
}
