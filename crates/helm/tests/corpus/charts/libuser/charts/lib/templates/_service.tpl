{{- define "lib.service" -}}
{{- $top := first . -}}
{{- $override := index . 1 -}}
{{- $base := fromYaml (include "lib.service.base" $top) -}}
{{- toYaml (merge (fromYaml (include $override $top)) $base) -}}
{{- end -}}
{{- define "lib.service.base" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ .Values.app.name }}
spec:
  ports:
  {{- range .Values.app.ports }}
  - port: {{ . }}
  {{- end }}
{{- end -}}
