//! What may be a name in Kubernetes.

/// The name of a namespace, or of a container.
pub(crate) fn is_label(name: &str) -> bool {
    name.len() <= 63 && is_word(name)
}

/// The name of most objects: words with dots between them.
pub(crate) fn is_subdomain(name: &str) -> bool {
    name.len() <= 253 && name.split('.').all(is_word)
}

fn is_word(name: &str) -> bool {
    let is_plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit();
    name.bytes().all(|it| is_plain(it) || it == b'-')
        && name.bytes().next().is_some_and(is_plain)
        && name.bytes().last().is_some_and(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_an_alphabet_and_an_end() {
        for name in ["a", "a-b", "0"] {
            assert!(is_label(name) && is_subdomain(name), "{name}");
        }
        for name in ["", "-a", "a-", "A", "a_b", "a/b", "..", "é", "a\n"] {
            assert!(!is_label(name) && !is_subdomain(name), "{name:?}");
        }
        assert!(is_subdomain("a.b") && !is_label("a.b") && !is_subdomain("a..b"));
        assert!(is_label(&"a".repeat(63)) && !is_label(&"a".repeat(64)));
        assert!(is_subdomain(&"a".repeat(253)) && !is_subdomain(&"a".repeat(254)));
    }
}
