//! The decision record as text, for people.

use std::fmt;

use serde_json::Value;

use super::{Change, Effect, Explanation, Reason, Where, Why};

/// Longer values are cut.
const WIDEST: usize = 80;

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commit = if self.revisions.is_empty() {
            "no commit".to_owned()
        } else {
            self.revisions.join(", ")
        };
        writeln!(f, "{}: {} at {commit}", self.application, self.sync_status)?;
        let since = self.health_since.map(|it| format!(" since {it}")).unwrap_or_default();
        writeln!(f, "Health: {}{since}", or_unknown(&self.health))?;
        if let Some(last) = &self.last_operation {
            let who = if last.asked_by.is_empty() { "auto-sync" } else { &last.asked_by };
            let ended = last.finished_at.map(|it| format!(" at {it}")).unwrap_or_default();
            writeln!(f, "Last operation: {}{ended}, by {who}: {}", last.phase, last.message)?;
        }
        for told in &self.findings {
            writeln!(f, "{}: {}", told.concern, told.message)?;
        }
        writeln!(
            f,
            "\nWhy: {} of {} objects are not as git wants them",
            self.out_of_sync, self.objects
        )?;
        for reason in &self.reasons {
            write_reason(f, reason)?;
        }
        writeln!(f, "\nBy itself it {}: {}", self.auto_sync.does, self.auto_sync.because)?;
        if let Some(at) = self.auto_sync.again_at {
            writeln!(f, "  not before {at}")?;
        }
        write_sync(f, &self.sync, self.unchanged)
    }
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "Unknown" } else { text }
}

fn write_reason(f: &mut fmt::Formatter<'_>, reason: &Reason) -> fmt::Result {
    let last = reason.last_change.as_ref().map(|it| format!("; last written {}", by(it)));
    let last = last.unwrap_or_default();
    let object = &reason.object;
    match &reason.why {
        Why::Missing => writeln!(f, "  {object}: git wants it, the cluster lacks it"),
        Why::Unknown => writeln!(f, "  {object}: what git wants is not known"),
        Why::Extra { created_at, ignored } => {
            let since = created_at.as_ref().map(|it| format!(", created {it}")).unwrap_or_default();
            let ignored = if *ignored { ", which it says is fine" } else { "" };
            writeln!(f, "  {object}: git no longer holds it{ignored}{since}{last}")
        }
        Why::Differs { count, differences } => {
            writeln!(f, "  {object}: differs in {count} places{last}")?;
            for place in differences {
                write_place(f, place)?;
            }
            match count.saturating_sub(differences.len()) {
                0 => Ok(()),
                more => writeln!(f, "    and {more} more"),
            }
        }
    }
}

fn write_place(f: &mut fmt::Formatter<'_>, place: &Where) -> fmt::Result {
    let (want, live) = (short(place.want.as_ref()), short(place.live.as_ref()));
    writeln!(f, "    {}: git has {want}, the cluster has {live}", place.path)?;
    for change in &place.set_by {
        writeln!(f, "      set {}", by(change))?;
    }
    Ok(())
}

fn by(change: &Change) -> String {
    let Change { manager, operation, subresource, at } = change;
    let part = if subresource.is_empty() { String::new() } else { format!(" of {subresource}") };
    let at = at.map(|it| format!(" at {it}")).unwrap_or_default();
    format!("by {manager} ({operation}{part}){at}")
}

fn short(value: Option<&Value>) -> String {
    let Some(value) = value else { return "nothing".into() };
    let text = value.to_string();
    match text.char_indices().nth(WIDEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn write_sync(f: &mut fmt::Formatter<'_>, sync: &[Effect], unchanged: usize) -> fmt::Result {
    if sync.is_empty() {
        return writeln!(f, "\nA sync would change nothing ({unchanged} objects stay as they are)");
    }
    writeln!(f, "\nA sync would, beside {unchanged} objects that stay as they are:")?;
    for Effect { phase, wave, object, action } in sync {
        writeln!(f, "  {phase}, wave {wave}: {object}: {action}")?;
    }
    Ok(())
}
