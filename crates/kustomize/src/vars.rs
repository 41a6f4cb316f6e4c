//! `vars`: values of fields put in place of `$(NAME)`.

use std::collections::BTreeMap;

use crate::error::{Result, invalid};
use crate::fields::{Create, apply};
use crate::kustomization::parts::{FieldSpec, Var};
use crate::resource::Resource;
use crate::resource::id::ResourceId;
use crate::resources::Resources;
use crate::schema::Scopes;
use crate::yaml::path::{lookup, split_with_brackets};
use crate::yaml::{Body, Kind, Node, Style, Tag};

/// The variables of a build, each name once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vars {
    by_name: BTreeMap<String, Var>,
}

impl Vars {
    /// Adds the variables of a kustomization, and notes on each resource which
    /// of them read from it.
    pub(crate) fn define(
        &mut self,
        vars: &[Var],
        resources: &mut Resources,
        scopes: &Scopes,
    ) -> Result<()> {
        for var in vars {
            let matches = targets(var, resources, scopes);
            match matches.as_slice() {
                [] => {}
                [at] => resources.as_mut()[*at].var_names.push(var.name.clone()),
                several => {
                    return Err(invalid(format!(
                        "found {} resId matches for var {} (unable to disambiguate)",
                        several.len(),
                        var.shown(&var.object.gvk, &var.written_path)
                    )));
                }
            }
        }
        vars.iter().try_for_each(|var| self.add(var.clone()))
    }

    /// Adds the variables of a base.
    pub(crate) fn absorb(&mut self, other: Self) -> Result<()> {
        other.by_name.into_values().try_for_each(|var| self.add(var))
    }

    fn add(&mut self, var: Var) -> Result<()> {
        if self.by_name.contains_key(&var.name) {
            return Err(invalid(format!("var '{}' already encountered", var.name)));
        }
        self.by_name.insert(var.name.clone(), var);
        Ok(())
    }

    /// Replaces the variables in all fields that may hold them.
    pub(crate) fn resolve(&self, resources: &mut Resources, fields: &[FieldSpec]) -> Result<()> {
        let mut values = BTreeMap::new();
        for var in self.by_name.values() {
            values.insert(var.name.as_str(), find_value(var, resources)?);
        }
        if values.is_empty() {
            return Ok(());
        }
        for resource in resources.as_mut() {
            for spec in fields {
                apply(&mut resource.node, spec, Create::Never, &mut |field| {
                    replace_in(field, &values)
                })?;
                resource.settle_shares();
            }
        }
        Ok(())
    }
}

fn targets(var: &Var, resources: &Resources, scopes: &Scopes) -> Vec<usize> {
    // Kustomize does not know the scope of what a variable names.
    let wanted = &var.object;
    let is_exact = !wanted.namespace.is_empty();
    let fits = |id: &ResourceId| {
        if is_exact { id.same(wanted) } else { id.same_kind_and_name(wanted) }
    };
    let matching = resources.iter().enumerate().filter(|(_, resource)| {
        !resource.node.is_empty() && resource.any_id(&wanted.name, fits, scopes)
    });
    matching.map(|(at, _)| at).collect()
}

/// The value of a variable.
#[derive(Clone, Debug)]
enum Value {
    Text(String),
    /// A number or boolean, with its text.
    Typed(String, Tag),
    /// A mapping or list, which cannot be put into a text.
    Unfit,
}

fn find_value(var: &Var, resources: &Resources) -> Result<Value> {
    let resource = resources.iter().find(|resource| resource.var_names.contains(&var.name));
    let Some(resource) = resource else {
        return Err(invalid(format!(
            "var '{var}' cannot be mapped to a field in the set of known resources"
        )));
    };
    field_value(resource, &var.field_path).ok_or_else(|| {
        invalid(format!("field specified in var '{var}' not found in corresponding resource"))
    })
}

