//! Kinds that are not worth watching.
//!
//! Some change all the time and belong to nobody (events, leases), some are
//! made by other programs for themselves. The rules are those of Argo CD's
//! `resource.exclusions` and `resource.inclusions`.

use object::GroupKind;

/// One rule: these kinds of these groups. `*` matches any text, an empty list anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindRule {
    /// Patterns for API groups.
    pub groups: Vec<String>,
    /// Patterns for kinds.
    pub kinds: Vec<String>,
}

/// Which kinds to leave out. An exclusion wins over an inclusion; where there are inclusions, nothing else is in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclusions {
    /// Kinds to leave out.
    pub exclude: Vec<KindRule>,
    /// If not empty, the only kinds to take in.
    pub include: Vec<KindRule>,
}

/// Never watched, whatever the settings say.
const ALWAYS: [(&str, &str); 4] = [
    ("events.k8s.io", "*"),
    ("metrics.k8s.io", "*"),
    ("", "Event"),
    ("coordination.k8s.io", "Lease"),
];

/// What Argo CD's own argocd-cm excludes.
const SHIPPED: [(&[&str], &[&str]); 6] = [
    (&["", "discovery.k8s.io"], &["Endpoints", "EndpointSlice"]),
    (
        &["authentication.k8s.io", "authorization.k8s.io"],
        &[
            "SelfSubjectReview",
            "TokenReview",
            "LocalSubjectAccessReview",
            "SelfSubjectAccessReview",
            "SelfSubjectRulesReview",
            "SubjectAccessReview",
        ],
    ),
    (&["certificates.k8s.io"], &["CertificateSigningRequest"]),
    (&["cert-manager.io"], &["CertificateRequest"]),
    (&["cilium.io"], &["CiliumIdentity", "CiliumEndpoint", "CiliumEndpointSlice"]),
    (
        &["kyverno.io", "reports.kyverno.io", "wgpolicyk8s.io"],
        &[
            "PolicyReport",
            "ClusterPolicyReport",
            "EphemeralReport",
            "ClusterEphemeralReport",
            "AdmissionReport",
            "ClusterAdmissionReport",
            "BackgroundScanReport",
            "ClusterBackgroundScanReport",
            "UpdateRequest",
        ],
    ),
];

impl Exclusions {
    /// What a fresh installation of Argo CD leaves out.
    #[must_use]
    pub fn as_shipped() -> Self {
        let exclude = SHIPPED.iter().map(|(groups, kinds)| KindRule {
            groups: groups.iter().map(|it| (*it).to_owned()).collect(),
            kinds: kinds.iter().map(|it| (*it).to_owned()).collect(),
        });
        Self { exclude: exclude.collect(), include: Vec::new() }
    }

    /// Is this kind left out?
    #[must_use]
    pub fn excludes(&self, kind: &GroupKind) -> bool {
        let always = ALWAYS
            .iter()
            .any(|(group, name)| matches(group, &kind.group) && matches(name, &kind.kind));
        let included = self.include.is_empty() || self.include.iter().any(|it| it.applies(kind));
        always || !included || self.exclude.iter().any(|it| it.applies(kind))
    }
}

impl KindRule {
    fn applies(&self, kind: &GroupKind) -> bool {
        let any = |patterns: &[String], text: &str| {
            patterns.is_empty() || patterns.iter().any(|it| matches(it, text))
        };
        any(&self.groups, &kind.group) && any(&self.kinds, &kind.kind)
    }
}

/// `*` stands for any text, everything else for itself.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut left) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    left.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(exclusions: &Exclusions, group: &str, kind: &str, expect: bool) {
        assert_eq!(exclusions.excludes(&GroupKind::new(group, kind)), expect, "{group}/{kind}");
    }

    #[test]
    fn events_and_leases_are_never_watched() {
        for (group, kind) in
            [("", "Event"), ("events.k8s.io", "Event"), ("coordination.k8s.io", "Lease")]
        {
            check(&Exclusions::default(), group, kind, true);
        }
        check(&Exclusions::default(), "", "Endpoints", false);
    }

    #[test]
    fn a_fresh_installation_leaves_out_what_the_control_plane_makes_for_itself() {
        let shipped = Exclusions::as_shipped();
        check(&shipped, "", "Endpoints", true);
        check(&shipped, "discovery.k8s.io", "EndpointSlice", true);
        check(&shipped, "certificates.k8s.io", "CertificateSigningRequest", true);
        check(&shipped, "", "Pod", false);
        check(&shipped, "cert-manager.io", "Certificate", false);
    }

    #[test]
    fn an_exclusion_wins_over_an_inclusion_and_an_inclusion_over_silence() {
        let rule = |group: &str, kind: &str| KindRule {
            groups: vec![group.to_owned()],
            kinds: vec![kind.to_owned()],
        };
        let rules =
            Exclusions { include: vec![rule("*.io", "*")], exclude: vec![rule("a.io", "B*d")] };
        check(&rules, "x.io", "Anything", false);
        check(&rules, "apps", "Deployment", true);
        check(&rules, "a.io", "Bad", true);
        check(&rules, "a.io", "Bud", true);
        check(&rules, "a.io", "Bat", false);
    }
}
