{{- define "common.deployment.base" -}}
apiVersion: apps/v1
kind: Deployment
{{ include "common.metadata" . }}
spec:
  replicas: 1
  selector: {matchLabels: {app: {{ .Chart.Name }}}}
  template:
    metadata: {labels: {app: {{ .Chart.Name }}}}
    spec:
      containers:
        - name: main
          image: {{ .Values.image.repository }}:{{ .Values.image.tag }}
{{- end -}}
{{- define "common.deployment" -}}
{{- include "common.merge" (append . "common.deployment.base") -}}
{{- end -}}
