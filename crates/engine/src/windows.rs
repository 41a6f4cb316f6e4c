//! Sync windows: when a project lets its applications sync, and why not now.
//!
//! Start at [`Windows::applying_to`], then ask [`Windows::can_sync`] before a
//! sync and [`Windows::can_continue`] while one runs. [`validate`] is asked
//! when somebody writes a window.

use std::fmt;

use api::{Application, SyncWindow};
use gocompat::cron::{Schedule, ScheduleError, time_zone};
use gocompat::duration::{Duration, DurationError};
use gocompat::glob;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// The windows that concern one application.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows<'w>(Vec<&'w SyncWindow>);

/// What a window can be meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The application's name.
    pub application: &'a str,
    /// The destination cluster's URL, as the application writes it.
    pub server: &'a str,
    /// The destination cluster's name, as the application writes it.
    pub cluster_name: &'a str,
    /// The destination namespace.
    pub namespace: &'a str,
}

impl<'a> From<&'a Application> for Target<'a> {
    fn from(application: &'a Application) -> Self {
        let destination = &application.spec.destination;
        Self {
            application: &application.metadata.name,
            server: &destination.server,
            cluster_name: &destination.name,
            namespace: &destination.namespace,
        }
    }
}

/// Who wants to sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Auto-sync and self-heal.
    Automatic,
    /// A user.
    Manual,
}

/// Why there is no sync now.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Blocked<'w> {
    /// These windows deny syncs and are open.
    #[error("blocked by sync window: {}", Listed(.0, "is open"))]
    Denied(Vec<&'w SyncWindow>),
    /// Syncs are allowed in these windows only, and none is open.
    #[error("blocked by sync window: {}", Listed(.0, "is not open"))]
    NotAllowedYet(Vec<&'w SyncWindow>),
    /// A window cannot be read, so nobody knows what it would say.
    #[error("invalid sync windows")]
    Unreadable(#[source] WindowError),
}

impl Blocked<'_> {
    /// May a sync that began in time go on nevertheless? All must agree.
    fn allows_overrun(&self) -> bool {
        match self {
            Self::Denied(windows) | Self::NotAllowedYet(windows) => {
                windows.iter().all(|window| window.sync_overrun)
            }
            Self::Unreadable(_) => false,
        }
    }
}

/// What is wrong with a window.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WindowError {
    /// Neither allows nor denies.
    #[error("kind '{0}' mismatch: can only be allow or deny")]
    Kind(String),
    /// Opens at no time we can read.
    #[error("cannot parse schedule '{schedule}'")]
    Schedule {
        /// As written.
        schedule: String,
        /// What is wrong with it.
        source: ScheduleError,
    },
    /// Stays open for no time we can read.
    #[error("cannot parse duration '{duration}'")]
    Duration {
        /// As written.
        duration: String,
        /// What is wrong with it.
        source: DurationError,
    },
    /// Somebody wrote a book.
    #[error("description must not exceed 255 characters")]
    DescriptionTooLong,
}

const MAX_DESCRIPTION_BYTES: usize = 255;

impl<'w> Windows<'w> {
    /// Those of a project's windows that are meant for the application.
    #[must_use]
    pub fn applying_to(windows: &'w [SyncWindow], target: &Target<'_>) -> Self {
        Self(windows.iter().filter(|window| applies(window, target)).collect())
    }

    /// All of them, whoever they are meant for.
    #[must_use]
    pub fn all(windows: &'w [SyncWindow]) -> Self {
        Self(windows.iter().collect())
    }

    /// The windows.
    #[must_use]
    pub fn as_slice(&self) -> &[&'w SyncWindow] {
        &self.0
    }

