{{/* Certificates are random: only what all of them share is shown. */}}
{{- define "certs.shape" -}}
{{- $lines := splitList "\n" (trim .) -}}
{{ first $lines }} … {{ last $lines }} {{ range initial (rest $lines) }}{{ if gt (len .) 64 }}too long{{ end }}{{ end }}
{{- end -}}
