{{- define "extras.name" -}}{{ tpl .Values.name . }}{{- end -}}
{{- define "extras.tpl" -}}
{{- $value := .value -}}
{{- if not (typeIs "string" $value) -}}{{- $value = toYaml $value -}}{{- end -}}
{{- if contains "{{" $value -}}{{- tpl $value .context -}}{{- else -}}{{- $value -}}{{- end -}}
{{- end -}}