fn field_value(resource: &Resource, path: &str) -> Option<Value> {
    let path = with_indexes(&split_with_brackets(path, '.'));
    let node = lookup(&resource.node, &path).ok()??;
    let text = node.text();
    match (node.kind(), &node.tag) {
        (Kind::Mapping | Kind::Sequence, _) => Some(Value::Unfit),
        (Kind::Scalar, Tag::Int) => {
            let number: i64 = text.parse().ok()?;
            Some(Value::Typed(number.to_string(), Tag::Int))
        }
        (Kind::Scalar, Tag::Float) => {
            let number: f64 = text.parse().ok()?;
            Some(Value::Typed(number.to_string(), Tag::Float))
        }
        (Kind::Scalar, Tag::Bool) => {
            let flag = match text {
                "true" | "True" | "TRUE" => "true",
                "false" | "False" | "FALSE" => "false",
                _ => return None,
            };
            Some(Value::Typed(flag.to_owned(), Tag::Bool))
        }
        (Kind::Scalar, _) => Some(Value::Text(text.to_owned())),
    }
}

/// `ports[0]` is the field and then the index.
fn with_indexes(path: &[String]) -> Vec<String> {
    let mut result = Vec::new();
    for part in path {
        let indexed = part.strip_suffix(']').and_then(|part| part.rsplit_once('['));
        match indexed {
            Some((name, index))
                if !index.is_empty() && index.bytes().all(|digit| digit.is_ascii_digit()) =>
            {
                if !name.is_empty() {
                    result.push(name.to_owned());
                }
                result.push(index.to_owned());
            }
            _ => result.push(part.clone()),
        }
    }
    result
}

fn replace_in(field: &mut Node, values: &BTreeMap<&str, Value>) -> Result<()> {
    if field.is_null() {
        return Ok(());
    }
    match &mut field.body {
        Body::Scalar(_) => {
            if field.is_stringlike() {
                expand(field, values);
            }
            Ok(())
        }
        Body::Mapping(entries) => {
            for (key, value) in entries {
                if !key.is_stringlike() {
                    return Err(invalid(format!(
                        "invalid map key: value='{}', tag='{}'",
                        key.text(),
                        key.tag.short()
                    )));
                }
                if value.is_stringlike() {
                    expand(value, values);
                }
            }
            Ok(())
        }
        Body::Sequence(items) => {
            for item in items {
                if !item.is_stringlike() {
                    return Err(invalid("invalid value type expect a string"));
                }
                expand(item, values);
            }
            Ok(())
        }
    }
}

/// Replaces the variables in a text. A text that is one variable and nothing
/// else takes the variable's type.
fn expand(node: &mut Node, values: &BTreeMap<&str, Value>) {
    let text = node.text();
    let whole = text.strip_prefix("$(").and_then(|rest| rest.strip_suffix(')'));
    if let Some(Value::Typed(value, tag)) = whole.and_then(|name| values.get(name)) {
        node.overwrite(Node::typed(value.as_str(), tag.clone()));
        return;
    }
    let expanded = expanded(text, values);
    if expanded != text {
        node.mark_changed();
    }
    node.body = Body::Scalar(expanded);
    node.tag = Tag::Str;
    node.style = Style::PLAIN;
}

fn expanded(text: &str, values: &BTreeMap<&str, Value>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        result.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(after) = after.strip_prefix('$') {
            result.push('$');
            rest = after;
        } else if let Some((name, after)) =
            after.strip_prefix('(').and_then(|inner| inner.split_once(')'))
        {
            match values.get(name) {
                Some(Value::Text(value) | Value::Typed(value, _)) => result.push_str(value),
                Some(Value::Unfit) | None => {
                    result.push_str("$(");
                    result.push_str(name);
                    result.push(')');
                }
            }
            rest = after;
        } else {
            result.push('$');
            rest = after;
        }
    }
    result.push_str(rest);
    result
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Value, expanded, with_indexes};

    #[test]
    fn variables_are_replaced_and_dollars_escaped() {
        let values = BTreeMap::from([("A", Value::Text("x".to_owned()))]);
        for (text, expect) in [
            ("$(A)-$(A)", "x-x"),
            ("$(B)", "$(B)"),
            ("$$(A)", "$(A)"),
            ("$A $", "$A $"),
            ("$(A", "$(A"),
        ] {
            assert_eq!(expanded(text, &values), expect);
        }
    }

    #[test]
    fn an_index_is_a_part_of_its_own() {
        let path = ["ports[0]".to_owned(), "x".to_owned()];
        assert_eq!(with_indexes(&path), ["ports", "0", "x"]);
    }
}