    /// May a sync start at `now`?
    ///
    /// # Errors
    /// With the windows that say no, or the one that cannot be read.
    pub fn can_sync(&self, trigger: Trigger, now: Timestamp) -> Result<(), Blocked<'w>> {
        self.judge(trigger, now, now)
    }

    /// May the sync that started at `started` go on at `now`?
    ///
    /// # Errors
    /// As [`Self::can_sync`], unless the windows allow overrun and let it start.
    pub fn can_continue(
        &self,
        trigger: Trigger,
        started: Timestamp,
        now: Timestamp,
    ) -> Result<(), Blocked<'w>> {
        self.judge(trigger, now, now).or_else(|blocked| {
            let may_overrun = blocked.allows_overrun() && self.judge(trigger, started, now).is_ok();
            if may_overrun { Ok(()) } else { Err(blocked) }
        })
    }

    /// When the answer may be another one: the first time after `now` at which a
    /// window opens or shuts, or its time zone changes its offset. None if never,
    /// or if no window can be read.
    #[must_use]
    pub fn changes_at(&self, now: Timestamp) -> Option<Timestamp> {
        self.0.iter().filter_map(|window| changes_at(window, now)).min()
    }

    /// An open deny window goes before everything; then one open allow window is
    /// enough; then allow windows that are all shut mean no.
    fn judge(&self, trigger: Trigger, at: Timestamp, now: Timestamp) -> Result<(), Blocked<'w>> {
        let mut open_denies = Vec::new();
        let mut shut_allows = Vec::new();
        let mut has_open_allow = false;
        for window in &self.0 {
            let open = is_open(window, at, now).map_err(Blocked::Unreadable)?;
            match (window.kind.as_str(), open) {
                ("deny", true) => open_denies.push(*window),
                ("allow", true) => has_open_allow = true,
                ("allow", false) => shut_allows.push(*window),
                _ => {}
            }
        }
        if !open_denies.is_empty() {
            return if lets_through(&open_denies, trigger) {
                Ok(())
            } else {
                Err(Blocked::Denied(open_denies))
            };
        }
        if has_open_allow || shut_allows.is_empty() || lets_through(&shut_allows, trigger) {
            return Ok(());
        }
        Err(Blocked::NotAllowedYet(shut_allows))
    }
}

fn lets_through(windows: &[&SyncWindow], trigger: Trigger) -> bool {
    trigger == Trigger::Manual && windows.iter().all(|window| window.manual_sync)
}

/// Is the window open at `at`? Its hours are those of its time zone with the
/// offset from UTC that holds there at `now`, also when `at` is in another
/// season: that is how Argo CD counts.
///
/// # Errors
/// For a schedule or duration that cannot be read.
pub fn is_open(window: &SyncWindow, at: Timestamp, now: Timestamp) -> Result<bool, WindowError> {
    let hours = Hours::of(window, now)?;
    let Some((local, earliest)) = hours.local(at) else {
        return Ok(false); // before or after the calendar
    };
    // A schedule that never comes, such as 30 February, counts as open for ever;
    // a deny window with a typo thus errs on the side of denying. As in Argo CD,
    // pinned by `a_day_that_never_comes_is_always_open`.
    Ok(hours.next_start(earliest).is_none_or(|start| start < local))
}

/// A window is open after its time, not at it.
const OPENS_AFTER: SignedDuration = SignedDuration::from_millis(1);

fn changes_at(window: &SyncWindow, now: Timestamp) -> Option<Timestamp> {
    let hours = Hours::of(window, now).ok()?;
    let (local, earliest) = hours.local(now)?;
    let turns = hours.next_start(earliest).and_then(|start| {
        let after = if start < local { hours.duration } else { OPENS_AFTER };
        start.checked_add(after.saturating_sub(hours.offset)).ok()
    });
    let moves = hours.zone.following(now).next().map(|it| it.timestamp());
    turns.into_iter().chain(moves).min()
}

/// When a window is open, on the clock of its time zone.
struct Hours {
    schedule: Schedule,
    duration: SignedDuration,
    zone: TimeZone,
    offset: SignedDuration,
}

impl Hours {
    fn of(window: &SyncWindow, now: Timestamp) -> Result<Self, WindowError> {
        let schedule = read_schedule(window)?;
        let duration = SignedDuration::from_nanos(read_duration(window)?.as_nanos());
        let zone = time_zone(&window.time_zone).unwrap_or(TimeZone::UTC);
        let offset = SignedDuration::from_secs(zone.to_offset(now).seconds().into());
        Ok(Self { schedule, duration, zone, offset })
    }

    /// The time there, and the earliest start of a window that is open at it; none
    /// before the beginning and after the end of the calendar.
    fn local(&self, at: Timestamp) -> Option<(Timestamp, Timestamp)> {
        let local = at.checked_add(self.offset).ok()?;
        let earliest = at.checked_add(self.offset.saturating_sub(self.duration)).ok()?;
        Some((local, earliest))
    }

