//! PersistentVolumeClaim: fine once it is bound.

use object::Object;

use super::{Health, HealthCode};

pub(super) fn claim(object: &Object) -> Health {
    let code = match object.text(&["status", "phase"]) {
        Some("Lost") => HealthCode::Degraded,
        Some("Pending") => HealthCode::Progressing,
        Some("Bound") => HealthCode::Healthy,
        _ => HealthCode::Unknown,
    };
    Health::new(code, "")
}
