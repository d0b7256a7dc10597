// Package kubernetes gives principals workspaces that are pods of a cluster. Each is claimed from the API of agent-sandbox
// (sigs.k8s.io/agent-sandbox), which takes one from a warm pool, and keeps its volume while it is paused. In the pod runs this same program
// under a configuration of its own; this package only finds, wakes and reaches it.
package kubernetes

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Settings say where workspaces are claimed, and how their pods are reached. config/settings.txt says what the keys mean.
type Settings struct {
	Namespace    string        `yaml:"namespace"`
	WarmPool     string        `yaml:"warm_pool"`
	Port         int           `yaml:"port" min:"1" max:"65535"`
	Idle         time.Duration `yaml:"idle" min:"1s" max:"720h"`
	ReadyTimeout time.Duration `yaml:"ready_timeout" min:"1s" max:"30m"`
	TLS          TLS           `yaml:"tls"`
	Token        string        `yaml:"token" secret:"true"`
	API          API           `yaml:"api"`
}

// TLS is how this server and the pods know each other.
type TLS struct {
	CA         string `yaml:"ca" path:"true"`
	Cert       string `yaml:"cert" path:"true"`
	Key        string `yaml:"key" path:"true"`
	ServerName string `yaml:"server_name"`
}

// API is the API server, if it is not that of the cluster in which this program runs.
type API struct {
	URL       string `yaml:"url" format:"server_url"`
	CA        string `yaml:"ca" path:"true"`
	TokenFile string `yaml:"token_file" path:"true"`
}

// DefaultSettings returns what holds where the configuration does not say otherwise.
func DefaultSettings() Settings {
	return Settings{Port: 8443, Idle: 15 * time.Minute, ReadyTimeout: 2 * time.Minute, TLS: TLS{ServerName: "workspace"}}
}

// Check returns the key of a mistake that the types do not find, and what is wrong; "" if there is none.
func (s *Settings) Check() (key, problem string) {
	valid := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,53}[a-z0-9])?$`)
	for _, each := range [][2]string{{"namespace", s.Namespace}, {"warm_pool", s.WarmPool}} {
		if !valid.MatchString(each[1]) {
			return each[0], fmt.Sprintf("%q is no name: write that of the namespace, and of the SandboxWarmPool in it, that workspaces are "+
				"claimed from, in at most 55 lower case letters, digits and dashes (docs/kubernetes-workspaces.md)", each[1])
		}
	}
	if t := s.TLS; (t.Cert == "") != (t.Key == "") || (t.Cert == "") != (t.CA == "") || t.Cert == "" && s.Token == "" {
		return "tls", "set ca, cert and key: pods show a certificate of ca, and accept none but cert; on a machine for tests, set token instead"
	}
	return "", ""
}

// Address returns the address under which a workspace is known here; where its pod is changes.
func (s *Settings) Address() string {
	return fmt.Sprintf("%s://%s.%s:%d/mcp", map[bool]string{true: "https", false: "http"}[s.TLS.Cert != ""], s.WarmPool, s.Namespace, s.Port)
}

// Labels and annotations of objects. None has the name of a person.
const (
	managedBy    = "app.kubernetes.io/managed-by"
	profileLabel = "toolserver.github.io/profile"
	lastUsed     = "toolserver.github.io/last-used"
)

// hash returns a name for texts that says nothing about them.
func hash(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
}

// labelOf returns the value of the label of a profile, as much of whose name is readable in it as may be.
func labelOf(profile string) string {
	readable := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(profile), "-")
	return strings.TrimLeft(strings.TrimRight(readable[:min(len(readable), 40)], "-")+"-"+hash(profile)[:8], "-")
}
