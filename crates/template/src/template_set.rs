//! The templates that may call each other.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::ast::Tree;
use crate::call::Functions;
use crate::error::Error;
use crate::lex::Delimiters;
use crate::parse::parse;
use crate::value::Text;

/// Templates by name. A set may lie above another one and then sees that one's templates too.
#[derive(Default)]
pub struct Templates {
    trees: BTreeMap<Arc<str>, Arc<Tree>>,
    below: Option<Rc<Self>>,
}

/// Templates that were parsed from one text, to be put into any number of sets. Parsing is the
/// larger part of a small render; keep these.
#[derive(Clone, Debug)]
pub struct ParsedText {
    trees: Arc<[Arc<Tree>]>,
}

impl ParsedText {
    /// Parses `text` as the template `name`, with everything it defines.
    pub fn parse(name: &str, text: &[u8], functions: &Functions) -> Result<Self, Error> {
        Self::parse_shared(name, &Text::from(text), functions)
    }

    /// The same, of a text that need not be copied: what was parsed refers to it.
    pub fn parse_shared(name: &str, text: &Text, functions: &Functions) -> Result<Self, Error> {
        Self::parse_with(name, text, functions, Delimiters::default())
    }

    /// The same with other delimiters than `{{` and `}}`; an empty one stands for its default.
    pub fn parse_delimited(
        name: &str,
        text: &[u8],
        functions: &Functions,
        left: &str,
        right: &str,
    ) -> Result<Self, Error> {
        let mut delimiters = Delimiters::default();
        if !left.is_empty() {
            delimiters.left = left.as_bytes();
        }
        if !right.is_empty() {
            delimiters.right = right.as_bytes();
        }
        Self::parse_with(name, &Text::from(text), functions, delimiters)
    }

    fn parse_with(
        name: &str,
        text: &Text,
        functions: &Functions,
        delimiters: Delimiters<'_>,
    ) -> Result<Self, Error> {
        let trees = parse(name, text, delimiters, &|name| functions.slot_of(name))?;
        Ok(Self { trees: trees.into_values().map(Arc::new).collect() })
    }

    /// The text's own body under the name it was parsed by, be it empty or not.
    pub(crate) fn body(&self, name: &str) -> &Tree {
        let body = self.trees.iter().find(|tree| tree.name.as_ref() == name);
        body.expect("a text always has a body under its own name")
    }
}

impl Templates {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty set that sees the templates of another.
    pub(crate) fn above(below: &Rc<Self>) -> Self {
        Self { trees: BTreeMap::new(), below: Some(Rc::clone(below)) }
    }

    /// Parses `text` as the template `name` and adds it with everything it defines.
    pub fn parse(&mut self, name: &str, text: &[u8], functions: &Functions) -> Result<(), Error> {
        self.add(&ParsedText::parse(name, text, functions)?);
        Ok(())
    }

    /// Adds what was parsed before. A later definition replaces an earlier one of the same name,
    /// unless it is empty.
    pub fn add(&mut self, parsed: &ParsedText) {
        for tree in parsed.trees.iter() {
            if tree.is_empty() && self.get(&tree.name).is_some() {
                continue;
            }
            self.trees.insert(Arc::clone(&tree.name), Arc::clone(tree));
        }
    }

    /// The template of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Tree>> {
        self.trees.get(name).or_else(|| self.below.as_ref()?.get(name))
    }

    /// Whether there is a template of that name.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }
}
