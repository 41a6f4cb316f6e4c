//! Charts by the yard: as many templates and lines of named parts as wanted, in the style of charts
//! that have grown for years. The same text every time.

use std::fmt::Write as _;

use helm::MemoryFiles;

/// A chart with this many templates, each printing one object, and this many groups of named parts
/// of 40 lines each.
pub(crate) fn large_chart(templates: usize, groups: usize) -> MemoryFiles {
    let mut files = MemoryFiles::default();
    files.insert(
        "Chart.yaml",
        "apiVersion: v2\nname: grown\nversion: 4.7.1\nappVersion: \"9.2.0\"\ntype: application\n",
    );
    let mut helpers = String::new();
    let mut values = String::from(VALUES);
    for group in 0..groups {
        helpers.push_str(&HELPERS.replace("GROUP", &format!("g{group}")));
        write!(values, "g{group}:\n{GROUP_VALUES}").expect("memory");
    }
    files.insert("templates/_helpers.tpl", helpers);
    files.insert("values.yaml", values);
    for number in 0..templates {
        let text = OBJECTS[number % OBJECTS.len()];
        let text = text.replace("GROUP", &format!("g{}", number % groups));
        let text = text.replace("NUMBER", &number.to_string());
        files.insert(format!("templates/object-{number:02}.yaml"), text);
    }
    files
}

const VALUES: &str = "\
nameOverride: \"\"
fullnameOverride: \"\"
global:
  imageRegistry: registry.example.com
  imagePullSecrets: [pull-one, {name: pull-two}]
  labels: {team: shop, tier: backend}
commonAnnotations:
  contact: \"{{ .Release.Name }}@example.com\"
";

const GROUP_VALUES: &str = "  enabled: true
  image: {repository: shop/part, tag: \"\", pullPolicy: IfNotPresent}
  replicas: 3
  port: 8080
  env: {LOG_LEVEL: info, TARGET: \"http://{{ .Release.Name }}:80\", WORKERS: 4}
  resources:
    requests: {cpu: 100m, memory: 128Mi}
    limits: {memory: 256Mi}
  podAnnotations: {prometheus.io/scrape: \"true\"}
  affinity: soft
  probe: {path: /healthz, period: 10}
  hosts: [a.example.com, b.example.com]
  config: {retries: 3, timeout: 2.5s, features: [search, cart]}
";

const HELPERS: &str = r#"{{/*
Name of GROUP, short enough for a label.
*/}}
{{- define "grown.GROUP.name" -}}
{{- default (printf "%s-GROUP" .Chart.Name) .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- define "grown.GROUP.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "grown.GROUP.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- define "grown.GROUP.selector" -}}
app.kubernetes.io/name: {{ include "grown.GROUP.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}
{{- define "grown.GROUP.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "grown.GROUP.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.global.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- define "grown.GROUP.annotations" -}}
{{- range $key, $value := .Values.commonAnnotations }}
{{ $key }}: {{ tpl $value $ | quote }}
{{- end }}
{{- end -}}
{{- define "grown.GROUP.image" -}}
{{- $image := .Values.GROUP.image -}}
{{- $tag := default .Chart.AppVersion $image.tag -}}
{{- with .Values.global.imageRegistry }}{{ . }}/{{ end }}{{ $image.repository }}:{{ $tag }}
{{- end -}}
{{- define "grown.GROUP.env" -}}
{{- range $name, $value := .Values.GROUP.env }}
- name: {{ $name }}
  value: {{ tpl (toString $value) $ | quote }}
{{- end }}
{{- end -}}
"#;

const OBJECTS: [&str; 6] = [
    r#"{{- if .Values.GROUP.enabled }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "grown.GROUP.fullname" . }}-NUMBER
  labels: {{- include "grown.GROUP.labels" . | nindent 4 }}
  annotations: {{- include "grown.GROUP.annotations" . | trim | nindent 4 }}
spec:
  replicas: {{ .Values.GROUP.replicas }}
  selector:
    matchLabels: {{- include "grown.GROUP.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "grown.GROUP.labels" . | nindent 8 }}
      annotations:
        checksum/config: {{ toJson .Values.GROUP.config | sha256sum }}
        {{- with .Values.GROUP.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      imagePullSecrets:
        {{- range .Values.global.imagePullSecrets }}
        {{- if kindIs "string" . }}
        - name: {{ . }}
        {{- else }}
        - {{ toYaml . }}
        {{- end }}
        {{- end }}
      {{- if eq .Values.GROUP.affinity "soft" }}
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 1
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector:
                  matchLabels: {{- include "grown.GROUP.selector" . | nindent 20 }}
      {{- end }}
      containers:
        - name: main
          image: {{ include "grown.GROUP.image" . | quote }}
          imagePullPolicy: {{ .Values.GROUP.image.pullPolicy }}
          env: {{- include "grown.GROUP.env" . | trim | nindent 12 }}
          ports:
            - containerPort: {{ .Values.GROUP.port }}
          livenessProbe:
            httpGet: {path: {{ .Values.GROUP.probe.path | quote }}, port: {{ .Values.GROUP.port | int }}}
            periodSeconds: {{ mul .Values.GROUP.probe.period 2 }}
          resources: {{- toYaml .Values.GROUP.resources | nindent 12 }}
{{- end }}
"#,
    r#"apiVersion: v1
kind: Service
metadata:
  name: {{ include "grown.GROUP.fullname" . }}-NUMBER
  labels: {{- include "grown.GROUP.labels" . | nindent 4 }}
spec:
  selector: {{- include "grown.GROUP.selector" . | nindent 4 }}
  ports:
    - port: 80
      targetPort: {{ .Values.GROUP.port }}
"#,
    r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "grown.GROUP.fullname" . }}-NUMBER
  labels: {{- include "grown.GROUP.labels" . | nindent 4 }}
data:
  config.yaml: |
    {{- toYaml .Values.GROUP.config | nindent 4 }}
  config.json: {{ toJson .Values.GROUP.config | quote }}
"#,
    r#"apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "grown.GROUP.fullname" . }}-NUMBER
  labels: {{- include "grown.GROUP.labels" . | nindent 4 }}
  annotations: {{- include "grown.GROUP.annotations" . | trim | nindent 4 }}
"#,
    r#"{{- $full := include "grown.GROUP.fullname" . -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ $full }}-NUMBER
  labels: {{- include "grown.GROUP.labels" . | nindent 4 }}
spec:
  rules:
    {{- range .Values.GROUP.hosts }}
    - host: {{ tpl . $ | quote }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service: {name: {{ $full }}, port: {number: 80}}
    {{- end }}
"#,
    r#"apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "grown.GROUP.fullname" . }}-NUMBER
  labels: {{- include "grown.GROUP.labels" . | nindent 4 }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ include "grown.GROUP.fullname" . }}-NUMBER}
  minReplicas: {{ .Values.GROUP.replicas }}
  maxReplicas: {{ mul 4 .Values.GROUP.replicas }}
"#,
];
