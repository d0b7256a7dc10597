package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Check finds out whether workspaces can be claimed: whether the API server can be reached and has the resources, what it allows this server to
// do, and whether there are the warm pool, its template and the certificates. It returns what is there; the error says what is not.
func Check(ctx context.Context, s Settings) (found string, problems error) {
	c, err := newClient(s)
	var denied []string
	if err != nil {
		return "", err
	}
	for _, need := range []string{"get sandboxclaims", "list sandboxclaims", "watch sandboxclaims", "create sandboxclaims", "get sandboxes", "patch sandboxes"} {
		verb, plural, _ := strings.Cut(need, " ")
		of := map[bool]resource{true: claims, false: sandboxes}[plural == claims.plural]
		var answer struct{ Status struct{ Allowed bool } }
		if err := c.do(ctx, "create", reviews, "", map[string]any{"apiVersion": reviews.group, "kind": "SelfSubjectAccessReview", "spec": map[string]any{
			"resourceAttributes": map[string]string{"group": of.name(), "resource": plural, "verb": verb, "namespace": s.Namespace}}}, &answer); err != nil {
			return "", err
		}
		if !answer.Status.Allowed {
			denied = append(denied, need)
		}
	}
	if len(denied) > 0 {
		problems = fmt.Errorf("the service account may not, in namespace %s: %s (deploy/kubernetes/workspaces/rbac.yaml)", s.Namespace, strings.Join(denied, ", "))
	}
	var pool struct {
		Spec struct {
			Template struct{ Name string } `json:"sandboxTemplateRef"`
		}
		Status struct{ ReadyReplicas int }
	}
	err = c.do(ctx, "get", pools, s.WarmPool, nil, &pool)
	if found = fmt.Sprintf("warm pool %s in namespace %s, %d ready", s.WarmPool, s.Namespace, pool.Status.ReadyReplicas); err == nil {
		err = c.do(ctx, "get", templates, pool.Spec.Template.Name, nil, &struct{}{})
	}
	problems = errors.Join(problems, err)
	for _, file := range []string{s.TLS.CA, s.TLS.Cert, s.TLS.Key} {
		if _, err := os.Stat(file); file != "" {
			problems = errors.Join(problems, err)
		}
	}
	return found, problems
}
