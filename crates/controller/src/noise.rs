//! Which changes of live objects wake nobody: `ignoreResourceUpdates`.
//!
//! An object below a tracked one matters to a look only by what the store keeps
//! of it; a tracked one is judged by [`engine::update::matters`].

use cluster::{LiveObject, Update};
use engine::diff::ignore::Ignoring;
use engine::update;
use jiff::Timestamp;

use crate::health::KindRules;
use crate::settings::Settings;

/// How to tell, by the settings of the moment.
pub(crate) struct Noise<'s> {
    /// None where every change is a reason to look.
    ignoring: Option<&'s Ignoring>,
    rules: KindRules<'s>,
}

impl<'s> Noise<'s> {
    pub(crate) fn of(settings: &'s Settings, now: Timestamp) -> Self {
        Self { ignoring: settings.ignored_updates(), rules: KindRules { settings, now } }
    }

    /// Is this no reason to look?
    pub(crate) fn is(&self, update: &Update) -> bool {
        let Some(ignoring) = self.ignoring else { return false };
        match update {
            Update::Unkept => true,
            Update::Body { before, after } => {
                let [before, after] = [before, after].map(LiveObject::object);
                !update::matters(&before, &after, ignoring, &self.rules)
            }
        }
    }
}
