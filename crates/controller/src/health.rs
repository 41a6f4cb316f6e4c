//! Health of the kinds that Kubernetes itself does not bring: the scripts of
//! users, then the bundled rules.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::health::{Health, HealthCode, HealthRules};
use jiff::Timestamp;
use lua::{Status, Surroundings};
use object::Object;

use crate::settings::Settings;

/// How long a script may take.
const LONGEST: Duration = Duration::from_secs(1);

/// The rules of an installation: what its users wrote goes before what comes
/// with the product.
pub(crate) struct KindRules<'s> {
    pub(crate) settings: &'s Settings,
    pub(crate) now: Timestamp,
}

impl HealthRules for KindRules<'_> {
    fn judge(&self, object: &Object) -> Option<Health> {
        let Some(script) = self.settings.health_script(&object.group_kind()) else {
            return lua::bundled::health(object).map(in_engine);
        };
        let began = Instant::now();
        let surroundings = Surroundings {
            is_time_up: Some(Arc::new(move || began.elapsed() > LONGEST)),
            ..Surroundings::at(self.now.as_second())
        };
        match lua::health(script, object, &surroundings) {
            Ok(health) => health.map(in_engine),
            Err(error) => Some(Health { code: HealthCode::Unknown, message: error.to_string() }),
        }
    }
}

fn in_engine(lua::Health { status, message }: lua::Health) -> Health {
    let code = match status {
        Status::Healthy => HealthCode::Healthy,
        Status::Suspended => HealthCode::Suspended,
        Status::Progressing => HealthCode::Progressing,
        Status::Missing => HealthCode::Missing,
        Status::Degraded => HealthCode::Degraded,
        Status::Unknown => HealthCode::Unknown,
    };
    Health { code, message }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(settings: &Settings, ready: &str, expect: HealthCode) {
        let certificate = json!({
            "apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "c"},
            "status": {"conditions": [{"type": "Ready", "status": ready, "message": "as asked"}]},
        });
        let certificate = Object::from_value(certificate).expect("an object");
        let rules = KindRules { settings, now: Timestamp::UNIX_EPOCH };
        let judged = engine::health(&certificate, &rules).expect("the kind is known");
        assert_eq!(judged.code, expect);
    }

    fn with(scripts: &[(&str, &str)]) -> Settings {
        let mut sources = settings::Sources::default();
        let data = scripts.iter().map(|(key, script)| ((*key).to_owned(), (*script).to_owned()));
        sources.config_maps.insert(settings::names::CONFIG.into(), data.collect());
        Settings::of(&settings::Settings::read(&sources))
    }

    #[test]
    fn kinds_of_other_projects_have_health() {
        check(&with(&[]), "True", HealthCode::Healthy);
        check(&with(&[]), "False", HealthCode::Degraded);
    }

    #[test]
    fn a_users_script_goes_first_and_a_broken_one_is_told() {
        const KEY: &str = "resource.customizations.health.cert-manager.io_Certificate";
        let script = |script: &str| with(&[(KEY, script)]);
        check(&script("return {status = 'Suspended'}"), "True", HealthCode::Suspended);
        check(&script("return nonsense("), "True", HealthCode::Unknown);
    }
}
