package cli

import (
	"testing"
	"time"

	"toolserver/config"
	"toolserver/domain"
)

// TestTimeoutOverride has the configuration's time limit hold for each tool, but
// for those that keep it themselves.
func TestTimeoutOverride(t *testing.T) {
	for _, test := range []struct {
		tool       domain.Tool
		configured time.Duration
		want       time.Duration
	}{
		{domain.Tool{}, 0, 0},
		{domain.Tool{}, time.Second, time.Second},
		{domain.Tool{Timeout: time.Minute}, 0, time.Minute},
		{domain.Tool{Timeout: time.Minute}, time.Second, time.Second},
		{domain.Tool{Timeout: 6 * time.Second, KeepsTime: true}, time.Second, 6 * time.Second},
	} {
		override(&test.tool, config.Tool{Timeout: test.configured})
		if test.tool.Timeout != test.want {
			t.Errorf("%+v: %v", test, test.tool.Timeout)
		}
	}
}
