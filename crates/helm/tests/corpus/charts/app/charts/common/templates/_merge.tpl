{{/* The second template's YAML over the first one's. */}}
{{- define "common.merge" -}}
{{- $top := first . -}}
{{- $overrides := fromYaml (include (index . 1) $top) | default (dict) -}}
{{- $base := fromYaml (include (index . 2) $top) | default (dict) -}}
{{- toYaml (merge $overrides $base) -}}
{{- end -}}
{{- define "common.metadata" -}}
metadata:
  name: {{ .Release.Name }}-{{ .Chart.Name }}
  labels:
    app: {{ .Chart.Name }}
{{- end -}}
