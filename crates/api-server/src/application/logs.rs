//! Logs of the pods of an Application, as one stream in the order of time.

use std::collections::BTreeSet;

use ::cluster::{Client, LogOptions};
use api::{ApplicationTree, ResourceNode, ResourceRef, Time};
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt as _};
use jiff::Timestamp;
use rbac::{action, resource};
use wire::Status;
use wire::message::application::{ApplicationPodLogsQuery, LogEntry};

use super::{find, live};
use crate::methods::Call;

/// A line and what is known about it.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    pod: String,
    /// None where the line does not begin with one.
    at: Option<Timestamp>,
    text: String,
}

pub(crate) async fn pod_logs(
    call: Call,
    mut query: ApplicationPodLogsQuery,
) -> Result<BoxStream<'static, Result<LogEntry, Status>>, Status> {
    if let Some(pod) = query.pod_name.clone().filter(|it| !it.is_empty()) {
        query.kind = Some("Pod".into());
        query.resource_name = Some(pod);
    }
    let until = until(&query)?;
    let namespace = query.app_namespace.as_deref();
    let app = find(&call, &query.name, namespace, query.project.as_deref()).await?;
    call.require(resource::LOGS, action::GET, &call.object_of(&app))?;
    let tree = live::tree_of(&call, &app).await?;
    let destination = call.server.ports.control.destination_of(&app);
    let destination = destination.map_err(|why| {
        Status::unknown(format!("error getting application cluster config: {why}"))
    })?;
    let pods = selected_pods(&tree, &query);
    if pods.is_empty() {
        return Ok(stream::empty().boxed());
    }
    let limit = usize::try_from(call.server.settings.current().server.max_pod_logs);
    if pods.len() > limit.unwrap_or_default() {
        return Err(Status::invalid_argument(
            "max pods to view logs are reached. Please provide more granular query",
        ));
    }
    let mut streams = Vec::new();
    for pod in pods {
        streams.push(lines_of(destination.cluster.client(), &pod, &options(&query)).await);
    }
    let lines = if query.follow.unwrap_or(false) {
        stream::select_all(streams).boxed()
    } else {
        in_order(streams).boxed()
    };
    let filter = Filter::new(&query);
    let lines = lines.filter(move |line| futures::future::ready(filter.admits(&line.text)));
    Ok(until_the_end(lines, until).map(Ok).boxed())
}

fn until(query: &ApplicationPodLogsQuery) -> Result<Option<Timestamp>, Status> {
    match query.until_time.as_deref().unwrap_or_default() {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|error| {
            Status::unknown(format!("invalid untilTime parameter value: {error}"))
        }),
    }
}

fn options(query: &ApplicationPodLogsQuery) -> LogOptions {
    LogOptions {
        container: query.container.clone().unwrap_or_default(),
        follow: query.follow.unwrap_or(false),
        previous: query.previous.unwrap_or(false),
        since_seconds: query.since_seconds.filter(|it| *it > 0),
        since_time: query.since_time.and_then(|it| Some(it.timestamp()?.to_string())),
        tail_lines: query.tail_lines.filter(|it| *it > 0),
        timestamps: true,
    }
}

/// A pod that cannot be read says why in its own log: the user looks there.
async fn lines_of(
    client: &Client,
    pod: &ResourceRef,
    options: &LogOptions,
) -> BoxStream<'static, Line> {
    let name = pod.name.clone();
    match client.logs(&pod.namespace, &pod.name, options).await {
        Ok(lines) => lines
            .map(move |line| match line {
                Ok(line) => timed(&name, &line),
                Err(error) => Line { pod: name.clone(), at: None, text: error.in_one_line() },
            })
            .boxed(),
        Err(error) => {
            let text = match error.refusal() {
                Some(refusal) => refusal.message.clone(),
                None => error.in_one_line(),
            };
            stream::iter([Line { pod: name, at: None, text }]).boxed()
        }
    }
}

fn timed(pod: &str, line: &str) -> Line {
    let read = line.split_once(' ').unwrap_or((line, ""));
    let (at, text) = match read.0.parse() {
        Ok(at) => (Some(at), read.1),
        Err(_) => (None, line),
    };
    Line { pod: pod.to_owned(), at, text: text.to_owned() }
}

