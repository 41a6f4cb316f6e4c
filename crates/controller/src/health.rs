//! Health of the kinds that Kubernetes itself does not bring: the bundled rules.

use engine::health::{Health, HealthCode, HealthRules};
use lua::Status;
use object::Object;

/// The rules that come with the product, for some 230 kinds of other projects.
pub(crate) struct Bundled;

impl HealthRules for Bundled {
    fn judge(&self, object: &Object) -> Option<Health> {
        let lua::Health { status, message } = lua::bundled::health(object)?;
        let code = match status {
            Status::Healthy => HealthCode::Healthy,
            Status::Suspended => HealthCode::Suspended,
            Status::Progressing => HealthCode::Progressing,
            Status::Missing => HealthCode::Missing,
            Status::Degraded => HealthCode::Degraded,
            Status::Unknown => HealthCode::Unknown,
        };
        Some(Health { code, message })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(ready: &str, expect: HealthCode) {
        let certificate = json!({
            "apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "c"},
            "status": {"conditions": [{"type": "Ready", "status": ready, "message": "as asked"}]},
        });
        let certificate = Object::from_value(certificate).expect("an object");
        let judged = engine::health(&certificate, &Bundled).expect("the kind is known");
        assert_eq!(judged.code, expect);
    }

    #[test]
    fn kinds_of_other_projects_have_health() {
        check("True", HealthCode::Healthy);
        check("False", HealthCode::Degraded);
    }
}
