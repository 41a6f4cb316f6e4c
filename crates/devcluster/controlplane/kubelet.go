// The kubelet endpoints the API server is asked for: container logs and exec.

package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// logAnnotation on a pod says what its containers have written.
const (
	logAnnotation = "devcluster.argosy.dev/log"
	defaultLog    = "Hi"
)

// serveKubelet answers on a free port of the loopback, to the API server only.
func serveKubelet(dir string, pods *podPlayer) (int32, error) {
	identity, err := tls.LoadX509KeyPair(filepath.Join(dir, "kubelet.crt"), filepath.Join(dir, "kubelet.key"))
	if err != nil {
		return 0, err
	}
	authority, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return 0, err
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(authority) {
		return 0, errors.New("ca.crt holds no certificate")
	}
	listener, err := tls.Listen("tcp", net.JoinHostPort(nodeAddress, "0"), &tls.Config{
		Certificates: []tls.Certificate{identity},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    trusted,
		MinVersion:   tls.VersionTLS12,
	})
	if err != nil {
		return 0, err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", pods.serveLog)
	routes.HandleFunc("/exec/{namespace}/{pod}/{container}", pods.serveExec)
	server := &http.Server{Handler: routes, ReadHeaderTimeout: 10 * time.Second}
	go func() { complain("serve the kubelet", server.Serve(listener)) }()
	return int32(listener.Addr().(*net.TCPAddr).Port), nil
}

func (p *podPlayer) serveLog(w http.ResponseWriter, r *http.Request) {
	pod := p.find(r.PathValue("namespace"), r.PathValue("pod"))
	if pod == nil {
		http.Error(w, "no such pod on this node", http.StatusNotFound)
		return
	}
	query := r.URL.Query()
	w.Header().Set("Content-Type", "text/plain")
	for _, line := range lastLines(logOf(pod.Annotations), query.Get("tailLines")) {
		if query.Get("timestamps") == "true" {
			line = pod.started.UTC().Format(time.RFC3339Nano) + " " + line
		}
		fmt.Fprintln(w, line)
	}
	if query.Get("follow") == "true" {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-pod.ended:
		case <-r.Context().Done():
		}
	}
}

func logOf(annotations map[string]string) []string {
	text, ok := annotations[logAnnotation]
	if !ok {
		text = defaultLog
	}
	return strings.Split(strings.TrimRight(text, "\n"), "\n")
}

func lastLines(lines []string, wanted string) []string {
	count, err := strconv.Atoi(wanted)
	if err != nil || count < 0 || count > len(lines) {
		return lines
	}
	return lines[len(lines)-count:]
}
