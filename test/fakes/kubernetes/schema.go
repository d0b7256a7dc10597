package kubernetes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

// The objects as the custom resource definitions of agent-sandbox 0.5.6 have them, as far as anything here writes them. An unknown field is
// an error, as with fieldValidation=Strict.

type objectMeta struct {
	Name              string            `json:"name,omitempty"`
	GenerateName      string            `json:"generateName,omitempty"`
	Namespace         string            `json:"namespace,omitempty"`
	UID               string            `json:"uid,omitempty"`
	ResourceVersion   string            `json:"resourceVersion,omitempty"`
	Generation        int64             `json:"generation,omitempty"`
	CreationTimestamp *time.Time        `json:"creationTimestamp,omitempty"`
	DeletionTimestamp *time.Time        `json:"deletionTimestamp,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	OwnerReferences   []ownerReference  `json:"ownerReferences,omitempty"`
	ManagedFields     json.RawMessage   `json:"managedFields,omitempty"`
}

type ownerReference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	Controller         bool   `json:"controller,omitempty"`
	BlockOwnerDeletion bool   `json:"blockOwnerDeletion,omitempty"`
}

type condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	ObservedGeneration int64     `json:"observedGeneration,omitempty"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
}

type typeMeta struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	Metadata   objectMeta `json:"metadata"`
}

type named struct {
	Name string `json:"name"`
}

type podMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type sandboxClaim struct {
	typeMeta
	Spec *struct {
		WarmPoolRef *named `json:"warmPoolRef"`
		Lifecycle   *struct {
			ShutdownTime            *time.Time `json:"shutdownTime,omitempty"`
			TTLSecondsAfterFinished *int32     `json:"ttlSecondsAfterFinished,omitempty"`
			ShutdownPolicy          string     `json:"shutdownPolicy,omitempty"`
		} `json:"lifecycle,omitempty"`
		AdditionalPodMetadata *podMetadata      `json:"additionalPodMetadata,omitempty"`
		Env                   []map[string]any  `json:"env,omitempty"`
		VolumeClaimTemplates  []json.RawMessage `json:"volumeClaimTemplates,omitempty"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions,omitempty"`
		Sandbox    struct {
			Name   string   `json:"name,omitempty"`
			PodIPs []string `json:"podIPs,omitempty"`
		} `json:"sandbox,omitzero"`
	} `json:"status,omitzero"`
}

type blueprint struct {
	PodTemplate *struct {
		Spec     json.RawMessage `json:"spec"`
		Metadata *podMetadata    `json:"metadata,omitempty"`
	} `json:"podTemplate"`
	VolumeClaimTemplates json.RawMessage `json:"volumeClaimTemplates,omitempty"`
	Service              *bool           `json:"service,omitempty"`
}

type sandbox struct {
	typeMeta
	Spec *struct {
		blueprint
		ShutdownTime   *time.Time `json:"shutdownTime,omitempty"`
		ShutdownPolicy string     `json:"shutdownPolicy,omitempty"`
		OperatingMode  string     `json:"operatingMode,omitempty"`
	} `json:"spec"`
	Status struct {
		ServiceFQDN string      `json:"serviceFQDN,omitempty"`
		Service     string      `json:"service,omitempty"`
		Conditions  []condition `json:"conditions,omitempty"`
		Selector    string      `json:"selector,omitempty"`
		PodIPs      []string    `json:"podIPs,omitempty"`
		NodeName    string      `json:"nodeName,omitempty"`
	} `json:"status,omitzero"`
}

type sandboxTemplate struct {
	typeMeta
	Spec *struct {
		blueprint
		NetworkPolicy              json.RawMessage `json:"networkPolicy,omitempty"`
		NetworkPolicyManagement    string          `json:"networkPolicyManagement,omitempty"`
		EnvVarsInjectionPolicy     string          `json:"envVarsInjectionPolicy,omitempty"`
		VolumeClaimTemplatesPolicy string          `json:"volumeClaimTemplatesPolicy,omitempty"`
	} `json:"spec"`
}

