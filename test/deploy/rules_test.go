package deploy

import (
	"os/exec"
	"testing"
)

// TestRules has Prometheus check the alerts, and run their tests.
func TestRules(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is missing")
	}
	for _, args := range [][]string{{"check", "rules", "../../deploy/prometheus/toolserver.rules.yml"}, {"test", "rules", "../../deploy/prometheus/toolserver.rules.test.yml"}} {
		if said, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, said)
		}
	}
}
