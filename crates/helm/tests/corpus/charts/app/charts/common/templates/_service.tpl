{{- define "common.service.base" -}}
apiVersion: v1
kind: Service
{{ include "common.metadata" . }}
spec:
  type: ClusterIP
  ports: [{port: {{ .Values.service.port }}}]
{{- end -}}
{{- define "common.service" -}}
{{- include "common.merge" (append . "common.service.base") -}}
{{- end -}}
