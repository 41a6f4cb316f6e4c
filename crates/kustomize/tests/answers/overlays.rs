//! Overlays made at random: a base, perhaps a component, an overlay, and in
//! each of them some of the fields that a kustomization may have.
//!
//! Resources are called `r0`, `r1` and so on. The first few are always of the
//! same kinds ([`cast`]), so that references, patches and replacements meet
//! their targets. Values are such as YAML readers disagree about.

use proptest::prelude::*;
use proptest::sample::select;

/// Paths and contents of a tree; `overlay` is what to build.
pub(crate) type Tree = Vec<(String, Vec<u8>)>;

/// What resources refer to.
const NAMES: &[&str] = &["r0", "r1", "r2", "r3", "r4", "r5", "r6", "g0", "g1"];
/// Stands in a resource for the name it will have.
const OWN_NAME: &str = "OWN-NAME";
/// Scalars, as written.
const SCALARS: &[&str] = &[
    "plain",
    "'1'",
    "1",
    "0755",
    "1e3",
    "1.50",
    "yes",
    "'yes'",
    "no",
    "on",
    "true",
    "'true'",
    "~",
    "null",
    "\"null\"",
    "''",
    "'a: b'",
    "\"tab\\tand\\nline\"",
    "2024-01-02",
    "0x1F",
    "'#hash'",
    "1_000",
    ".5",
    "é",
    "'  lead'",
    "12:30",
    "'{a}'",
    "!!str 5",
    "'-'",
    "y",
    "\"\\u2028\"",
];
const KINDS: &[&str] = &["Deployment", "Service", "ConfigMap", "StatefulSet", "Widget"];
const IMAGES: &[&str] = &["nginx", "registry.example.com:5000/team/app", "redis"];

fn name() -> impl Strategy<Value = &'static str> {
    select(NAMES)
}

fn scalar() -> impl Strategy<Value = &'static str> {
    select(SCALARS)
}

/// A text, or nothing.
fn perhaps(strategy: impl Strategy<Value = String> + 'static) -> BoxedStrategy<String> {
    prop_oneof![3 => Just(String::new()), 2 => strategy].boxed()
}

fn image() -> impl Strategy<Value = String> {
    let tag = select(&["", ":1.0", ":v2", "@sha256:0123456789abcdef", ":1@sha256:00ff"][..]);
    (select(IMAGES), tag).prop_map(|(name, tag)| format!("{name}{tag}"))
}

/// Labels in one line.
fn labels() -> impl Strategy<Value = String> {
    let pair = (select(&["app", "tier", "env"][..]), select(&["web", "'1'", "a-b", "\"x y\""][..]));
    prop::collection::btree_map(pair.0, pair.1, 1..3).prop_map(|pairs| {
        let pairs: Vec<String> = pairs.iter().map(|(key, it)| format!("{key}: {it}")).collect();
        format!("{{{}}}", pairs.join(", "))
    })
}

fn metadata(namespace: &str, labels: &str) -> String {
    let mut text = format!("metadata:\n  name: {OWN_NAME}\n");
    if !namespace.is_empty() {
        text.push_str(&format!("  namespace: {namespace}\n"));
    }
    if !labels.is_empty() {
        text.push_str(&format!("  labels: {labels}\n"));
    }
    text
}

fn namespace() -> BoxedStrategy<String> {
    perhaps(select(&["shop", "default", "other"][..]).prop_map(str::to_owned))
}

