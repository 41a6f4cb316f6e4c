//! The cookie that keeps a browser logged in.

use serde_json::Value;

use crate::caller::COOKIE;

/// Browsers drop a cookie that is longer than this, its name and flags included.
const MAX_LENGTH: usize = 4093;

/// The token that a login answers with; a logout answers with an empty one.
pub(crate) fn token_of_answer(method: &str, json: &[u8]) -> Option<String> {
    if !matches!(method, "/session.SessionService/Create" | "/session.SessionService/Delete") {
        return None;
    }
    let answer: Value = serde_json::from_slice(json).ok()?;
    Some(answer["token"].as_str().unwrap_or_default().to_owned())
}

/// Where a browser sends a cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) path: String,
    /// Over TLS only.
    pub(crate) is_secure: bool,
}

/// The `Set-Cookie` lines of a token; a long one takes several.
pub(crate) fn lines(token: &str, scope: &Scope) -> Vec<String> {
    let secure = if scope.is_secure { "; Secure" } else { "" };
    let flags = format!("path={}; SameSite=lax; httpOnly{secure}", scope.path);
    // Room for the longest name and the count.
    let room = MAX_LENGTH - flags.len() - COOKIE.len() - 16;
    let parts: Vec<&str> = split(token, room);
    let count = parts.len();
    let line = |(number, part): (usize, &str)| match (number, count) {
        (0, 0 | 1) => format!("{COOKIE}={part}; {flags}"),
        (0, _) => format!("{COOKIE}={count}:{part}; {flags}"),
        _ => format!("{COOKIE}-{number}={part}; {flags}"),
    };
    parts.into_iter().enumerate().map(line).collect()
}

/// Tokens are ASCII; whatever else a provider issues is cut between characters.
fn split(token: &str, room: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = token;
    while rest.len() > room {
        let (part, after) = rest.split_at(rest.floor_char_boundary(room));
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(is_secure: bool) -> Scope {
        Scope { path: "/".into(), is_secure }
    }

    #[test]
    fn a_short_token_is_one_cookie() {
        assert_eq!(
            lines("abc", &scope(true)),
            ["argocd.token=abc; path=/; SameSite=lax; httpOnly; Secure"]
        );
        assert_eq!(lines("", &scope(false)), ["argocd.token=; path=/; SameSite=lax; httpOnly"]);
    }

    #[test]
    fn a_long_token_is_spread_and_put_together_again() {
        let token = "x".repeat(9_000);
        let lines = lines(&token, &scope(true));
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|it| it.len() <= MAX_LENGTH));
        let mut headers = http::HeaderMap::new();
        for line in lines {
            let cookie = line.split(';').next().unwrap_or_default().to_owned();
            headers.append("cookie", cookie.parse().expect("a header"));
        }
        assert_eq!(crate::caller::from_cookies(&headers).as_deref(), Some(token.as_str()));
    }

    #[test]
    fn only_logins_and_logouts_answer_with_a_cookie() {
        let answer = br#"{"token":"t"}"#;
        let token = token_of_answer("/session.SessionService/Create", answer);
        assert_eq!(token.as_deref(), Some("t"));
        assert_eq!(token_of_answer("/session.SessionService/Delete", b"{}").as_deref(), Some(""));
        assert_eq!(token_of_answer("/account.AccountService/CreateToken", answer), None);
    }
}
