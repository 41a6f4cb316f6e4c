//! Copying values from one field to others.

mod matching;
mod structured;

use std::cell::Cell;

use crate::error::{BuildError, Context as _, Result, invalid};
use crate::files::Limit;
use crate::kustomization::parts::{FieldOptions, Replacement, Source, Target};
use crate::resource::Resource;
use crate::resource::id::{ResourceId, effective_namespace, selects};
use crate::resources::Resources;
use crate::selector::SelectorMatcher;
use crate::yaml::path::{lookup, split_with_brackets};
use crate::yaml::{Body, Kind, Node};

const DEFAULT_PATH: &str = "metadata.name";

/// Carries out replacements in order.
#[derive(Clone, Debug)]
pub(crate) struct ReplacementTransformer {
    pub(crate) replacements: Vec<Replacement>,
}

impl ReplacementTransformer {
    pub(crate) fn run(&self, resources: &mut Resources, copies: &Copies) -> Result<()> {
        for replacement in &self.replacements {
            let has_source = replacement.source.is_some() || replacement.source_value.is_some();
            let (true, Some(targets)) = (has_source, &replacement.targets) else {
                return Err(invalid("replacements must specify a source and at least one target"));
            };
            let value = source_value(replacement, resources)?;
            for target in targets {
                replace_in(target, &value, resources, copies)?;
            }
        }
        resources.drop_empty();
        Ok(())
    }
}

/// How much all replacements of a build may copy: one that copies a field
/// into itself doubles it, and forty of them would fill any memory.
#[derive(Debug)]
pub(crate) struct Copies {
    limit: usize,
    copied: Cell<usize>,
}

impl Copies {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, copied: Cell::new(0) }
    }

    fn count(&self, weight: usize) -> Result<()> {
        self.copied.set(self.copied.get().saturating_add(weight));
        if self.copied.get() > self.limit {
            return Err(BuildError::TooLarge(Limit::Copies(self.limit)));
        }
        Ok(())
    }
}

/// Does one of the identities that a resource has or had pass both tests? The
/// kind is asked about first: it differs most often. Scopes play no part.
fn any_id(
    resource: &Resource,
    fits_kind: impl Fn(&str, &str, &str) -> bool,
    fits_name: impl Fn(&str, &str) -> bool,
) -> bool {
    let (group, version) = resource.group_version();
    (fits_kind(group, version, resource.kind()) && fits_name(resource.name(), resource.namespace()))
        || resource
            .history
            .previous
            .iter()
            .any(|it| fits_kind(group, version, &it.kind) && fits_name(&it.name, &it.namespace))
}

fn is_source(resource: &Resource, source: &ResourceId) -> bool {
    any_id(
        resource,
        |group, version, kind| selects(&source.gvk, group, version, kind),
        |name, namespace| {
            (source.name.is_empty() || source.name == name)
                && (source.namespace.is_empty()
                    || source.effective_namespace() == effective_namespace(namespace, false))
        },
    )
}

fn is_matched(resource: &Resource, matcher: &SelectorMatcher) -> bool {
    any_id(
        resource,
        |group, version, kind| matcher.matches_kind(group, version, kind),
        |name, namespace| matcher.matches_name(name, namespace),
    )
}

fn source_value(replacement: &Replacement, resources: &Resources) -> Result<Node> {
    let source = match (&replacement.source, &replacement.source_value) {
        (Some(_), Some(_)) => {
            return Err(invalid("value and resource selectors are mutually exclusive"));
        }
        (_, Some(text)) => return Ok(Node::untyped(text.as_str())),
        (Some(source), None) => source,
        (None, None) => return Err(invalid("replacements must specify a source")),
    };
    let resource = source_resource(source, resources)?;
    let path = if source.field_path.is_empty() { DEFAULT_PATH } else { &source.field_path };
    let value = lookup(&resource.node, &split_with_brackets(path, '.'))
        .context(|| "error looking up replacement source".to_owned())?;
    match value {
        Some(value) if !value.is_empty() => {
            let mut value = refined(value, source.options.as_ref())?;
            value.leave_groups();
            Ok(value)
        }
        _ => Err(invalid(format!(
            "fieldPath `{path}` is missing for replacement source {}",
            source.id
        ))),
    }
}

fn source_resource<'r>(source: &Source, resources: &'r Resources) -> Result<&'r Resource> {
    let mut matches = resources.iter().filter(|resource| is_source(resource, &source.id));
    match (matches.next(), matches.next()) {
        (Some(resource), None) => Ok(resource),
        (Some(_), Some(_)) => Err(invalid(format!("multiple matches for selector {source}"))),
        (None, _) => Err(invalid(format!("nothing selected by {source}"))),
    }
}