/// A pod's part of a workload.
fn pod(indent: usize) -> impl Strategy<Value = String> {
    let environment = prop_oneof![
        (name(), scalar()).prop_map(|(name, value)| format!("{{name: {name}, value: {value}}}")),
        name().prop_map(|name| format!(
            "{{name: K, valueFrom: {{configMapKeyRef: {{name: {name}, key: a}}}}}}"
        )),
        name().prop_map(|name| format!(
            "{{name: S, valueFrom: {{secretKeyRef: {{name: {name}, key: a}}}}}}"
        )),
    ];
    let volume = prop_oneof![
        name().prop_map(|name| format!("{{name: v, configMap: {{name: {name}}}}}")),
        name().prop_map(|name| format!("{{name: s, secret: {{secretName: {name}}}}}")),
        Just("{name: e, emptyDir: {}}".to_owned()),
        name()
            .prop_map(|name| format!("{{name: p, persistentVolumeClaim: {{claimName: {name}}}}}")),
    ];
    let ports = select(
        &[
            "",
            "[{containerPort: 80}]",
            "[{containerPort: 80, protocol: TCP}, {name: x, containerPort: 81}]",
        ][..],
    );
    (
        image(),
        prop::collection::vec(environment, 0..3),
        prop::collection::vec(volume, 0..2),
        ports,
        perhaps(name().prop_map(str::to_owned)),
        perhaps(image()),
    )
        .prop_map(move |(image, environment, volumes, ports, account, init)| {
            let pad = " ".repeat(indent);
            let mut text = format!("{pad}containers:\n{pad}- name: main\n{pad}  image: {image}\n");
            if !environment.is_empty() {
                text.push_str(&format!("{pad}  env: [{}]\n", environment.join(", ")));
            }
            if !ports.is_empty() {
                text.push_str(&format!("{pad}  ports: {ports}\n"));
            }
            if !volumes.is_empty() {
                text.push_str(&format!("{pad}volumes: [{}]\n", volumes.join(", ")));
            }
            if !account.is_empty() {
                text.push_str(&format!("{pad}serviceAccountName: {account}\n"));
            }
            if !init.is_empty() {
                text.push_str(&format!("{pad}initContainers: [{{name: i, image: '{init}'}}]\n"));
            }
            text
        })
}

fn workload(kinds: &'static [&'static str]) -> impl Strategy<Value = String> {
    (select(kinds), namespace(), perhaps(labels()), labels(), pod(6), name()).prop_map(
        |(kind, namespace, labels, selector, pod, name)| {
            let replicas = if kind == "DaemonSet" { "" } else { "  replicas: 1\n" };
            let service =
                if kind == "StatefulSet" { format!("  serviceName: {name}\n") } else { String::new() };
            format!(
                "apiVersion: apps/v1\nkind: {kind}\n{}spec:\n{replicas}{service}  selector:\n    \
                 matchLabels: {selector}\n  template:\n    metadata:\n      labels: {selector}\n    \
                 spec:\n{pod}",
                metadata(&namespace, &labels)
            )
        },
    )
}

fn job() -> impl Strategy<Value = String> {
    (namespace(), pod(10), any::<bool>()).prop_map(|(namespace, pod, is_cron)| {
        let head = metadata(&namespace, "");
        if is_cron {
            format!(
                "apiVersion: batch/v1\nkind: CronJob\n{head}spec:\n  schedule: '* * * * *'\n  \
                 jobTemplate:\n    spec:\n      template:\n        spec:\n{pod}"
            )
        } else {
            format!(
                "apiVersion: batch/v1\nkind: Job\n{head}spec:\n  template:\n        spec:\n{pod}"
            )
        }
    })
}

fn data() -> impl Strategy<Value = String> {
    let more = prop::collection::btree_map(select(&["b.txt", "'1'", "c_d"][..]), scalar(), 0..3);
    (scalar(), more).prop_map(|(first, more)| {
        let more = more.iter().map(|(key, value)| format!("  {key}: {value}\n"));
        format!("  a: {first}\n{}", more.collect::<String>())
    })
}

fn config(kinds: &'static [&'static str]) -> impl Strategy<Value = String> {
    (select(kinds), namespace(), perhaps(labels()), data()).prop_map(
        |(kind, namespace, labels, data)| {
            let head = metadata(&namespace, &labels);
            format!("apiVersion: v1\nkind: {kind}\n{head}data:\n{data}")
        },
    )
}

fn service() -> impl Strategy<Value = String> {
    (namespace(), labels(), scalar()).prop_map(|(namespace, selector, value)| {
        format!(
            "apiVersion: v1\nkind: Service\n{}  annotations: {{note: {value}}}\nspec:\n  \
             selector: {selector}\n  ports:\n  - port: 80\n    targetPort: http\n",
            metadata(&namespace, "")
        )
    })
}

