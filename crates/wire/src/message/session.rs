//! Logging in: `session.SessionService`.

use super::messages;

messages! {
    /// A name and its password.
    SessionCreateRequest {
        #[prost(string, tag = 1)]
        username: String,
        #[prost(string, tag = 2)]
        password: String,
        #[prost(string, tag = 3)]
        token: String,
    }
    /// Log out.
    SessionDeleteRequest {
    }
    /// The token to come with from now on.
    SessionResponse {
        #[prost(string, tag = 1)]
        token: String,
    }
    /// Who am I?
    GetUserInfoRequest {
    }
    /// Who you are.
    GetUserInfoResponse {
        #[prost(bool, tag = 1)]
        logged_in: bool,
        #[prost(string, tag = 2)]
        username: String,
        #[prost(string, tag = 3)]
        iss: String,
        #[prost(string, repeated, tag = 4)]
        groups: Vec<String>,
    }
}
