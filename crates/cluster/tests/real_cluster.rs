//! The crate against a real control plane.
//!
//! One control plane and one [`Cluster`] serve all tests of this file; each
//! test has its own namespace. Faults are made by a [`proxy`] in between.

mod real_cluster {
    pub(crate) mod faults;
    pub(crate) mod fixture;
    pub(crate) mod gateways;
    pub(crate) mod proxy;
    pub(crate) mod reading;
    pub(crate) mod writing;
}
