{{- define "gateway.isGateway" -}}
{{- if eq (toString .Values.useGatewayAPI) "auto" -}}
{{- if .Capabilities.APIVersions.Has "gateway.networking.k8s.io/v1/HTTPRoute" }}true{{ end -}}
{{- else if .Values.useGatewayAPI }}true{{ end -}}
{{- end -}}
{{- define "gateway.pdbVersion" -}}
{{- if semverCompare ">=1.21-0" .Capabilities.KubeVersion.Version -}}policy/v1{{- else -}}policy/v1beta1{{- end -}}
{{- end -}}