/// The part of a value that the options ask for.
fn refined(value: &Node, options: Option<&FieldOptions>) -> Result<Node> {
    let Some(options) = options.filter(|options| !options.delimiter.is_empty()) else {
        return Ok(value.clone());
    };
    if value.kind() != Kind::Scalar {
        return Err(invalid("delimiter option can only be used with scalar nodes"));
    }
    let mut parts = value.value().split(options.delimiter.as_str());
    let index = usize::try_from(options.index).ok();
    let part = index.and_then(|index| parts.nth(index)).ok_or_else(|| {
        invalid(format!(
            "options.index {} is out of bounds for value {}",
            options.index,
            value.value()
        ))
    })?;
    Ok(Node { body: Body::Scalar(part.to_owned()), ..value.clone() })
}

fn replace_in(
    target: &Target,
    value: &Node,
    resources: &mut Resources,
    copies: &Copies,
) -> Result<()> {
    let select =
        target.select.as_ref().ok_or_else(|| invalid("target must specify resources to select"))?;
    let matcher =
        SelectorMatcher::new(select).context(|| "error creating target selector".to_owned())?;
    let rejects = target.reject.iter().map(SelectorMatcher::new).collect::<Result<Vec<_>>>()?;
    let default = [DEFAULT_PATH.to_owned()];
    let paths = if target.field_paths.is_empty() { &default[..] } else { &target.field_paths };
    let paths: Vec<FieldPath<'_>> = paths.iter().map(|path| FieldPath::new(path)).collect();
    let weight = value.weight();
    for resource in resources.as_mut() {
        if is_chosen(resource, &matcher, &rejects) {
            for path in &paths {
                copies.count(weight)?;
                if set_at(&mut resource.node, path, value, target.options.as_ref())? {
                    resource.settle_shares();
                }
            }
        }
    }
    Ok(())
}

/// The path of a field, as written and taken apart.
struct FieldPath<'p> {
    text: &'p str,
    parts: Vec<String>,
}

impl<'p> FieldPath<'p> {
    fn new(text: &'p str) -> Self {
        Self { text, parts: split_with_brackets(text, '.') }
    }
}

fn is_chosen(resource: &Resource, select: &SelectorMatcher, rejects: &[SelectorMatcher]) -> bool {
    if !select.matches_labels(resource) {
        return false;
    }
    let is_rejected = rejects.iter().any(|reject| {
        (reject.names_labels && reject.matches_labels(resource))
            || (!reject.names_no_id && is_matched(resource, reject))
    });
    !is_rejected && is_matched(resource, select)
}

/// Sets the value wherever the path leads, and says whether one of the fields
/// is shared with others that must follow.
fn set_at(
    node: &mut Node,
    path: &FieldPath<'_>,
    value: &Node,
    options: Option<&FieldOptions>,
) -> Result<bool> {
    let create = options.filter(|options| options.create).map(|_| value.kind());
    if let Some(is_shared) = structured::set(node, &path.parts, value, create) {
        return Ok(is_shared);
    }
    let problem = || match create {
        Some(_) => format!("unable to find or create field {:?} in replacement target", path.text),
        None => format!("unable to find field {:?} in replacement target", path.text),
    };
    let matches = matching::find(node, &path.parts, create).context(problem)?;
    if matches.is_empty() {
        return Err(invalid(problem()));
    }
    let mut is_shared = false;
    for found in matches {
        // What was found inside of a text is a copy, and lost.
        if let matching::Match::Address(address) = found
            && let Some(field) = matching::at(node, &address)
        {
            set_value(field, value, options)?;
            is_shared |= field.share.is_changed;
        }
    }
    Ok(is_shared)
}

fn set_value(field: &mut Node, value: &Node, options: Option<&FieldOptions>) -> Result<()> {
    let options = options.filter(|options| !options.delimiter.is_empty());
    match (&mut field.body, options) {
        (Body::Scalar(text), options) => {
            *text = match options {
                Some(options) => with_part(text, value.value(), options),
                None => value.text().to_owned(),
            };
            field.mark_changed();
        }
        (Body::Sequence(_) | Body::Mapping(_), None) => *field = value.clone(),
        (Body::Sequence(_) | Body::Mapping(_), Some(_)) => {
            return Err(invalid("delimiter option can only be used with scalar nodes"));
        }
    }
    Ok(())
}

/// The text with one part of it replaced, or a part added at an end.
fn with_part(text: &str, part: &str, options: &FieldOptions) -> String {
    let mut parts: Vec<&str> = text.split(options.delimiter.as_str()).collect();
    match usize::try_from(options.index) {
        Err(_) => parts.insert(0, part),
        Ok(index) => match parts.get_mut(index) {
            Some(slot) => *slot = part,
            None => parts.push(part),
        },
    }
    parts.join(&options.delimiter)
}
