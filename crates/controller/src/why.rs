//! Gathers what the decision record of an Application rests on.
//!
//! The live store keeps only our own field sets; who changed what is asked of
//! the API server, object by object, when somebody wants to know.

use std::collections::BTreeMap;

use api::{Application, Operation, OperationState, SyncOperation};
use engine::{Comparison, Decision, Evidence, Explanation, Plan, explain, plan};
use futures::stream::{self, StreamExt as _};
use jiff::Timestamp;
use object::{Object, ResourceKey};

use crate::Controller;
use crate::level::Level;
use crate::look::{At, Seen, look};
use crate::terms;
use crate::tried;

/// So many objects that differ are asked about; beyond that nobody is told who
/// changed them.
const MOST_ASKED: usize = 200;
const AT_ONCE: usize = 8;

impl Controller {
    /// Why an Application says what it says, who changed what, and what a sync would do.
    /// Writes nothing.
    pub async fn explain(&self, app: &Application) -> Explanation {
        let seen = look(self, app, &At::compared(app, Level::Live)).await;
        let now = self.now();
        let comparison = seen.comparison.as_ref();
        let (decision, _) = tried::decision(self, app, &seen, now).await;
        let whole = whole(&seen).await;
        let plan = comparison.map(|it| would_do(app, it, &decision, &seen, now));
        explain(Evidence {
            app,
            revisions: &seen.revisions,
            comparison,
            comparing: &seen.comparing,
            findings: &seen.findings,
            whole: &whole,
            masked_annotations: &seen.settings.masked_annotations,
            decision: &decision,
            window: seen.permit.as_ref().and_then(|it| it.holds_back(app, now)).as_deref(),
            plan: plan.as_ref(),
            now,
        })
    }
}

/// The sync that auto-sync would begin, or the one that a user would get by asking.
fn would_do(
    app: &Application,
    comparison: &Comparison,
    decision: &Decision,
    seen: &Seen,
    now: Timestamp,
) -> Plan {
    let by_hand = || Operation { sync: Some(SyncOperation::default()), ..Operation::default() };
    let operation = decision.operation(app, &seen.revisions).unwrap_or_else(by_hand);
    let state = OperationState { operation, started_at: now.into(), ..OperationState::default() };
    plan(comparison, &terms::options(app, &state, seen, now))
}

/// The objects that differ, with everybody's field sets.
async fn whole(seen: &Seen) -> BTreeMap<ResourceKey, Object> {
    let (Some(cluster), Some(comparison)) = (&seen.cluster, &seen.comparison) else {
        return BTreeMap::new();
    };
    let off = comparison.items.iter().filter(|(_, it)| it.is_out_of_sync());
    let live = off.filter_map(|(key, it)| {
        Some((cluster.clone(), key.clone(), it.pair.live()?.group_version_kind()))
    });
    let live: Vec<_> = live.take(MOST_ASKED).collect();
    let asked = stream::iter(live).map(|(cluster, key, kind)| async move {
        let found = cluster.get(&kind, &key.namespace, &key.name).await;
        // Who may not read it, or finds it gone, is not told who changed it.
        Some((key, found.ok()??))
    });
    asked.buffer_unordered(AT_ONCE).filter_map(|it| async { it }).collect().await
}
