// What a cloud would add to a cluster: volumes for claims, addresses for load
// balancers and ingresses.

package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	storageClass  = "standard"
	provisioner   = "devcluster.argosy.dev/provisioner"
	defaultMarker = "storageclass.kubernetes.io/is-default-class"
	// From the block that is set aside for documentation: no traffic goes there.
	balancerStatus = `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.10"}]}}}`
)

// startWatching sets everything that this node plays in motion.
func startWatching(ctx context.Context, client kubernetes.Interface, pods *podPlayer) {
	core, networking := client.CoreV1().RESTClient(), client.NetworkingV1().RESTClient()
	all := fields.Everything()
	watch(ctx, core, "pods", fields.OneTermEqualSelector("spec.nodeName", nodeName), pods.seen, pods.gone)
	watch(ctx, core, "persistentvolumeclaims", all, func(claim *corev1.PersistentVolumeClaim) {
		provisionVolume(ctx, client, claim)
	}, ignore)
	watch(ctx, core, "persistentvolumes", all, func(volume *corev1.PersistentVolume) {
		reclaimVolume(ctx, client, volume)
	}, ignore)
	watch(ctx, core, "services", all, func(service *corev1.Service) {
		balanceService(ctx, client, service)
	}, ignore)
	watch(ctx, networking, "ingresses", all, func(ingress *networkingv1.Ingress) {
		balanceIngress(ctx, client, ingress)
	}, ignore)
}

func ignore[T any](T) {}

func createStorageClass(ctx context.Context, client kubernetes.Interface) error {
	_, err := client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: storageClass, Annotations: map[string]string{defaultMarker: "true"}},
		Provisioner: provisioner,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// provisionVolume makes a volume that names the claim; the real controller
// binds the two.
func provisionVolume(ctx context.Context, client kubernetes.Interface, claim *corev1.PersistentVolumeClaim) {
	isOurs := claim.Spec.StorageClassName != nil && *claim.Spec.StorageClassName == storageClass
	if !isOurs || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil {
		return
	}
	name := "pvc-" + string(claim.UID)
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": provisioner},
		},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: claim.Spec.AccessModes,
			Capacity:    claim.Spec.Resources.Requests,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim",
				Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
			},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				HostPath: &corev1.HostPathVolumeSource{Path: "/devcluster/" + name},
			},
			StorageClassName: storageClass,
			VolumeMode:       claim.Spec.VolumeMode,
		},
	}
	persist(ctx, "create volume "+name, func(ctx context.Context) error {
		_, err := client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

func reclaimVolume(ctx context.Context, client kubernetes.Interface, volume *corev1.PersistentVolume) {
	isOurs := volume.Spec.StorageClassName == storageClass && volume.DeletionTimestamp == nil
	if !isOurs || volume.Status.Phase != corev1.VolumeReleased ||
		volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return
	}
	persist(ctx, "delete volume "+volume.Name, func(ctx context.Context) error {
		return client.CoreV1().PersistentVolumes().Delete(ctx, volume.Name, metav1.DeleteOptions{})
	})
}

func balanceService(ctx context.Context, client kubernetes.Interface, service *corev1.Service) {
	if service.Spec.Type != corev1.ServiceTypeLoadBalancer || len(service.Status.LoadBalancer.Ingress) > 0 {
		return
	}
	persist(ctx, "give service "+service.Name+" an address", func(ctx context.Context) error {
		_, err := client.CoreV1().Services(service.Namespace).Patch(
			ctx, service.Name, types.MergePatchType, []byte(balancerStatus), metav1.PatchOptions{}, "status")
		return err
	})
}

func balanceIngress(ctx context.Context, client kubernetes.Interface, ingress *networkingv1.Ingress) {
	if len(ingress.Status.LoadBalancer.Ingress) > 0 {
		return
	}
	persist(ctx, "give ingress "+ingress.Name+" an address", func(ctx context.Context) error {
		_, err := client.NetworkingV1().Ingresses(ingress.Namespace).Patch(
			ctx, ingress.Name, types.MergePatchType, []byte(balancerStatus), metav1.PatchOptions{}, "status")
		return err
	})
}
