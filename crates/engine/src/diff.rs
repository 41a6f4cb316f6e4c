//! Where one wanted object and its live counterpart differ.
//!
//! Git states some fields and leaves the rest to the cluster, so the two cannot
//! be compared as they are. [`sides`] makes two objects that can: the live one,
//! normalised, and the *predicted* one, which is what the live one would become
//! if git's were applied. Where these differ, a sync would change something.
//! [`diff`] names the places.
//!
//! There are three ways to predict, one per file: [`three_way`] (as
//! `kubectl apply` would, with the last-applied annotation), [`structured`] (as
//! server-side apply would, by field ownership) and [`server_side`] (the API
//! server was asked). Before that both sides are [`normalise`]d and lose what
//! the [`ignore`] rules name.

pub mod hide;
pub mod ignore;
pub mod jq;
pub mod normalise;
mod respect;
mod same_text;
pub mod server_side;
pub mod structured;
pub mod three_way;

use std::borrow::Cow;
use std::fmt;

use api::{Application, ResourceIgnoreDifferences, names};
use object::fields::{differing_leaf, unsettled};
use object::schema::Schema;
use object::{GroupKind, Object, typed};
use serde_json::{Map, Value};

use crate::finding::Finding;
use crate::marks;
use ignore::{Ignoring, StatusOf};
pub use respect::respecting;
use server_side::{AnswerError, Webhooks};

/// How objects are compared: settings and the application's own wishes, read
/// once for all its objects.
#[derive(Clone, Debug)]
pub struct Comparing {
    /// The field manager of our applies.
    pub manager: String,
    /// What to ignore, of the application and of the settings.
    pub ignoring: Ignoring,
    /// Fields of custom resources that have a known type.
    pub known_types: Vec<KnownType>,
    /// Rules of aggregated ClusterRoles are the cluster's business.
    pub ignores_aggregated_roles: bool,
    /// The application applies on the server.
    pub applies_server_side: bool,
    /// The API server is asked what applying would do, and whose changes count
    /// then; none where it is predicted here.
    pub asks_server: Option<Webhooks>,
    /// The label that also tracks, if tracking is by annotation: a live object
    /// that still has it is on its way from one to the other.
    pub instance_label: Option<String>,
    /// What the lists of each kind are told apart by.
    pub schema: Cow<'static, Schema>,
}

impl Default for Comparing {
    fn default() -> Self {
        Self {
            manager: "argocd-controller".into(),
            ignoring: Ignoring::status_of_all(),
            known_types: Vec::new(),
            ignores_aggregated_roles: false,
            applies_server_side: false,
            asks_server: None,
            instance_label: None,
            schema: Cow::Borrowed(Schema::builtin()),
        }
    }
}

/// What the settings of an installation say about comparing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompareSettings {
    /// `resource.customizations.ignoreDifferences.*`; the group and kind `*` for all.
    pub ignore: Vec<ResourceIgnoreDifferences>,
    /// `ignoreResourceStatusField`.
    pub status: StatusOf,
    /// `resource.customizations.knownTypeFields.*`.
    pub known_types: Vec<KnownType>,
    /// `ignoreAggregatedRoles`.
    pub ignores_aggregated_roles: bool,
    /// The API server is asked what applying would do, unless an Application
    /// does not want that (`controller.diff.server.side`).
    pub asks_server: bool,
    /// The label that also tracks, if tracking is by annotation.
    pub instance_label: Option<String>,
}

/// A field of a kind whose value is to be read as a Go type, so that two
/// spellings of one value are the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownType {
    /// Whose field.
    pub kind: GroupKind,
    /// The path, with dots; lists are gone through.
    pub field: String,
    /// Such as `core/v1/PodSpec`.
    pub type_name: String,
}

impl Comparing {
    /// How the objects of `app` are compared. What cannot be understood is a
    /// finding.
    #[must_use]
    pub fn of(app: &Application, settings: &CompareSettings) -> (Self, Vec<Finding>) {
        let (ignoring, findings) =
            Ignoring::of(&app.spec.ignore_differences, &settings.ignore, settings.status);
        let policy = app.spec.sync_policy.as_ref();
        let comparing = Self {
            ignoring,
            known_types: settings.known_types.clone(),
            ignores_aggregated_roles: settings.ignores_aggregated_roles,
            applies_server_side: policy
                .is_some_and(|it| it.sync_options.iter().any(|it| it == "ServerSideApply=true")),
            asks_server: asks_server(app, settings.asks_server),
            instance_label: settings.instance_label.clone(),
            ..Self::default()
        };
        (comparing, findings)
    }
}