type sandboxWarmPool struct {
	typeMeta
	Spec *struct {
		Replicas           *int32 `json:"replicas,omitempty"`
		SandboxTemplateRef *named `json:"sandboxTemplateRef"`
		UpdateStrategy     *struct {
			Type string `json:"type,omitempty"`
		} `json:"updateStrategy,omitempty"`
	} `json:"spec"`
	Status struct {
		Replicas           int32  `json:"replicas,omitempty"`
		ReadyReplicas      int32  `json:"readyReplicas,omitempty"`
		Selector           string `json:"selector,omitempty"`
		ObservedGeneration int64  `json:"observedGeneration,omitempty"`
	} `json:"status,omitzero"`
}

// kind is a resource that the API server has.
type kind struct{ group, plural, name string }

var kinds = []kind{
	{"extensions.agents.x-k8s.io", "sandboxclaims", "SandboxClaim"}, {"extensions.agents.x-k8s.io", "sandboxtemplates", "SandboxTemplate"},
	{"extensions.agents.x-k8s.io", "sandboxwarmpools", "SandboxWarmPool"}, {"agents.x-k8s.io", "sandboxes", "Sandbox"},
}

var (
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	labelValue   = regexp.MustCompile(`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`)
	labelKey     = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)
	reasonForm   = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
)

// validate returns what is wrong with an object by its definition.
func validate(k kind, raw []byte) error {
	strict := func(into any) error {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		return d.Decode(into)
	}
	var meta typeMeta
	var conditions []condition
	switch k.name {
	case "SandboxClaim":
		var c sandboxClaim
		if err := strict(&c); err != nil {
			return err
		}
		if c.Spec == nil || c.Spec.WarmPoolRef == nil || c.Spec.WarmPoolRef.Name == "" {
			return fmt.Errorf("spec.warmPoolRef.name: Required value")
		}
		meta, conditions = c.typeMeta, c.Status.Conditions
	case "Sandbox":
		var s sandbox
		if err := strict(&s); err != nil {
			return err
		}
		if s.Spec == nil || s.Spec.PodTemplate == nil || s.Spec.PodTemplate.Spec == nil {
			return fmt.Errorf("spec.podTemplate.spec: Required value")
		}
		if m := s.Spec.OperatingMode; m != "" && m != "Running" && m != "Suspended" {
			return fmt.Errorf(`spec.operatingMode: Unsupported value: %q: supported values: "Running", "Suspended"`, m)
		}
		meta, conditions = s.typeMeta, s.Status.Conditions
	case "SandboxTemplate":
		var s sandboxTemplate
		if err := strict(&s); err != nil {
			return err
		}
		if s.Spec == nil || s.Spec.PodTemplate == nil {
			return fmt.Errorf("spec.podTemplate: Required value")
		}
		meta = s.typeMeta
	case "SandboxWarmPool":
		var s sandboxWarmPool
		if err := strict(&s); err != nil {
			return err
		}
		if s.Spec == nil || s.Spec.SandboxTemplateRef == nil || s.Spec.SandboxTemplateRef.Name == "" {
			return fmt.Errorf("spec.sandboxTemplateRef.name: Required value")
		}
		meta = s.typeMeta
	}
	m := meta.Metadata
	if meta.APIVersion != k.group+"/v1beta1" || meta.Kind != k.name {
		return fmt.Errorf("apiVersion and kind are %s %s, not those of %s", meta.APIVersion, meta.Kind, k.plural)
	}
	if len(m.Name) > 253 || !dnsSubdomain.MatchString(m.Name) {
		return fmt.Errorf("metadata.name: Invalid value: %q: a lowercase RFC 1123 subdomain must consist of lower case letters, digits, dashes and dots", m.Name)
	}
	for key, value := range m.Labels {
		if !labelKey.MatchString(key) || len(value) > 63 || !labelValue.MatchString(value) {
			return fmt.Errorf("metadata.labels: Invalid value: %q: %q", key, value)
		}
	}
	for key := range m.Annotations {
		if !labelKey.MatchString(key) {
			return fmt.Errorf("metadata.annotations: Invalid value: %q", key)
		}
	}
	for _, c := range conditions {
		if !reasonForm.MatchString(c.Reason) || c.Status != "True" && c.Status != "False" && c.Status != "Unknown" || c.LastTransitionTime.IsZero() {
			return fmt.Errorf("status.conditions: Invalid value: %+v", c)
		}
	}
	return nil
}
