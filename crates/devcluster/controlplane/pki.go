// Every key and certificate of one cluster, and the kubeconfig that uses them.

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// A cluster lives for minutes; a day covers the longest debugging session and
// a machine whose clock is an hour off.
const (
	validBefore = time.Hour
	validFor    = 24 * time.Hour
)

// writePKI fills dir with what the components read. Elliptic curves, because
// RSA keys would take longer to make than the API server takes to start.
func writePKI(dir, server string) error {
	ca, err := newAuthority(dir, "ca")
	if err != nil {
		return err
	}
	// Aggregated APIs trust headers from whoever this authority names, so it
	// must not be the one that signs client certificates.
	frontProxyCA, err := newAuthority(dir, "front-proxy-ca")
	if err != nil {
		return err
	}
	clients := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	servers := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	certificates := []struct {
		authority *authority
		name      string
		template  x509.Certificate
	}{
		{ca, "apiserver", x509.Certificate{
			Subject:     pkix.Name{CommonName: "kube-apiserver"},
			ExtKeyUsage: servers,
			DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
				"kubernetes.default.svc.cluster.local"},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 96, 0, 1)},
		}},
		{ca, "kubelet", x509.Certificate{
			Subject:     pkix.Name{CommonName: "system:node:" + nodeName, Organization: []string{"system:nodes"}},
			ExtKeyUsage: servers,
			DNSNames:    []string{nodeName},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}},
		{ca, "admin", x509.Certificate{
			Subject:     pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
			ExtKeyUsage: clients,
		}},
		{frontProxyCA, "front-proxy", x509.Certificate{
			Subject:     pkix.Name{CommonName: "front-proxy"},
			ExtKeyUsage: clients,
		}},
	}
	for _, certificate := range certificates {
		if err := certificate.authority.issue(dir, certificate.name, certificate.template); err != nil {
			return err
		}
	}
	if err := writeServiceAccountKey(dir); err != nil {
		return err
	}
	return writeKubeconfig(dir, server)
}

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(dir, name string) (*authority, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	template, err := dated(x509.Certificate{
		Subject:               pkix.Name{CommonName: "devcluster-" + name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	})
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate, key}, writePair(dir, name, der, key)
}

func (a *authority) issue(dir, name string, template x509.Certificate) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	leaf, err := dated(template)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	return writePair(dir, name, der, key)
}

func dated(template x509.Certificate) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-validBefore)
	template.NotAfter = time.Now().Add(validFor)
	return &template, err
}

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func writePair(dir, name string, certificate []byte, key *ecdsa.PrivateKey) error {
	if err := writePEM(dir, name+".crt", "CERTIFICATE", certificate); err != nil {
		return err
	}
	return writeKey(dir, name+".key", key)
}

func writeKey(dir, file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(dir, file, "EC PRIVATE KEY", der)
}

func writePEM(dir, file, kind string, der []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	return os.WriteFile(filepath.Join(dir, file), text, 0o600)
}

func writeServiceAccountKey(dir string) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(dir, "service-account.pub", "PUBLIC KEY", public); err != nil {
		return err
	}
	return writeKey(dir, "service-account.key", key)
}

// writeKubeconfig embeds the certificates, so that the file works from any
// folder and can be copied.
func writeKubeconfig(dir, server string) error {
	data := map[string][]byte{}
	for _, file := range []string{"ca.crt", "admin.crt", "admin.key"} {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		data[file] = content
	}
	const name = "devcluster"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: data["ca.crt"]}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: data["admin.crt"], ClientKeyData: data["admin.key"],
	}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name, Namespace: "default"}
	config.CurrentContext = name
	if err := clientcmd.WriteToFile(*config, filepath.Join(dir, "kubeconfig")); err != nil {
		return fmt.Errorf("could not write the kubeconfig: %w", err)
	}
	return nil
}