/// What the application's compare options say about asking the API server.
fn asks_server(app: &Application, by_default: bool) -> Option<Webhooks> {
    let options = app.metadata.annotations.get(names::ANNOTATION_COMPARE_OPTIONS);
    let says = |word: &str| options.is_some_and(|it| it.split(',').any(|it| it.trim() == word));
    let asks = (by_default || says("ServerSideDiff=true")) && !says("ServerSideDiff=false");
    let webhooks = match says("IncludeMutationWebhook=true") {
        true => Webhooks::Included,
        false => Webhooks::Ignored,
    };
    asks.then_some(webhooks)
}

/// The two objects that are compared, fit to be shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Sides {
    /// What applying git's object would make of the live one.
    pub predicted: Value,
    /// The live object.
    pub live: Value,
}

impl Sides {
    /// Would applying change anything?
    #[must_use]
    pub fn differ(&self) -> bool {
        self.predicted != self.live
    }

    /// The places where they differ, in path order.
    #[must_use]
    pub fn differences(&self) -> Vec<Difference> {
        let mut found = Vec::new();
        walk(&mut String::new(), Some(&self.predicted), Some(&self.live), &mut found);
        found
    }
}

/// One place where the two sides differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// JSON pointer to the field.
    pub path: String,
    /// What git wants there; none when it wants nothing there.
    pub want: Option<Value>,
    /// What is live there; none when nothing is.
    pub live: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side =
            |value: &Option<Value>| value.as_ref().map_or("nothing".into(), Value::to_string);
        write!(
            f,
            "{}: git has {}, the cluster has {}",
            self.path,
            side(&self.want),
            side(&self.live)
        )
    }
}

/// All differences, in path order. Empty means Synced.
#[must_use]
pub fn diff(want: &Object, live: &Object, comparing: &Comparing) -> Vec<Difference> {
    if is_settled(want, live, comparing) {
        return Vec::new();
    }
    sides(want, live, comparing).differences()
}

/// Is it plain that nothing differs? Nearly every object of nearly every look
/// is as git wants it, word for word, and needs no prediction.
///
/// So it is when every leaf that git states is live and what we applied last is
/// what git states now. "No" only means that a closer look is needed.
#[must_use]
pub fn is_settled(want: &Object, live: &Object, comparing: &Comparing) -> bool {
    let of = structured::type_of(want, &comparing.schema);
    let (want_value, live_value) = (want.as_value(), live.as_value());
    if comparing.is_server_side(want, live) {
        let (owned, _) = structured::owned(live, &comparing.manager);
        return matches!(unsettled(want_value, live_value, &owned, of), Ok(None));
    }
    matches!(differing_leaf(want_value, live_value, of), Ok(None))
        && live.annotation(three_way::LAST_APPLIED).is_none_or(|it| three_way::says(it, want))
}

/// The two objects to compare. What cannot be predicted in the way asked for is
/// predicted in the next simpler one.
#[must_use]
pub fn sides(want: &Object, live: &Object, comparing: &Comparing) -> Sides {
    let stated = want;
    let (want, live) = if comparing.aligns() {
        let (mut want, mut live) = (want.clone(), live.clone());
        comparing.align(&mut want, &mut live);
        (comparing.normalised(&want), comparing.normalised(&live))
    } else {
        (comparing.normalised(want), comparing.normalised(live))
    };
    if comparing.is_server_side(&want, &live)
        && let Ok(sides) = structured::sides(stated, &want, &live, comparing)
    {
        return sides;
    }
    let last_applied =
        if comparing.goes_by_form_alone() && three_way::dropped_nothing(stated, &live) {
            None
        } else {
            three_way::last_applied(&live).map(|it| comparing.normalised(&it))
        };
    three_way::sides(last_applied, want, live)
}

/// The two objects to compare, where the API server was asked what applying
/// git's object would make of the live one.
///
/// # Errors
/// When the answer cannot be interpreted.
pub fn answered_sides(
    answer: &Object,
    live: &Object,
    webhooks: Webhooks,
    comparing: &Comparing,
) -> Result<Sides, AnswerError> {
    let (mut answer, mut live) = (answer.clone(), live.clone());
    comparing.align(&mut answer, &mut live);
    let live = typed::round_trip(&live).unwrap_or(live);
    server_side::sides(&answer, &live, webhooks, comparing)
}