/// Joins streams that are in order into one that is.
fn in_order(streams: Vec<BoxStream<'static, Line>>) -> impl Stream<Item = Line> + Send + 'static {
    let heads: Vec<_> = streams.into_iter().map(|it| (it, None)).collect();
    stream::unfold(heads, |mut heads: Vec<(BoxStream<'static, Line>, Option<Line>)>| async {
        for (lines, head) in &mut heads {
            if head.is_none() {
                *head = lines.next().await;
            }
        }
        heads.retain(|(_, head)| head.is_some());
        let first = heads.iter_mut().min_by_key(|(_, head)| head.as_ref().and_then(|it| it.at))?;
        let line = first.1.take().expect("those without were dropped");
        Some((line, heads))
    })
}

/// Which lines are wanted: those with a text, or with `!` those without it.
struct Filter {
    text: String,
    inverse: bool,
    match_case: bool,
}

impl Filter {
    fn new(query: &ApplicationPodLogsQuery) -> Self {
        let given = query.filter.as_deref().unwrap_or_default();
        let match_case = query.match_case.unwrap_or(false);
        let (text, inverse) = match given.strip_prefix('!') {
            Some(text) => (text, true),
            None => (given, false),
        };
        let text = if match_case { text.to_owned() } else { text.to_lowercase() };
        Self { text, inverse, match_case }
    }

    fn admits(&self, line: &str) -> bool {
        if self.text.is_empty() && !self.inverse {
            return true;
        }
        let contains = if self.match_case {
            line.contains(&self.text)
        } else {
            line.to_lowercase().contains(&self.text)
        };
        contains != self.inverse
    }
}

/// The entries, up to a moment; the last says that it is.
fn until_the_end(
    lines: impl Stream<Item = Line> + Send + 'static,
    until: Option<Timestamp>,
) -> impl Stream<Item = LogEntry> + Send + 'static {
    let lines = lines.map(Some).chain(stream::iter([None]));
    lines
        .scan(false, move |ended, line| {
            let entry = match line {
                _ if *ended => None,
                None => Some(entry(None, Some(Timestamp::now()), true)),
                Some(line) => {
                    *ended = until.is_some_and(|until| line.at.is_some_and(|at| at > until));
                    let (at, last) = (line.at, *ended);
                    Some(entry(Some(line), at, last))
                }
            };
            futures::future::ready(entry)
        })
        .boxed()
}

fn entry(line: Option<Line>, at: Option<Timestamp>, last: bool) -> LogEntry {
    let (pod_name, content) = line.map(|it| (it.pod, it.text)).unwrap_or_default();
    LogEntry {
        content,
        time_stamp: at.map(Time::from).unwrap_or_default(),
        last,
        time_stamp_str: at.map_or_else(|| "0001-01-01T00:00:00Z".into(), |it| it.to_string()),
        pod_name,
    }
}

/// The pods that the query names, themselves or by something above them.
fn selected_pods(tree: &ApplicationTree, query: &ApplicationPodLogsQuery) -> Vec<ResourceRef> {
    let pods = tree.nodes.iter().filter(|node| {
        let it = &node.resource_ref;
        it.kind == "Pod" && it.group.is_empty() && !it.uid.is_empty()
    });
    let selected = pods.filter(|pod| is_below(tree, pod, query, &mut BTreeSet::new()));
    selected.map(|it| it.resource_ref.clone()).collect()
}

