//! Decides what a sync should do, and does none of it.
//!
//! Every function here depends on its arguments alone: no network, no files, no
//! clock, no log. The controller, the API and the tests therefore share one
//! answer to "what would change?" and "what now?".
//!
//! Read in this order: [`pair`], [`compare`], [`decide`], [`plan`], [`step`],
//! [`status`].

#![warn(missing_docs)]

pub mod cascade;
pub mod compare;
pub mod decide;
pub mod diff;
pub mod explain;
pub mod finding;
pub mod health;
pub mod marks;
pub mod operation;
mod order;
pub mod pair;
pub mod plan;
pub mod project;
pub mod shards;
pub mod status;
pub mod step;
pub mod tree;
pub mod update;
pub mod windows;
pub mod writing;

pub use cascade::CascadeStep;
pub use compare::{
    Answers, Compared, Comparison, Facts, Rules, Scope, Unserved, Verdict, compare, defined_scopes,
    observe, questions, read_otherwise, wanted_keys,
};
pub use decide::{Decision, HealBackoff, Hold, decide, tried_before};
pub use diff::{CompareSettings, Comparing, KnownType, Sides};
pub use explain::{Evidence, Explanation, explain};
pub use finding::{Concern, Finding};
pub use health::{Health, HealthCode, HealthRules, health};
pub use marks::{Phase, TrackedBy};
pub use pair::Pair;
pub use plan::{Action, HookRun, Plan, Task, TaskId, plan};
pub use status::{Established, status};
pub use step::{Advice, Look, Move, Outcome, Progress, Step, saved_before, step, terminate};
pub use writing::{Consent, NamespaceWish, Propagation, SyncOptions, Way, Writing};
