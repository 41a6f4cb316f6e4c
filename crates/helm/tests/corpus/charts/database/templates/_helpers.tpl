{{- define "database.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "database.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "database.labels" -}}
{{ include "database.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "database.image" -}}
{{- $ref := printf "%s/%s" .Values.image.registry .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $ref }}@{{ .Values.image.digest }}
{{- else -}}
{{ $ref }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "database.secretName" -}}
{{- .Values.auth.existingSecret | default (printf "%s-auth" (include "database.fullname" .)) -}}
{{- end -}}

{{/* A storage class: absent is the cluster's default, "-" is none. */}}
{{- define "database.storageClass" -}}
{{- if eq "-" .storageClass }}
storageClassName: ""
{{- else if .storageClass }}
storageClassName: {{ .storageClass | quote }}
{{- end }}
{{- end -}}
