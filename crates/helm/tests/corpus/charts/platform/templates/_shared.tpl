{{- define "shared.name" -}}{{ .Release.Name }}-{{ .Chart.Name }}{{- end -}}
