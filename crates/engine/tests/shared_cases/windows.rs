//! `sync-windows.tsv`.

use api::SyncWindow;
use engine::windows::{Blocked, Target, Trigger, WindowError, Windows, is_open, validate};
use jiff::Timestamp;
use serde_json::Value;
use testkit::cases;

/// The answers count with the zones' offsets on the day they were recorded.
const RECORDED: &str = "2026-11-15T21:00:00Z";

#[test]
fn sync_windows() {
    let Some(table) = cases::read("sync-windows.tsv") else { return };
    let mut failures = Vec::new();
    let mut passed = 0;
    for row in cases::rows(&table) {
        let (expect, error) = (row[5].as_str(), row[6].as_str());
        let found = answer(&row);
        let as_expected = match &found {
            Ok(answer) => error.is_empty() && answer == expect,
            // Behind the colon Go names its own library; our reason is our own.
            Err(message) => error == message || error.starts_with(&format!("{message}: ")),
        };
        if as_expected {
            passed += 1;
        } else {
            failures.push(format!("{row:?}\n  found {found:?}"));
        }
    }
    cases::report("sync-windows", passed, &failures);
}

fn answer(row: &[String]) -> Result<String, String> {
    let windows: Vec<SyncWindow> = serde_json::from_str(&row[1]).expect("a list of windows");
    let recorded: Timestamp = RECORDED.parse().expect("a time");
    let at = || row[2].parse::<Timestamp>().expect("a time");
    let trigger = if row[3] == "true" { Trigger::Manual } else { Trigger::Automatic };
    let application: Value = serde_json::from_str(&row[4]).unwrap_or_default();
    let text = |field: &str| application[field].as_str().unwrap_or_default();
    let all = Windows::all(&windows);
    match row[0].as_str() {
        "validate" => windows.iter().try_for_each(validate).map(|()| "valid".to_owned()),
        "window-active" => is_open(&windows[0], at(), recorded).map(|open| open.to_string()),
        "active-windows" => count(&windows, |window| is_open(window, at(), recorded)),
        "inactive-allows" => {
            count(
                &windows,
                |window| Ok(window.kind == "allow" && !is_open(window, at(), recorded)?),
            )
        }
        "can-sync" => verdict(all.can_sync(trigger, at())),
        "can-sync-started" => {
            let started = text("operationStarted").parse().expect("a time");
            verdict(all.can_continue(trigger, started, at()))
        }
        "matches" => {
            let target = Target {
                application: text("name"),
                server: text("server"),
                cluster_name: text("cluster"),
                namespace: text("namespace"),
            };
            Ok(Windows::applying_to(&windows, &target).as_slice().len().to_string())
        }
        other => panic!("unknown op {other}"),
    }
    .map_err(|error| error.to_string())
}

fn count(
    windows: &[SyncWindow],
    is_counted: impl Fn(&SyncWindow) -> Result<bool, WindowError>,
) -> Result<String, WindowError> {
    let answers = windows.iter().map(is_counted).collect::<Result<Vec<_>, _>>()?;
    Ok(answers.into_iter().filter(|answer| *answer).count().to_string())
}

fn verdict(verdict: Result<(), Blocked<'_>>) -> Result<String, WindowError> {
    match verdict {
        Ok(()) => Ok("true".to_owned()),
        Err(Blocked::Unreadable(error)) => Err(error),
        Err(_) => Ok("false".to_owned()),
    }
}
