//! Changes to an object, as data: made from two or three objects, and applied.
//!
//! - [`json`]: a list of operations (RFC 6902), as users write them
//! - [`merge`]: a smaller object that overlays the larger one (RFC 7386), the
//!   patch for kinds about which nothing is known
//! - [`strategic`]: the overlay that can also merge lists, by what a
//!   [`crate::schema::Schema`] says about them; the patch for built-in kinds
//!
//! The last two come in a three-way form: what `kubectl apply` sends so that
//! the fields a manifest no longer has are removed, and the fields it never
//! had are left alone.
//!
//! Values are walked recursively. They come from readers that limit depth, so
//! nothing here counts it again.

pub mod json;
pub mod merge;
pub mod strategic;
