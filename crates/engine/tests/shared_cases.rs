//! The tables of expected answers that live outside the project, read from the
//! folder that `ARGOSY_CASES` names.

mod shared_cases {
    mod diff;
    mod health;
    mod project;
    mod windows;
}