    fn next_start(&self, after: Timestamp) -> Option<Timestamp> {
        self.schedule.next_after(after, &TimeZone::UTC)
    }
}

fn applies(window: &SyncWindow, target: &Target<'_>) -> bool {
    let matches =
        |list: &[String], text: &str| list.iter().any(|pattern| glob::matches(pattern, text, &[]));
    let named_and_matches = |text: &str| !text.is_empty() && matches(&window.clusters, text);
    let mut answers = [
        (&window.applications, matches(&window.applications, target.application)),
        (
            &window.clusters,
            named_and_matches(target.cluster_name) || named_and_matches(target.server),
        ),
        (&window.namespaces, matches(&window.namespaces, target.namespace)),
    ]
    .into_iter()
    .filter(|(list, _)| !list.is_empty())
    .map(|(_, answer)| answer)
    .peekable();
    if window.and_operator {
        answers.peek().is_some() && answers.all(|answer| answer)
    } else {
        answers.any(|answer| answer)
    }
}

/// Is the window well written?
///
/// # Errors
/// With the first thing that is wrong.
pub fn validate(window: &SyncWindow) -> Result<(), WindowError> {
    if !matches!(window.kind.as_str(), "allow" | "deny") {
        return Err(WindowError::Kind(window.kind.clone()));
    }
    read_schedule(window)?;
    read_duration(window)?;
    if window.description.len() > MAX_DESCRIPTION_BYTES {
        return Err(WindowError::DescriptionTooLong);
    }
    Ok(())
}

/// Does the window name a time zone that does not exist? It is then read as UTC,
/// of which its author should be told.
#[must_use]
pub fn has_unknown_time_zone(window: &SyncWindow) -> bool {
    time_zone(&window.time_zone).is_none()
}

/// Do two windows say the same about the same applications at the same times?
/// Then one of them is a mistake, however they differ in what they let through.
#[must_use]
pub fn is_duplicate(one: &SyncWindow, other: &SyncWindow) -> bool {
    let identity = |window: &SyncWindow| SyncWindow {
        manual_sync: false,
        description: String::new(),
        sync_overrun: false,
        ..window.clone()
    };
    identity(one) == identity(other)
}

fn read_schedule(window: &SyncWindow) -> Result<Schedule, WindowError> {
    Schedule::parse_fields(&window.schedule)
        .map_err(|source| WindowError::Schedule { schedule: window.schedule.clone(), source })
}

fn read_duration(window: &SyncWindow) -> Result<Duration, WindowError> {
    Duration::parse(&window.duration)
        .map_err(|source| WindowError::Duration { duration: window.duration.clone(), source })
}

