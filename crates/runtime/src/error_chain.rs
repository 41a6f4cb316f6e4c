//! Prints an error with all its causes, once, at the edge.

use std::error::Error;
use std::fmt;

/// `could not do this: because of that: because of the other`.
pub struct Chain<'e>(pub &'e dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}