fn widget() -> impl Strategy<Value = String> {
    (namespace(), scalar(), image()).prop_map(|(namespace, value, image)| {
        format!(
            "apiVersion: example.com/v1\nkind: Widget\n{}spec:\n  value: {value}\n  list: [a, {value}]\n  \
             parts:\n  - name: one\n    image: {image}\n  - name: two\n  nested: {{deep: {{value: {value}}}}}\n",
            metadata(&namespace, "")
        )
    })
}

fn other() -> impl Strategy<Value = String> {
    let ingress = name().prop_map(|backend| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\n{}spec:\n  rules:\n  - host: a.example.com\n    \
             http:\n      paths:\n      - path: /\n        pathType: Prefix\n        backend:\n          \
             service: {{name: {backend}, port: {{number: 80}}}}\n",
            metadata("", "")
        )
    });
    let binding = (name(), name(), namespace(), any::<bool>()).prop_map(
        |(role_name, account, namespace, is_cluster)| {
            let (kind, role) = if is_cluster {
                ("ClusterRoleBinding", "ClusterRole")
            } else {
                ("RoleBinding", "Role")
            };
            let subject = if namespace.is_empty() {
                String::new()
            } else {
                format!(", namespace: {namespace}")
            };
            format!(
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\n{}roleRef: {{apiGroup: \
                 rbac.authorization.k8s.io, kind: {role}, name: {role_name}}}\nsubjects:\n- {{kind: \
                 ServiceAccount, name: {account}{subject}}}\n- {{kind: ServiceAccount, name: default}}\n",
                metadata("", "")
            )
        },
    );
    let simple = (
        select(
            &[
                ("v1", "ServiceAccount"),
                ("rbac.authorization.k8s.io/v1", "Role"),
                ("rbac.authorization.k8s.io/v1", "ClusterRole"),
                ("v1", "PersistentVolumeClaim"),
            ][..],
        ),
        namespace(),
    )
        .prop_map(|((version, kind), namespace)| {
            format!("apiVersion: {version}\nkind: {kind}\n{}", metadata(&namespace, ""))
        });
    let scaler = name().prop_map(|target| {
        format!(
            "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n{}spec:\n  scaleTargetRef: \
             {{apiVersion: apps/v1, kind: Deployment, name: {target}}}\n  maxReplicas: 3\n",
            metadata("", "")
        )
    });
    let policy = labels().prop_map(|labels| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n{}spec:\n  podSelector: \
             {{matchLabels: {labels}}}\n  ingress:\n  - from:\n    - podSelector: {{matchLabels: {labels}}}\n",
            metadata("", "")
        )
    });
    prop_oneof![service(), ingress, binding, simple, scaler, policy, widget()]
}

/// What is in every base: `r0` is a Deployment, and so on.
fn cast() -> impl Strategy<Value = Vec<String>> {
    (
        workload(&["Deployment"]),
        service(),
        config(&["ConfigMap"]),
        widget(),
        workload(&["StatefulSet"]),
    )
        .prop_map(|(a, b, c, d, e)| vec![a, b, c, d, e])
}

fn resource() -> impl Strategy<Value = String> {
    let workload = workload(&["Deployment", "StatefulSet", "DaemonSet"]);
    prop_oneof![3 => workload, 1 => job(), 2 => config(&["ConfigMap", "Secret"]), 4 => other()]
}

/// Resources as a file, with names from the prefix and their number.
fn named(resources: &[String], prefix: &str) -> String {
    let named = resources.iter().enumerate();
    let named = named.map(|(number, text)| text.replace(OWN_NAME, &format!("{prefix}{number}")));
    named.collect::<Vec<_>>().join("---\n")
}

