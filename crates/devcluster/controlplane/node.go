// One node without a kubelet: it registers itself and plays what a kubelet, a
// storage provisioner and a load balancer would write into statuses.
//
// Start at runNode; pods.go has the life of a pod, container.go what a
// container does, kubelet.go the log endpoint, exec.go commands, addons.go the rest.

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	nodeName     = "devcluster-node"
	nodeAddress  = "127.0.0.1"
	pollInterval = 20 * time.Millisecond
)

// runNode plays the node of the cluster whose files are in dir. It says
// `serving` on standard output when the API server answers, so that the
// starter can start what needs it, and `ready` when pods can be created.
func runNode(dir string) error {
	ctx := context.Background()
	client, err := newClient(dir)
	if err != nil {
		return err
	}
	waitUntil(ctx, func() bool {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil
	})
	fmt.Println("serving")

	pods := newPodPlayer(client)
	port, err := serveKubelet(dir, pods)
	if err != nil {
		return fmt.Errorf("could not serve container logs: %w", err)
	}
	if err := registerNode(ctx, client, port); err != nil {
		return fmt.Errorf("could not register the node: %w", err)
	}
	if err := createStorageClass(ctx, client); err != nil {
		return fmt.Errorf("could not create the default storage class: %w", err)
	}
	startWatching(ctx, client, pods)
	waitUntil(ctx, func() bool {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	})
	fmt.Println("ready")
	select {}
}

func newClient(dir string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // a real node is not slowed by the other pods of a test
	config.UserAgent = "devcluster-node"
	return kubernetes.NewForConfig(config)
}

// waitUntil has no deadline of its own: the starter has one, and ends us.
func waitUntil(ctx context.Context, holds func() bool) {
	_ = wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		return holds(), nil
	})
}

func registerNode(ctx context.Context, client kubernetes.Interface, kubeletPort int32) error {
	nodes := client.CoreV1().Nodes()
	_, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: nodeName,
		Labels: map[string]string{
			corev1.LabelHostname: nodeName, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	// Admission taints every new node as not ready; the controller that would
	// take the taint away wants heartbeats and is off.
	untaint := []byte(`{"spec":{"taints":null}}`)
	node, err := nodes.Patch(ctx, nodeName, types.MergePatchType, untaint, metav1.PatchOptions{})
	if err != nil {
		return err
	}
	node.Status = nodeStatus(kubeletPort)
	_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
	return err
}

func nodeStatus(kubeletPort int32) corev1.NodeStatus {
	resources := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("256"),
		corev1.ResourceMemory:           resource.MustParse("1Ti"),
		corev1.ResourcePods:             resource.MustParse("10000"),
		corev1.ResourceEphemeralStorage: resource.MustParse("10Ti"),
	}
	now := metav1.Now()
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: "Played", Message: "this node has no kubelet",
			LastHeartbeatTime: now, LastTransitionTime: now,
		}
	}
	return corev1.NodeStatus{
		Capacity:    resources,
		Allocatable: resources,
		Conditions: []corev1.NodeCondition{
			condition(corev1.NodeReady, corev1.ConditionTrue),
			condition(corev1.NodeMemoryPressure, corev1.ConditionFalse),
			condition(corev1.NodeDiskPressure, corev1.ConditionFalse),
			condition(corev1.NodePIDPressure, corev1.ConditionFalse),
		},
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: nodeAddress},
			{Type: corev1.NodeHostName, Address: nodeName},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: kubeletPort}},
		NodeInfo: corev1.NodeSystemInfo{
			Architecture: "amd64", OperatingSystem: "linux", KubeletVersion: "v1.36.1",
			ContainerRuntimeVersion: "none://0", OSImage: "none", KernelVersion: "none",
		},
	}
}

// complain reports what the node could not write. The object may be gone by
// then, which is nobody's fault.
func complain(doing string, err error) {
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		fmt.Fprintf(os.Stderr, "could not %s: %v\n", doing, err)
	}
}
