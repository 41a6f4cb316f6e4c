// A Kubernetes control plane in one file: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and kubectl, unchanged, plus a node
// that has no kubelet.
//
// The first argument picks the program; the rest are that program's own. The
// components share most of their code, so one multi-call binary builds in the
// time of one of them.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fail("usage: controlplane etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl|pki|node ...")
	}
	program := os.Args[1]
	os.Args = os.Args[1:]
	endWithParent()
	switch program {
	case "etcd":
		// Reserved in advance, twice, and in memory for a cluster of ours.
		wal.SegmentSizeBytes = 4 << 20
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		run(apiserver.NewAPIServerCommand())
	case "kube-controller-manager":
		run(controllermanager.NewControllerManagerCommand())
	case "kube-scheduler":
		run(scheduler.NewSchedulerCommand())
	case "kubectl":
		if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
			kubectlutil.CheckErr(err)
		}
	case "pki":
		arguments("DIR SERVER-URL", 2)
		check(writePKI(os.Args[1], os.Args[2]))
	case "node":
		arguments("DIR", 1)
		check(runNode(os.Args[1]))
	default:
		fail("controlplane has no program %q", program)
	}
}

func run(command *cobra.Command) { os.Exit(cli.Run(command)) }

// check is for our own two programs; the others report for themselves.
func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

func arguments(names string, count int) {
	if len(os.Args) != count+1 {
		fail("usage: controlplane %s %s", os.Args[0], names)
	}
}