/// A strategic merge patch or a JSON patch that finds what it needs.
fn patch() -> impl Strategy<Value = String> {
    let target = prop_oneof![
        4 => select(KINDS).prop_map(|kind| format!("{{kind: {kind}}}")),
        1 => name().prop_map(|name| format!("{{name: {name}}}")),
        1 => Just("{name: 'r[01]'}".to_owned()),
        1 => Just("{labelSelector: app=web}".to_owned()),
        1 => Just("{labelSelector: 'app in (web), !env'}".to_owned()),
        1 => Just("{group: apps, version: v1}".to_owned()),
        1 => Just("{annotationSelector: note}".to_owned()),
        1 => Just("{namespace: shop|default}".to_owned()),
    ];
    let operation = prop_oneof![
        9 => scalar().prop_map(|it| format!("{{op: add, path: /extra, value: {it}}}")),
        9 => scalar().prop_map(|it| format!("{{op: add, path: /list, value: [{it}, {{a: {it}}}]}}")),
        1 => Just("{op: replace, path: /metadata/name, value: renamed}".to_owned()),
        1 => Just("{op: copy, from: /metadata/name, path: /copied}".to_owned()),
        1 => Just("{op: move, from: /metadata/name, path: /metadata/name}".to_owned()),
        1 => Just("{op: replace, path: /kind, value: Other}".to_owned()),
    ];
    let pod_operation = prop_oneof![
        Just("{op: remove, path: /spec/replicas}".to_owned()),
        Just("{op: replace, path: /spec/replicas, value: 7}".to_owned()),
        Just(
            "{op: add, path: /spec/template/spec/containers/-, value: {name: J, image: j}}"
                .to_owned()
        ),
        Just("{op: add, path: /spec/template/spec/containers/0/env, value: []}".to_owned()),
        Just("{op: test, path: /spec/replicas, value: 1}".to_owned()),
    ];
    let body = prop_oneof![
        scalar().prop_map(|it| format!("metadata:\n  name: any\n  annotations: {{p: {it}}}\n")),
        scalar().prop_map(|it| format!("metadata:\n  name: any\nadded: {it}\nlist: [{it}, {it}]\n")),
        scalar().prop_map(|it| format!("metadata:\n  name: any\nspec:\n  value: {it}\n  list: [{it}]\n")),
        Just("metadata:\n  name: any\nspec:\n  $patch: replace\n  only: this\n".to_owned()),
        scalar().prop_map(|it| format!("metadata:\n  name: any\ndata:\n  a: {it}\n  new: {it}\n")),
        Just("metadata:\n  name: any\n  labels:\n    app: patched\n    env: null\n".to_owned()),
        Just("metadata:\n  name: any\nspec:\n  ports:\n  - port: 80\n    name: http\n  - port: 443\n".to_owned()),
        Just("metadata:\n  name: any\nspec:\n  nested: {deep: null, more: 1}\n  parts: [{name: one, x: 1}]\n".to_owned()),
    ];
    let pod_body = prop_oneof![
        scalar().prop_map(|it| format!(
            "spec:\n  template:\n    spec:\n      containers:\n      - name: \
             main\n        env: [{{name: P, value: {it}}}]\n      - name: side\n        image: side:1\n"
        )),
        Just("spec:\n  template:\n    spec:\n      containers:\n      - name: main\n        $patch: delete\n".to_owned()),
        Just("spec:\n  template:\n    spec:\n      containers:\n      - name: main\n        ports: [{containerPort: 80, name: web}]\n".to_owned()),
        Just("spec:\n  template:\n    spec:\n      volumes:\n      - $patch: replace\n      - {name: n, emptyDir: {}}\n".to_owned()),
        Just("spec:\n  template:\n    spec:\n      tolerations: [{key: a}]\n      initContainers: []\n".to_owned()),
        Just("spec:\n  replicas: null\n".to_owned()),
        scalar().prop_map(|it| format!("spec:\n  paused: {it}\n  replicas: {it}\n")),
    ];
    let json = |target: String, list: Vec<String>| {
        let list: String = list.iter().map(|it| format!("    - {it}\n")).collect();
        format!("- target: {target}\n  patch: |-\n{list}")
    };
    let workloads = || Just("{kind: Deployment|StatefulSet}".to_owned());
    prop_oneof![
        (target.clone(), prop::collection::vec(operation, 1..3))
            .prop_map(move |(target, list)| json(target, list)),
        (workloads(), prop::collection::vec(pod_operation, 1..2))
            .prop_map(move |(target, list)| json(target, list)),
        (target, body, any::<bool>()).prop_map(|(target, body, may_rename)| {
            let body = indented(&format!("apiVersion: v1\nkind: Any\n{body}"), 4);
            let options = if may_rename { "  options: {allowNameChange: true}\n" } else { "" };
            format!("- target: {target}\n{options}  patch: |-\n{body}")
        }),
        pod_body.prop_map(|body| {
            let head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: r0}\n";
            format!("- patch: |-\n{}", indented(&format!("{head}{body}"), 4))
        }),
    ]
}

