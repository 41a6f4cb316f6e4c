//! REST paths with variables: `/api/v1/applications/{name}/sync`.

/// A path as the table writes it.
pub(crate) struct Template {
    text: &'static str,
    segments: Vec<Segment>,
}

enum Segment {
    Literal(&'static str),
    /// One segment, into the field of this dotted name.
    Variable(&'static str),
    /// All that is left, perhaps nothing.
    Rest(&'static str),
}

/// What the variables of a template stand for in one path.
#[derive(Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) variables: Vec<(&'static str, String)>,
    /// The more literal, the better the match.
    pub(crate) literals: usize,
}

impl Template {
    pub(crate) fn parse(text: &'static str) -> Self {
        let segment = |text: &'static str| {
            let Some(name) = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')) else {
                return Segment::Literal(text);
            };
            match name.strip_suffix("=**") {
                Some(name) => Segment::Rest(name),
                None => Segment::Variable(name),
            }
        };
        let segments = text.trim_start_matches('/').split('/').map(segment).collect();
        Self { text, segments }
    }

    /// As the table writes it.
    pub(crate) fn text(&self) -> &'static str {
        self.text
    }

    /// The dotted names of its variables.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.segments.iter().filter_map(|it| match it {
            Segment::Literal(_) => None,
            Segment::Variable(name) | Segment::Rest(name) => Some(*name),
        })
    }

    /// Compares with a path as it came, still escaped: an escaped slash is part of its segment.
    pub(crate) fn matches(&self, path: &str) -> Option<Match> {
        let mut left = path.strip_prefix('/')?.split('/');
        let mut found = Match { variables: Vec::new(), literals: 0 };
        for segment in &self.segments {
            match segment {
                Segment::Literal(literal) => {
                    if left.next()? != *literal {
                        return None;
                    }
                    found.literals += 1;
                }
                Segment::Variable(name) => {
                    let text = left.next().filter(|it| !it.is_empty())?;
                    found.variables.push((name, unescaped(text, false)));
                }
                Segment::Rest(name) => {
                    let rest: Vec<&str> = left.by_ref().collect();
                    found.variables.push((name, unescaped(&rest.join("/"), false)));
                }
            }
        }
        left.next().is_none().then_some(found)
    }
}

/// A path, without percent signs.
#[must_use]
pub fn unescaped_path(text: &str) -> String {
    unescaped(text, false)
}

/// A value of a query, without percent signs and with blanks for pluses.
#[must_use]
pub fn unescaped_query(text: &str) -> String {
    unescaped(text, true)
}

/// Text without its percent signs; in a query a plus is a space.
pub(crate) fn unescaped(text: &str, in_query: bool) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.as_bytes();
    while let Some((&byte, after)) = left.split_first() {
        left = after;
        let hex = |byte: &u8| char::from(*byte).to_digit(16);
        let code = match after {
            [high, low, ..] if byte == b'%' => hex(high).zip(hex(low)),
            _ => None,
        };
        match (byte, code) {
            (_, Some((high, low))) => {
                bytes.push(u8::try_from(high * 16 + low).expect("two hex digits are a byte"));
                left = &after[2..];
            }
            (b'+', None) if in_query => bytes.push(b' '),
            (byte, None) => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &'static str, path: &str, expect: Option<&[(&str, &str)]>) {
        let found = Template::parse(template).matches(path).map(|it| it.variables);
        let expect = expect.map(|it| it.iter().map(|(name, text)| (*name, (*text).to_owned())));
        assert_eq!(found, expect.map(Iterator::collect));
    }

    #[test]
    fn a_variable_takes_one_segment() {
        check("/api/v1/applications/{name}", "/api/v1/applications/web", Some(&[("name", "web")]));
        check("/api/v1/applications/{name}", "/api/v1/applications/web/sync", None);
        check("/api/v1/applications/{name}", "/api/v1/applications/", None);
        check("/api/v1/applications/{name}", "/api/v1/projects/web", None);
    }

    #[test]
    fn an_escaped_slash_does_not_end_a_segment() {
        check(
            "/api/v1/clusters/{id.value}",
            "/api/v1/clusters/https%3A%2F%2Fkubernetes.default.svc",
            Some(&[("id.value", "https://kubernetes.default.svc")]),
        );
    }

    #[test]
    fn the_rest_may_be_anything() {
        let template = "/can-i/{resource}/{subresource=**}";
        check(template, "/can-i/a/b/c", Some(&[("resource", "a"), ("subresource", "b/c")]));
        check(template, "/can-i/a", Some(&[("resource", "a"), ("subresource", "")]));
    }

    #[test]
    fn what_is_not_an_escape_stays() {
        assert_eq!(unescaped("100%+%zz%4", false), "100%+%zz%4");
        assert_eq!(unescaped("a+b%20c", true), "a b c");
    }
}