fn is_below<'t>(
    tree: &'t ApplicationTree,
    node: &'t ResourceNode,
    query: &ApplicationPodLogsQuery,
    seen: &mut BTreeSet<&'t str>,
) -> bool {
    let it = &node.resource_ref;
    // An unset field matches everything.
    let fits = |wanted: &Option<String>, value: &str| {
        wanted.as_deref().is_none_or(|it| it.is_empty() || it == value)
    };
    if fits(&query.resource_name, &it.name)
        && fits(&query.kind, &it.kind)
        && fits(&query.group, &it.group)
        && fits(&query.namespace, &it.namespace)
    {
        return true;
    }
    if !seen.insert(&it.uid) {
        return false;
    }
    node.parent_refs.iter().any(|parent| {
        let parents = tree.nodes.iter().filter(|node| {
            let it = &node.resource_ref;
            (&it.group, &it.kind, &it.namespace, &it.name)
                == (&parent.group, &parent.kind, &parent.namespace, &parent.name)
        });
        parents.into_iter().any(|node| is_below(tree, node, query, seen))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pod: &str, at: i64) -> Line {
        let at = Timestamp::from_second(at).expect("in range");
        Line { pod: pod.into(), at: Some(at), text: format!("{pod} at {at}") }
    }

    #[track_caller]
    fn check_filter(filter: &str, match_case: bool, admitted: &str, refused: &str) {
        let query = ApplicationPodLogsQuery {
            filter: Some(filter.into()),
            match_case: Some(match_case),
            ..ApplicationPodLogsQuery::default()
        };
        let filter = Filter::new(&query);
        assert!(filter.admits(admitted) && !filter.admits(refused));
    }

    #[test]
    fn a_filter_may_be_turned_round_and_mind_the_case() {
        check_filter("warn", false, "a WARNING", "fine");
        check_filter("warn", true, "warned", "WARNED");
        check_filter("!warn", false, "fine", "Warned");
    }

    #[tokio::test]
    async fn lines_of_several_pods_come_in_the_order_of_time() {
        let one = stream::iter([line("a", 1), line("a", 4)]).boxed();
        let other = stream::iter([line("b", 2), line("b", 3)]).boxed();
        let entries = until_the_end(in_order(vec![one, other]), None);
        let entries: Vec<LogEntry> = entries.collect().await;
        let pods: Vec<&str> = entries.iter().map(|it| it.pod_name.as_str()).collect();
        assert_eq!(pods, ["a", "b", "b", "a", ""]);
        assert_eq!(entries.iter().filter(|it| it.last).count(), 1);
        assert!(entries[4].last);
    }

    #[tokio::test]
    async fn the_first_line_past_the_end_is_the_last() {
        let lines = stream::iter([line("a", 1), line("a", 5), line("a", 6)]);
        let until = Timestamp::from_second(3).expect("in range");
        let entries: Vec<LogEntry> = until_the_end(lines, Some(until)).collect().await;
        assert_eq!(entries.iter().map(|it| it.last).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn a_line_without_a_time_is_shown_whole() {
        let read = timed("a", "2026-01-02T03:04:05.5Z said so");
        assert_eq!((read.text.as_str(), read.at.is_some()), ("said so", true));
        assert_eq!(timed("a", "unable to say").text, "unable to say");
    }

    #[test]
    fn a_pod_is_found_by_what_it_is_below() {
        let reference = |kind: &str, name: &str| ResourceRef {
            kind: kind.into(),
            name: name.into(),
            uid: name.into(),
            ..ResourceRef::default()
        };
        let node = |kind: &str, name: &str, parents: &[ResourceRef]| ResourceNode {
            resource_ref: reference(kind, name),
            parent_refs: parents.to_vec(),
            ..ResourceNode::default()
        };
        let (web, set) = (reference("Deployment", "web"), reference("ReplicaSet", "web-1"));
        let tree = ApplicationTree {
            nodes: vec![
                node("Deployment", "web", &[]),
                node("ReplicaSet", "web-1", &[web]),
                node("Pod", "web-1-a", &[set]),
                node("Pod", "other", &[]),
            ],
            ..ApplicationTree::default()
        };
        let query = ApplicationPodLogsQuery {
            kind: Some("Deployment".into()),
            resource_name: Some("web".into()),
            ..ApplicationPodLogsQuery::default()
        };
        let names = |query: &ApplicationPodLogsQuery| -> Vec<String> {
            selected_pods(&tree, query).into_iter().map(|it| it.name).collect()
        };
        assert_eq!(names(&query), ["web-1-a"]);
        assert_eq!(names(&ApplicationPodLogsQuery::default()), ["web-1-a", "other"]);
    }
}