fn indented(text: &str, by: usize) -> String {
    let pad = " ".repeat(by);
    text.lines().map(|line| format!("{pad}{line}\n")).collect()
}

fn replacement() -> impl Strategy<Value = String> {
    let source = select(
        &[
            "kind: Deployment, name: r0",
            "kind: Deployment, name: r0, fieldPath: spec.template.spec.containers.0.image",
            "kind: ConfigMap, name: r2, fieldPath: data.a",
            "kind: Widget, name: r3, fieldPath: spec.value",
            "kind: Widget, name: r3, fieldPath: spec.nested",
            "kind: Widget, name: r3, fieldPath: 'spec.parts.[name=one].image', options: {delimiter: ':', index: 0}",
            "kind: Service, name: r1, fieldPath: spec.ports.0.port",
        ][..],
    );
    let target = select(
        &[
            ("Deployment", "metadata.annotations.copied", "{create: true}"),
            ("Deployment", "metadata.labels.app", "{create: true}"),
            ("Deployment", "spec.template.spec.containers.[name=main].image", ""),
            ("StatefulSet", "spec.template.spec.containers.*.image", ""),
            ("StatefulSet", "spec.template.spec.containers.0.image", "{delimiter: ':', index: 1}"),
            ("ConfigMap", "data.a", "{create: true}"),
            ("ConfigMap", "data.copied", "{create: true}"),
            ("Widget", "spec.list.1", ""),
            ("Widget", "spec.parts.[name=one].image", "{delimiter: /, index: 0}"),
            ("Widget", "spec.parts.[name=new].image", "{create: true}"),
            ("Widget", "spec.nested.deep.value", ""),
        ][..],
    );
    (source, target).prop_map(|(source, (kind, path, options))| {
        let options =
            if options.is_empty() { String::new() } else { format!("    options: {options}\n") };
        format!(
            "- source: {{{source}}}\n  targets:\n  - select: {{kind: {kind}}}\n    \
             fieldPaths: ['{path}']\n{options}"
        )
    })
}

fn generator() -> impl Strategy<Value = String> {
    let literal =
        (select(&["a", "b", "c.d"][..]), select(&["1", "x=y", "\"q\"", "", "é", "two words"][..]))
            .prop_map(|(key, value)| format!("'{key}={value}'"));
    let options = select(
        &[
            "",
            "{disableNameSuffixHash: true}",
            "{labels: {g: h}, immutable: true}",
            "{annotations: {n: 'o'}}",
        ][..],
    );
    let behavior = prop_oneof![
        60 => Just(""),
        1 => Just("create"),
        1 => Just("merge"),
        1 => Just("replace"),
    ];
    let literals = prop::collection::vec(literal, 0..2);
    (0..1000, literals, options, behavior, any::<bool>()).prop_map(
        |(number, literals, options, behavior, has_file)| {
            let number = if behavior.is_empty() { number } else { number % 2 };
            let mut text = format!("- name: g{number}\n  literals: [{}]\n", literals.join(", "));
            for (field, value) in [("options", options), ("behavior", behavior)] {
                if !value.is_empty() {
                    text.push_str(&format!("  {field}: {value}\n"));
                }
            }
            if has_file {
                text.push_str("  files: [file.txt, renamed=file.txt]\n");
            }
            text
        },
    )
}

/// A list under a field.
fn list(
    field: &'static str,
    item: impl Strategy<Value = String> + 'static,
) -> BoxedStrategy<String> {
    let items = prop::collection::vec(item, 1..3);
    perhaps(items.prop_map(move |items| format!("{field}:\n{}", items.concat())))
}

