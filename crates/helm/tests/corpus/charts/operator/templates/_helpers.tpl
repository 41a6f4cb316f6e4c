{{- define "operator.name" }}{{ .Release.Name }}-operator{{ end -}}
{{- define "operator.account" -}}
{{ .Values.serviceAccount.create | ternary (.Values.serviceAccount.name | default (include "operator.name" .)) (.Values.serviceAccount.name | default "default") }}
{{- end -}}
{{- define "operator.gates" -}}
{{- $gates := list -}}
{{- range $name, $on := .Values.featureGates -}}
{{- $gates = append $gates (printf "%s=%t" $name $on) -}}
{{- end -}}
{{- join "," $gates -}}
{{- end -}}