/// `deny window '0 22 * * *' (1h) is open`, one after another.
struct Listed<'a>(&'a [&'a SyncWindow], &'static str);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, window) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let SyncWindow { kind, schedule, duration, time_zone, .. } = window;
            let zone = if time_zone.is_empty() { "UTC" } else { time_zone };
            write!(f, "{comma}{kind} window '{schedule}' ({duration}, {zone}) {}", self.1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(text: &str) -> SyncWindow {
        let mut words = text.split('|').map(str::trim);
        let mut next = || words.next().unwrap_or_default().to_owned();
        let (kind, schedule, duration, flags) = (next(), next(), next(), next());
        SyncWindow {
            kind,
            schedule,
            duration,
            applications: vec!["*".to_owned()],
            manual_sync: flags.contains("manual"),
            sync_overrun: flags.contains("overrun"),
            ..SyncWindow::default()
        }
    }

    fn time(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    const NOON: &str = "2025-03-10T12:00:00Z";

    #[track_caller]
    fn check(windows: &[&str], trigger: Trigger, expect: &str) {
        let windows: Vec<_> = windows.iter().map(|text| window(text)).collect();
        let verdict = Windows::all(&windows).can_sync(trigger, time(NOON));
        assert_eq!(verdict.map_or_else(|blocked| blocked.to_string(), |()| "yes".into()), expect);
    }

    #[track_caller]
    fn check_change(windows: &[&str], zone: &str, now: &str, expect: Option<&str>) {
        let mut windows: Vec<_> = windows.iter().map(|text| window(text)).collect();
        windows.iter_mut().for_each(|it| it.time_zone = zone.into());
        let windows = Windows::all(&windows);
        let change = windows.changes_at(time(now));
        assert_eq!(change, expect.map(time));
        let Some(change) = change else { return };
        let is_open = |at: Timestamp| {
            let open = |it: &&SyncWindow| is_open(it, at, at).expect("a readable window");
            windows.as_slice().iter().map(open).collect::<Vec<_>>()
        };
        let before = change - SignedDuration::from_millis(2);
        assert_eq!(is_open(time(now)), is_open(before), "nothing changes before");
        assert_ne!(is_open(change), is_open(before), "and then it does");
    }

    #[test]
    fn the_next_change_is_when_a_window_opens_or_shuts() {
        let daily = "deny | 0 11 * * * | 2h |";
        check_change(&[daily], "", NOON, Some("2025-03-10T13:00:00Z"));
        check_change(&[daily], "", "2025-03-10T13:00:00Z", Some("2025-03-11T11:00:00.001Z"));
        check_change(&[daily], "", "2025-03-10T11:00:00Z", Some("2025-03-10T11:00:00.001Z"));
        check_change(
            &[daily, "allow | 30 12 * * * | 1h |"],
            "",
            NOON,
            Some("2025-03-10T12:30:00.001Z"),
        );
        check_change(&[], "", NOON, None);
        check_change(&["deny | nonsense | 1h |"], "", NOON, None);
        check_change(&["deny | 0 0 30 2 * | 1h |"], "", NOON, None);
    }

    #[test]
    fn a_time_zone_that_changes_its_offset_may_open_a_window() {
        // At one o'clock UTC the clocks of Berlin go from two to three.
        let hour = "deny | 30 2 * * * | 1h |";
        check_change(
            &[hour],
            "Europe/Berlin",
            "2025-03-30T00:10:00Z",
            Some("2025-03-30T01:00:00Z"),
        );
    }

    #[test]
    fn without_windows_syncs_are_free() {
        check(&[], Trigger::Automatic, "yes");
    }

    #[test]
    fn an_open_deny_window_goes_before_an_open_allow_window() {
        check(
            &["allow|0 11 * * *|2h", "deny|30 11 * * *|1h"],
            Trigger::Manual,
            "blocked by sync window: deny window '30 11 * * *' (1h, UTC) is open",
        );
    }

    #[test]
    fn allow_windows_that_are_all_shut_block() {
        check(
            &["allow|0 20 * * *|1h"],
            Trigger::Automatic,
            "blocked by sync window: allow window '0 20 * * *' (1h, UTC) is not open",
        );
        check(&["allow|0 20 * * *|1h", "allow|0 11 * * *|2h"], Trigger::Automatic, "yes");
        check(&["deny|0 20 * * *|1h"], Trigger::Automatic, "yes");
    }

    #[test]
    fn a_user_passes_where_every_blocking_window_lets_users_through() {
        check(&["deny|0 11 * * *|2h|manual"], Trigger::Manual, "yes");
        check(
            &["deny|0 11 * * *|2h|manual", "deny|0 10 * * *|9h"],
            Trigger::Manual,
            "blocked by sync window: deny window '0 11 * * *' (2h, UTC) is open, \
             deny window '0 10 * * *' (9h, UTC) is open",
        );
        check(&["allow|0 20 * * *|1h|manual"], Trigger::Manual, "yes");
    }

    #[test]
    fn a_window_that_cannot_be_read_blocks() {
        check(&["allow|noon|2h"], Trigger::Manual, "invalid sync windows");
        check(&["allow|0 11 * * *|long"], Trigger::Automatic, "invalid sync windows");
    }

    #[test]
    fn a_day_that_never_comes_is_always_open() {
        check(
            &["deny|0 0 30 2 *|1m"],
            Trigger::Automatic,
            "blocked by sync window: deny window '0 0 30 2 *' (1m, UTC) is open",
        );
    }

    #[track_caller]
    fn check_continue(windows: &[&str], started: &str, expect: bool) {
        let windows: Vec<_> = windows.iter().map(|text| window(text)).collect();
        let windows = Windows::all(&windows);
        let verdict = windows.can_continue(Trigger::Automatic, time(started), time(NOON));
        assert_eq!(verdict.is_ok(), expect, "{verdict:?}");
    }

    #[test]
    fn a_sync_that_began_in_time_may_overrun_where_all_windows_agree() {
        let before = "2025-03-10T10:30:00Z";
        check_continue(&["deny|0 11 * * *|2h|overrun"], before, true);
        check_continue(&["deny|0 11 * * *|2h"], before, false);
        check_continue(&["allow|0 10 * * *|1h|overrun"], before, true);
        check_continue(&["allow|0 10 * * *|1h"], before, false);
        check_continue(&["allow|0 10 * * *|1h|overrun", "allow|0 3 * * *|1h"], before, false);
    }

    #[test]
    fn a_sync_that_began_when_it_was_forbidden_may_not_overrun() {
        check_continue(&["deny|0 11 * * *|2h|overrun"], "2025-03-10T11:30:00Z", false);
        check_continue(&["allow|0 10 * * *|1h|overrun"], "2025-03-10T09:30:00Z", false);
    }

    #[track_caller]
    fn check_open(zone: &str, at: &str, now: &str, expect: bool) {
        let mut window = window("allow|0 22 * * *|1h");
        window.time_zone = zone.to_owned();
        assert_eq!(is_open(&window, time(at), time(now)), Ok(expect));
    }

    #[test]
    fn hours_are_those_of_the_time_zone_with_the_offset_of_now() {
        let (winter, summer) = ("2025-01-15T21:30:00Z", "2025-07-15T20:30:00Z");
        check_open("Europe/Berlin", winter, winter, true);
        check_open("Europe/Berlin", summer, summer, true);
        check_open("Europe/Berlin", winter, summer, false);
        check_open("Nowhere/Land", "2025-01-15T22:30:00Z", winter, true);
    }

    #[test]
    fn a_window_opens_just_after_its_time_and_shuts_after_its_duration() {
        check_open("", "2025-01-15T22:00:00Z", NOON, false);
        check_open("", "2025-01-15T22:00:00.000000001Z", NOON, true);
        check_open("", "2025-01-15T22:59:59Z", NOON, true);
        check_open("", "2025-01-15T23:00:00Z", NOON, false);
    }

    #[track_caller]
    fn check_applies(lists: [&[&str]; 3], and_operator: bool, expect: bool) {
        let [applications, clusters, namespaces] =
            lists.map(|list| list.iter().map(|&text| text.to_owned()).collect());
        let window = SyncWindow {
            applications,
            clusters,
            namespaces,
            and_operator,
            ..SyncWindow::default()
        };
        let target = Target {
            application: "shop",
            server: "https://eu.example",
            cluster_name: "",
            namespace: "live",
        };
        let windows = [window];
        assert_eq!(!Windows::applying_to(&windows, &target).as_slice().is_empty(), expect);
    }

    #[test]
    fn a_window_is_for_whom_one_of_its_lists_names() {
        check_applies([&["other", "sh*"], &[], &[]], false, true);
        check_applies([&["other"], &["https://eu*"], &[]], false, true);
        check_applies([&["other"], &[], &["live"]], false, true);
        check_applies([&["other"], &[], &["test"]], false, false);
    }

    #[test]
    fn with_the_and_operator_every_list_that_is_there_must_name_it() {
        check_applies([&["shop"], &["https://eu*"], &["live"]], true, true);
        check_applies([&["shop"], &[], &["live"]], true, true);
        check_applies([&["shop"], &["https://us*"], &["live"]], true, false);
    }

    #[test]
    fn a_window_without_lists_is_for_nobody() {
        check_applies([&[], &[], &[]], false, false);
        check_applies([&[], &[], &[]], true, false);
    }

    #[test]
    fn a_cluster_without_a_name_is_not_matched_by_name() {
        let windows = [SyncWindow { clusters: vec!["*".into()], ..SyncWindow::default() }];
        let nowhere = Target { application: "a", server: "", cluster_name: "", namespace: "" };
        assert_eq!(Windows::applying_to(&windows, &nowhere).as_slice().len(), 0);
    }

    #[test]
    fn duplicates_are_found_whatever_they_let_through() {
        let one = window("deny|0 11 * * *|2h|manual");
        assert!(is_duplicate(&one, &window("deny|0 11 * * *|2h|overrun")));
        assert!(!is_duplicate(&one, &window("deny|0 11 * * *|3h|manual")));
    }
}