fn fields() -> impl Strategy<Value = String> {
    let line = |field: &'static str, values: &'static [&'static str]| {
        perhaps(select(values).prop_map(move |value| format!("{field}: {value}\n")))
    };
    let names = (
        line("namePrefix", &["pre-", "'1-'"]),
        line("nameSuffix", &["-suf", "'-2'"]),
        line("namespace", &["shop", "prod"]),
    );
    let label = (labels(), any::<bool>(), any::<bool>()).prop_map(|(pairs, selectors, templates)| {
        format!("- pairs: {pairs}\n  includeSelectors: {selectors}\n  includeTemplates: {templates}\n")
    });
    let labels = (
        list("labels", label),
        perhaps(labels().prop_map(|pairs| format!("commonLabels: {pairs}\n"))),
        perhaps(labels().prop_map(|pairs| format!("commonAnnotations: {pairs}\n"))),
    );
    let image = (
        select(IMAGES),
        select(
            &[
                "newTag: v9",
                "newName: other",
                "digest: sha256:ffff",
                "newName: x/y, newTag: '1'",
                "tagSuffix: -dbg",
                "newTag: v1, digest: sha256:00",
            ][..],
        ),
    )
        .prop_map(|(name, change)| format!("- {{name: '{name}', {change}}}\n"));
    let replica = (select(&["r0", "r4"][..]), 0..9)
        .prop_map(|(name, count)| format!("- {{name: {name}, count: {count}}}\n"));
    let variable = (Just("r1"), select(&["web", "V", "a.b"][..])).prop_map(|(name, variable)| {
        format!("- {{name: {variable}, objref: {{apiVersion: v1, kind: Service, name: {name}}}}}\n")
    });
    let values = (
        list("images", image),
        perhaps(replica.prop_map(|it| format!("replicas:\n{it}"))),
        list("replacements", replacement()),
        prop_oneof![9 => Just(String::new()), 1 => variable.prop_map(|it| format!("vars:\n{it}"))],
    );
    let generators = (
        list("configMapGenerator", generator()),
        list("secretGenerator", generator()),
        line("generatorOptions", &["{labels: {all: 'yes'}}", "{disableNameSuffixHash: true}"]),
    );
    let order = (
        line(
            "sortOptions",
            &[
                "{order: fifo}",
                "{order: legacy}",
                "{order: legacy, legacySortOptions: {orderFirst: [Service], orderLast: [ConfigMap]}}",
            ],
        ),
        line(
            "buildMetadata",
            &[
                "[originAnnotations]",
                "[transformerAnnotations]",
                "[managedByLabel]",
                "[originAnnotations, transformerAnnotations]",
            ],
        ),
    );
    let patches = list("patches", patch());
    (names, labels, values, generators, order, patches).prop_map(
        |((a, b, c), (d, e, f), (g, h, i, j), (k, l, m), (n, o), p)| {
            [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p].concat()
        },
    )
}

/// A whole tree.
pub(crate) fn overlay() -> impl Strategy<Value = Tree> {
    let more = prop::collection::vec(resource(), 0..4);
    let own = prop::collection::vec(resource(), 0..2);
    let shape = (any::<bool>(), prop::bool::weighted(0.1));
    (cast(), more, own, fields(), fields(), perhaps(fields().boxed()), shape).prop_map(
        |(mut base, more, own, base_fields, overlay_fields, component, (is_split, is_twice))| {
            let mut tree = Vec::new();
            let mut add =
                |name: &str, text: String| tree.push((name.to_owned(), text.into_bytes()));
            base.extend(more);
            add("base/all.yaml", named(&base, "r"));
            add("base/kustomization.yaml", format!("resources: [all.yaml]\n{base_fields}"));
            let mut head = String::from("resources:\n- ../base\n");
            if !own.is_empty() {
                head.push_str("- own.yaml\n");
                add("overlay/own.yaml", named(&own, "o"));
            }
            if is_twice {
                head.push_str("- ../second\n");
                add(
                    "second/kustomization.yaml",
                    "namePrefix: second-\nresources: [../base]\n".into(),
                );
            }
            if is_split && !component.is_empty() {
                head.push_str("components: [../component]\n");
                let kind = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
                add("component/kustomization.yaml", format!("{kind}{component}"));
            }
            add("overlay/kustomization.yaml", format!("{head}{overlay_fields}"));
            for folder in ["base", "overlay", "component"] {
                add(&format!("{folder}/file.txt"), "line 1\nline 2\n".to_owned());
            }
            tree
        },
    )
}