impl Comparing {
    /// The same, without what somebody asked to ignore; none if nobody did.
    pub(crate) fn strictly(&self) -> Option<Self> {
        let ignoring = self.ignoring.always()?;
        Some(Self { ignoring, ..self.clone() })
    }

    /// Do two objects that have the same fields and elements still have the same
    /// ones when they are normalised, whatever their texts say?
    fn goes_by_form_alone(&self) -> bool {
        !self.aligns() && self.known_types.is_empty() && !self.ignoring.is_asked_for()
    }

    /// Does anything depend on both sides?
    fn aligns(&self) -> bool {
        self.instance_label.is_some() || self.ignoring.trusted().next().is_some()
    }

    /// What depends on both sides: fields that trusted managers set, and the
    /// tracking of an object that moves from label to annotation.
    fn align(&self, want: &mut Object, live: &mut Object) {
        self.ignoring.drop_fields_of_managers(want, live, &self.schema);
        let Some(label) = &self.instance_label else { return };
        let is_definition =
            want.group_kind().is("apiextensions.k8s.io", "CustomResourceDefinition");
        if is_definition || live.label(label).unwrap_or_default().is_empty() {
            return;
        }
        // One that another application left behind is a difference to be mended.
        let was_tracked_by_label =
            live.annotation(names::ANNOTATION_TRACKING_ID).unwrap_or_default().is_empty();
        if was_tracked_by_label && let Some(id) = want.annotation(names::ANNOTATION_TRACKING_ID) {
            live.set_annotation(names::ANNOTATION_TRACKING_ID, id);
        }
        if want.label(label).unwrap_or_default().is_empty() {
            remove(live.fields_mut(), &["metadata", "labels", label]);
        }
    }

    /// Is field ownership what tells whether git dropped a field? So it is where
    /// the next apply goes by it, and where the last one did and left no other
    /// trace.
    fn is_server_side(&self, want: &Object, live: &Object) -> bool {
        let asked =
            self.applies_server_side && !marks::has_sync_option(want, "ServerSideApply=false");
        let was_applied = || {
            live.list(&["metadata", "managedFields"]).iter().any(|entry| {
                entry["manager"] == self.manager.as_str() && entry["operation"] == "Apply"
            })
        };
        asked
            || self.asks_server.is_some()
            || marks::has_sync_option(want, "ServerSideApply=true")
            || (live.annotation(three_way::LAST_APPLIED).is_none() && was_applied())
    }

    /// One side as it is compared.
    fn normalised(&self, object: &Object) -> Object {
        let mut object = normalise::normalised(object, self.ignores_aggregated_roles);
        self.read_known_types(&mut object);
        self.ignoring.drop_ignored(&mut object);
        object
    }

    fn read_known_types(&self, object: &mut Object) {
        let kind = object.group_kind();
        for known in self.known_types.iter().filter(|it| it.kind == kind) {
            let path: Vec<&str> = known.field.split('.').collect();
            normalise::read_as(object.fields_mut(), &path, &known.type_name);
        }
    }
}

/// Removes the field at `path`, if it is there.
fn remove(fields: &mut Map<String, Value>, path: &[&str]) -> Option<Value> {
    let (last, parents) = path.split_last()?;
    let mut fields = fields;
    for parent in parents {
        fields = fields.get_mut(*parent)?.as_object_mut()?;
    }
    fields.remove(*last)
}

fn walk(
    path: &mut String,
    want: Option<&Value>,
    live: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (want, live) {
        // Nearly everything is; a path is only made where it leads somewhere.
        (want, live) if want == live => {}
        (Some(Value::Object(want)), Some(Value::Object(live))) => {
            let mut names: Vec<&String> = want.keys().chain(live.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let step = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
                below(path, &step, |path| walk(path, want.get(name), live.get(name), found));
            }
        }
        (Some(Value::Array(want)), Some(Value::Array(live))) if want.len() == live.len() => {
            for (index, (want, live)) in want.iter().zip(live).enumerate() {
                below(path, &format!("/{index}"), |path| {
                    walk(path, Some(want), Some(live), found);
                });
            }
        }
        (want, live) => {
            found.push(Difference { path: path.clone(), want: want.cloned(), live: live.cloned() });
        }
    }
}

fn below(path: &mut String, step: &str, act: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(step);
    act(path);
    path.truncate(length);
}

#[cfg(test)]
mod tests;
