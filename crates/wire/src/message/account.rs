//! Accounts: `account.AccountService`.

use super::messages;

messages! {
    /// May I do this?
    CanIRequest {
        #[prost(string, tag = 1)]
        resource: String,
        #[prost(string, tag = 2)]
        action: String,
        #[prost(string, tag = 3)]
        subresource: String,
    }
    /// `yes` or `no`.
    CanIResponse {
        #[prost(string, tag = 1)]
        value: String,
    }
    /// A new password, with the caller's own as proof.
    UpdatePasswordRequest {
        #[prost(string, tag = 1)]
        new_password: String,
        #[prost(string, tag = 2)]
        current_password: String,
        #[prost(string, tag = 3)]
        name: String,
    }
    /// Done.
    UpdatePasswordResponse {
    }
    /// All accounts, please.
    ListAccountRequest {
    }
    /// Accounts.
    AccountsList {
        #[prost(message, repeated, tag = 1)]
        items: Vec<Account>,
    }
    /// One account, please.
    GetAccountRequest {
        #[prost(string, tag = 1)]
        name: String,
    }
    /// A local account.
    Account {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(bool, tag = 2)]
        enabled: bool,
        #[prost(string, repeated, tag = 3)]
        capabilities: Vec<String>,
        #[prost(message, repeated, tag = 4)]
        tokens: Vec<Token>,
    }
    /// What is kept about an issued token.
    Token {
        #[prost(string, tag = 1)]
        id: String,
        #[prost(int64, tag = 2)]
        issued_at: i64,
        #[prost(int64, tag = 3)]
        expires_at: i64,
    }
    /// A token for an account, please.
    CreateTokenRequest {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(int64, tag = 2)]
        expires_in: i64,
        #[prost(string, tag = 3)]
        id: String,
    }
    /// The token; nobody will see it again.
    CreateTokenResponse {
        #[prost(string, tag = 1)]
        token: String,
    }
    /// Forget a token.
    DeleteTokenRequest {
        #[prost(string, tag = 1)]
        name: String,
        #[prost(string, tag = 2)]
        id: String,
    }
    /// Done.
    EmptyResponse {
    }
}
