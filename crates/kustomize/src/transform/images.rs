//! Names, tags and digests of images.

use regex::Regex;

use crate::error::Result;
use crate::fields::{Create, apply, replace_scalar};
use crate::kustomization::parts::{FieldSpec, Image};
use crate::resources::Resources;
use crate::selector::expression;
use crate::yaml::path::demand;
use crate::yaml::{Body, Kind, Node};

/// Changes one image wherever it is used.
#[derive(Clone, Debug)]
pub(crate) struct ImageTransformer {
    pub(crate) image: Image,
    pub(crate) fields: Vec<FieldSpec>,
}

impl ImageTransformer {
    pub(crate) fn run(&self, resources: &mut Resources) -> Result<()> {
        let matcher = Matcher::new(&self.image.name)?;
        for resource in resources.as_mut() {
            if resource.kind() == "CustomResourceDefinition" {
                continue;
            }
            self.everywhere(&mut resource.node, &matcher)?;
            for spec in &self.fields {
                // A field that is missing is created only to be found unequal.
                apply(&mut resource.node, spec, Create::Never, &mut |field| {
                    self.change(field, &matcher)
                })?;
            }
        }
        Ok(())
    }

    /// Looks into `containers` and `initContainers` at any depth.
    fn everywhere(&self, node: &mut Node, matcher: &Matcher) -> Result<()> {
        match &mut node.body {
            Body::Scalar(_) => Ok(()),
            Body::Sequence(items) => {
                items.iter_mut().try_for_each(|item| self.everywhere(item, matcher))
            }
            Body::Mapping(entries) => {
                for (key, value) in entries {
                    self.everywhere(value, matcher)?;
                    let holds_containers = matches!(key.text(), "containers" | "initContainers");
                    if let (true, Body::Sequence(containers)) = (holds_containers, &mut value.body)
                    {
                        for container in containers {
                            demand(container, Kind::Mapping)?;
                            if let Some(image) = container.field_mut("image") {
                                self.change(image, matcher)?;
                            }
                        }
                    }
                }
                Ok(())
            }
        }
    }

    fn change(&self, field: &mut Node, matcher: &Matcher) -> Result<()> {
        demand(field, Kind::Scalar)?;
        if !matcher.matches(field.text()) {
            return Ok(());
        }
        let name = changed(field.text(), &self.image);
        replace_scalar(field, Node::untyped(name))
    }
}

/// The image that results from a change.
fn changed(text: &str, change: &Image) -> String {
    let (name, tag, digest) = split(text);
    let name = if change.new_name.is_empty() { name } else { &change.new_name };
    let (tag, digest) = match (change.new_tag.as_str(), change.digest.as_str()) {
        ("", "") if !change.tag_suffix.is_empty() => {
            (format!("{tag}{}", change.tag_suffix), String::new())
        }
        ("", "") => (tag.to_owned(), digest.to_owned()),
        (tag, digest) => (tag.to_owned(), digest.to_owned()),
    };
    let mut result = name.to_owned();
    if !tag.is_empty() {
        result.push(':');
        result.push_str(&tag);
    }
    if !digest.is_empty() {
        result.push('@');
        result.push_str(&digest);
    }
    result
}

/// Splits an image into name, tag and digest.
pub(crate) fn split(image: &str) -> (&str, &str, &str) {
    // A colon before the first slash belongs to a port.
    let start = image.find('/').filter(|at| *at > 0).unwrap_or(0);
    let digest_at = image[start..].find('@').map(|at| at + start);
    let tag_at = image[start..].find(':').map(|at| at + start);
    match (tag_at, digest_at) {
        (None, None) => (image, "", ""),
        (Some(tag), None) => (&image[..tag], &image[tag + 1..], ""),
        (Some(tag), Some(digest)) if tag < digest => {
            (&image[..tag], &image[tag + 1..digest], &image[digest + 1..])
        }
        (_, Some(digest)) => (&image[..digest], "", &image[digest + 1..]),
    }
}

/// Knows whether an image has the name; the name is a regular expression.
enum Matcher {
    /// Letters and signs that stand for themselves, and dots for any one.
    Name(String),
    Expression(Regex),
}

impl Matcher {
    fn new(name: &str) -> Result<Self> {
        let is_plain = name.bytes().all(|letter| {
            letter.is_ascii_alphanumeric() || matches!(letter, b'-' | b'_' | b'/' | b':' | b'.')
        });
        if is_plain {
            return Ok(Self::Name(name.to_owned()));
        }
        let pattern = format!("^{name}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$");
        Ok(Self::Expression(expression(&pattern)?))
    }

    fn matches(&self, image: &str) -> bool {
        match self {
            Self::Expression(expression) => expression.is_match(image),
            Self::Name(name) => after_name(image, name).is_some_and(is_tag_and_digest),
        }
    }
}

/// What follows the name in an image that begins with it.
fn after_name<'i>(image: &'i str, name: &str) -> Option<&'i str> {
    let mut letters = image.chars();
    let begins = name.chars().all(|wanted| {
        letters.next().is_some_and(|letter| letter == wanted || (wanted == '.' && letter != '\n'))
    });
    begins.then_some(letters.as_str())
}

/// Nothing, `:tag`, `@sha256:digest`, or both.
fn is_tag_and_digest(text: &str) -> bool {
    let is_part = |text: &str| {
        text.bytes().all(|letter| {
            letter.is_ascii_alphanumeric() || matches!(letter, b'_' | b'.' | b'{' | b'}' | b'-')
        })
    };
    let (tag, digest) = match text.find('@') {
        Some(at) => (&text[..at], Some(&text[at..])),
        None => (text, None),
    };
    let tag_fits = tag.is_empty() || tag.strip_prefix(':').is_some_and(is_part);
    tag_fits && digest.is_none_or(|digest| digest.strip_prefix("@sha256:").is_some_and(is_part))
}

#[cfg(test)]
mod tests {
    use super::{Matcher, split};

    #[test]
    fn images_are_split_into_name_tag_and_digest() {
        for (image, expect) in [
            ("nginx", ("nginx", "", "")),
            ("nginx:1.7", ("nginx", "1.7", "")),
            ("localhost:5000/a/b", ("localhost:5000/a/b", "", "")),
            ("localhost:5000/a:v1@sha256:abc", ("localhost:5000/a", "v1", "sha256:abc")),
            ("nginx@sha256:abc", ("nginx", "", "sha256:abc")),
        ] {
            assert_eq!(split(image), expect);
        }
    }

    #[test]
    fn a_name_matches_with_any_tag_and_digest() {
        let matcher = Matcher::new("a/nginx").expect("a plain name");
        for image in ["a/nginx", "a/nginx:1", "a/nginx:1@sha256:0f", "a/nginx@sha256:0f"] {
            assert!(matcher.matches(image), "{image}");
        }
        for image in ["nginx", "a/nginx2", "a/nginx:1/2", "a/nginx@md5:0f"] {
            assert!(!matcher.matches(image), "{image}");
        }
        let matcher = Matcher::new("registry.example.com/app").expect("a pattern");
        assert!(matcher.matches("registry.example.com/app:v2"));
        // The dots of the name are those of a pattern.
        assert!(matcher.matches("registryéexample-com/app"));
        assert!(!matcher.matches("registry.example.com/ap"));
        assert!(!matcher.matches("registry.example.com/application"));
    }
}
