{{- define "part.plain" -}}
plain {{ .Release.Name }}
{{- end -}}
{{- define "part.list" -}}
{{- range . }}
- {{ . }}
{{- end }}
{{- end -}}
{{- define "part.broken" -}}
{{ .Values.nothing.more }}
{{- end -}}
{{- define "part.outer" -}}
{{ include "part.broken" . }}
{{- end -}}
